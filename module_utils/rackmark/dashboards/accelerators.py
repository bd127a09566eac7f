"""The devices of all vendors, by the same metrics: how busy, how hot, which is the odd one out, which is lost."""

from __future__ import annotations

from . import links
from .dashboard import Dashboard, Variable
from .layout import Section
from .meanings import GREEN, NONE_IS_GOOD, RED, YELLOW, limits, thresholds, words
from .panels import Panel, Target, heatmap, stat, timeline, timeseries
from .tables import Column, table

_CHOSEN = 'instance=~"$instance", vendor=~"$vendor"'
_BY_DEVICE = "max by (instance, vendor, device)"
_DEVICE = "{{instance}} {{vendor}} {{device}}"


def dashboard(cluster_name: str) -> Dashboard:
    return Dashboard(
        uid=links.ACCELERATORS,
        title=f"{cluster_name}: accelerators",
        description="How busy, how hot and how well are the devices, and which one is unlike its peers?",
        variables=[
            Variable("instance", "Host", "rackmark_accelerator_visible_devices", "instance"),
            Variable("vendor", "Vendor", "rackmark_accelerator_visible_devices", "vendor"),
        ],
        sections=[
            Section("Are they well?", _health()),
            Section("How busy are they?", _use()),
            Section("Which is the odd one out?", _odd_ones()),
            Section("Heat, power and clocks", _physics()),
            Section("What they are, and who reads them", _readers()),
        ],
    )


def _of(metric: str) -> str:
    return f"rackmark_accelerator_{metric}{{{_CHOSEN}}}"


def _health() -> list[Panel]:
    return [
        stat(
            "Devices seen",
            "Accelerators that the hosts chosen show now.",
            "none",
            Target(f"sum({_of('visible_devices')})"),
        ),
        stat(
            "Devices lost",
            "Accelerators that should be there and are not. No data: dcgm-exporter reads them, which cannot know.",
            "none",
            Target(f"sum({_of('lost')})"),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Readers down",
            "Hosts on which the devices of a vendor cannot be read now; the reasons are in the table below.",
            "none",
            Target(f"sum(1 - {_of('reader_up')})"),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Oldest reading",
            "Age of the values shown, of the host where they are oldest. It grows while a reader hangs.",
            "s",
            Target(f"max({_of('reading_age_seconds')})"),
            levels=limits(30, 120),
        ),
        stat(
            "Memory errors",
            "Uncorrected ECC errors over the time range. Not reported: the devices have no ECC or do not count.",
            "none",
            Target(
                f"sum(increase({_of('uncorrected_ecc_errors_total')}[$__range]))",
                may_be_empty="devices without ECC report no count, which is not the same as no errors",
            ),
            levels=NONE_IS_GOOD,
            no_value="not reported",
        ),
        stat(
            "Hottest",
            "The device with the highest temperature.",
            "celsius",
            Target(f"topk(1, {_BY_DEVICE} ({_of('temperature_celsius')}))", _DEVICE),
            levels=limits(80, 90),
        ),
        stat(
            "Coolest",
            "The device with the lowest temperature: under load, one that does not work.",
            "celsius",
            Target(f"bottomk(1, {_BY_DEVICE} ({_of('temperature_celsius')}))", _DEVICE),
        ),
        stat("Power", "What all devices chosen draw together.", "watt", Target(f"sum({_of('power_watts')})")),
    ]


def _use() -> list[Panel]:
    return [
        heatmap(
            "Utilisation of every device",
            "A row for each device, darker the busier it was; a row without colour has no reading.",
            "percentunit",
            Target(f"{_BY_DEVICE} ({_of('utilization_ratio')})", _DEVICE),
        ),
        timeseries(
            "Utilisation by host",
            "Mean over the devices of a host. It says that something ran on them, not that they were used well.",
            "percentunit",
            Target(f"avg by (instance, vendor) ({_of('utilization_ratio')})", "{{instance}} {{vendor}}"),
            maximum=1,
            links=links.node_of_series(),
        ),
        timeseries(
            "Utilisation by device",
            "Share of the time in which a device had work. Choose a host to see fewer lines.",
            "percentunit",
            Target(f"{_BY_DEVICE} ({_of('utilization_ratio')})", _DEVICE),
            maximum=1,
            links=links.node_of_series(),
        ),
        timeseries(
            "Memory by device",
            "Share of the memory of a device that is in use.",
            "percentunit",
            Target(f"{_BY_DEVICE} ({_of('memory_used_ratio')})", _DEVICE),
            maximum=1,
            links=links.node_of_series(),
        ),
    ]


def _apart(metric: str, chosen: str = _CHOSEN, over: str = "") -> str:
    """How far each device is from the median of its peers: those of its vendor on its host."""
    series = f"rackmark_accelerator_{metric}{{{chosen}}}"
    own = f"{_BY_DEVICE} ({f'avg_over_time({series}[{over}])' if over else series})"
    return f"{own} - on (instance, vendor) group_left quantile by (instance, vendor) (0.5, {own})"


def _odd_ones() -> list[Panel]:
    apart = "Difference to the median of the devices of the same vendor on the same host"
    clock = _apart("clock_hertz", f'{_CHOSEN}, clock="compute"', "$__range")
    return [
        table(
            "Unlike its peers",
            f"{apart}, each as its mean over the time range. The peers share job, air and power:"
            " a device far from zero is throttled, badly cooled, or does not work. Empty cell: not reported.",
            [
                Target(_apart("utilization_ratio", over="$__range")),
                Target(_apart("temperature_celsius", over="$__range")),
                Target(_apart("power_watts", over="$__range")),
                Target(clock),
            ],
            [
                Column("instance", "instance", links=links.host_of_row()),
                Column("vendor", "vendor"),
                Column("device", "device"),
                Column("utilisation", 0, unit="percentunit", thresholds=_both_ways(0.1, 0.3)),
                Column("temperature", 1, unit="celsius", thresholds=_both_ways(8, 15)),
                Column("power", 2, unit="watt", thresholds=_both_ways(40, 100)),
                Column("compute clock", 3, unit="hertz", thresholds=_both_ways(5e7, 2e8)),
            ],
            sort_by="utilisation",
        ),
        timeseries(
            "Utilisation against the peers",
            f"{apart}. Below zero it works less than they do.",
            "percentunit",
            Target(_apart("utilization_ratio"), _DEVICE),
            minimum=None,
            width=6,
            links=links.node_of_series(),
        ),
        timeseries(
            "Temperature against the peers",
            f"{apart}. The inner places of a chassis are always a few degrees warmer.",
            "celsius",
            Target(_apart("temperature_celsius"), _DEVICE),
            minimum=None,
            width=6,
            links=links.node_of_series(),
        ),
    ]


def _both_ways(much: float, too_much: float) -> dict[str, object]:
    return dict(thresholds(RED, (-too_much, YELLOW), (-much, GREEN), (much, YELLOW), (too_much, RED)))


def _physics() -> list[Panel]:
    shown = (
        ("Temperature", "celsius", _of("temperature_celsius"), "Of each device."),
        ("Power by device", "watt", _of("power_watts"), "What each device draws."),
        (
            "Compute clock",
            "hertz",
            f'rackmark_accelerator_clock_hertz{{{_CHOSEN}, clock="compute"}}',
            "A clock that falls while utilisation is high is throttled by heat or by a power limit.",
        ),
    )
    return [
        timeseries(
            title,
            f"{about} A gap is a time without reading.",
            unit,
            Target(f"{_BY_DEVICE} ({series})", _DEVICE),
            width=8,
            links=links.node_of_series(),
        )
        for title, unit, series, about in shown
    ]


def _readers() -> list[Panel]:
    return [
        table(
            "Devices",
            "Every device that is seen, with what drives it. Simulated ones say so: their numbers are made up.",
            [Target(f"rackmark_accelerator_info{{{_CHOSEN}}}")],
            [
                Column("instance", "instance", links=links.host_of_row()),
                Column("vendor", "vendor"),
                Column("device", "device"),
                Column("model", "model"),
                Column("driver", "driver"),
                Column("uuid", "uuid"),
                Column("simulated", "simulated"),
            ],
            sort_by="instance",
        ),
        timeline(
            "Readers",
            "Whether the devices of a vendor can be read on a host. Values of the time in red are missing, not zero.",
            words({1: ("reads", GREEN), 0: ("cannot read", RED)}),
            Target(f"max by (instance, vendor) ({_of('reader_up')})", "{{instance}} {{vendor}}"),
            width=6,
            links=links.node_of_series(),
        ),
        timeline(
            "Devices lost",
            "A bar for each device that should be there: red while it was not.",
            words({0: ("there", GREEN), 1: ("lost", RED)}),
            Target(f"{_BY_DEVICE} ({_of('lost')})", _DEVICE),
            width=6,
            links=links.node_of_series(),
        ),
        table(
            "What cannot be read, and why",
            "Readers that are down and values that devices do not give, with the reason. Empty: all is read.",
            [
                Target(
                    f'label_replace({_of("reader_failure_info")}, "what", "all values", "", "")'
                    f" or {_of('unreadable_info')}",
                    may_be_empty="everything can be read where all devices report all values",
                )
            ],
            [
                Column("instance", "instance", links=links.host_of_row()),
                Column("vendor", "vendor"),
                Column("what", "what"),
                Column("reason", "reason"),
            ],
            sort_by="instance",
            no_value="all is read",
        ),
        timeseries(
            "Memory errors by device",
            "Uncorrected ECC errors counted by each device since its driver started. No data: not reported.",
            "none",
            Target(
                f"{_BY_DEVICE} ({_of('uncorrected_ecc_errors_total')})",
                _DEVICE,
                may_be_empty="devices without ECC report no count",
            ),
            links=links.node_of_series(),
        ),
    ]
