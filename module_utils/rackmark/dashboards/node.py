"""Hosts one by one: processors, memory, network, disks, devices, faults."""

from __future__ import annotations

from . import links
from .clocks import clock_error
from .dashboard import Dashboard, Variable
from .layout import Section
from .meanings import GREEN, NONE_IS_GOOD, ORANGE, RED, UP_OR_DOWN, limits, thresholds, words
from .panels import Link, Panel, Target, heatmap, stat, timeline, timeseries
from .tables import Column, table

_HOST = 'instance=~"$instance"'
_ON_DISK = f'{_HOST}, fstype!~"tmpfs|ramfs"'
_DISK = f'{_HOST}, device!~"loop.*|ram.*|zram.*|dm-.*|sr.*"'
_LINK = f'{_HOST}, device!~"lo|veth.*|docker.*|br-.*|cali.*|ifb.*|vb-.*|ve-.*|virbr.*"'
_DEVICES = f"/d/{links.ACCELERATORS}?${{instance:queryparam}}&${{__url_time_range}}"


def dashboard(cluster_name: str) -> Dashboard:
    return Dashboard(
        uid=links.NODE,
        title=f"{cluster_name}: node",
        description="What does a host do, what slows it down, and is it well? Choose one host or a few.",
        variables=[Variable("instance", "Host", 'up{job="node"}', "instance")],
        sections=[
            Section("Is it well?", [*_health(), *_faults()]),
            Section("Processors and memory", _processors()),
            Section("Network and disks", [*_network(), *_disks()]),
            Section("Its accelerators", _devices()),
        ],
    )


def _health() -> list[Panel]:
    return [
        stat(
            "Answers",
            "Whether the node exporter answers; the worst of the hosts chosen.",
            "none",
            Target(f'min(up{{job="node", {_HOST}}})'),
            levels=thresholds(RED, (1, GREEN)),
            mappings=[UP_OR_DOWN],
        ),
        stat(
            "Time since boot",
            "The shortest of the hosts chosen: a small number is a restart that somebody should know of.",
            "s",
            Target(f"min(time() - node_boot_time_seconds{{{_HOST}}})"),
        ),
        stat(
            "Load per core",
            "Tasks that run or wait, over the last 5 minutes, for each core; the highest of the hosts chosen."
            " Above 1 tasks wait for a core or for a disk.",
            "none",
            Target(
                f"max(node_load5{{{_HOST}}}"
                f' / on (instance) count by (instance) (node_cpu_seconds_total{{mode="idle", {_HOST}}}))'
            ),
            levels=limits(1, 2),
        ),
        stat(
            "Memory in use",
            "Of the host that has least left.",
            "percentunit",
            Target(f"max(1 - node_memory_MemAvailable_bytes{{{_HOST}}} / node_memory_MemTotal_bytes)"),
            levels=limits(0.85, 0.95),
        ),
        stat(
            "Fullest file system",
            "Of all hosts chosen; the table below has them all.",
            "percentunit",
            Target(f"max(1 - node_filesystem_avail_bytes{{{_ON_DISK}}} / node_filesystem_size_bytes)"),
            levels=limits(0.85, 0.95),
        ),
        stat(
            "Clock off by",
            "The largest offset that the kernel knows of. Of a host that does not say it, how far it is from the"
            " monitoring server's clock, with the time that a scrape takes.",
            "s",
            Target(f"max({clock_error(_HOST)})"),
            levels=limits(0.05, 0.5),
        ),
        stat(
            "Health faults",
            "Faults that the health check sees on the hosts chosen. No data: none of them runs jobs.",
            "none",
            Target(f"sum(rackmark_health_fault{{{_HOST}}})"),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Last health check",
            "Time since the health check ran, on the host where that was longest ago. It runs every five minutes.",
            "s",
            Target(f"max(time() - rackmark_health_last_run_timestamp_seconds{{{_HOST}}})"),
            levels=limits(600, 1800),
        ),
    ]


def _faults() -> list[Panel]:
    return [
        timeline(
            "Health faults",
            "Each check of the health check: red while it finds a fault, for which the node is drained.",
            words({0: ("fine", GREEN), 1: ("fault", RED)}),
            Target(f"max by (instance, check) (rackmark_health_fault{{{_HOST}}})", "{{instance}} {{check}}"),
        ),
        timeline(
            "Services",
            "The services a node lives from, as systemd sees them. One that is not installed has no bar.",
            words({1: ("active", GREEN), 0: ("not active", ORANGE)}),
            Target(
                f'max by (instance, name) (node_systemd_unit_state{{state="active", name=~".*[.]service", {_HOST}}})',
                "{{instance}} {{name}}",
            ),
        ),
    ]


def _processors() -> list[Panel]:
    busy = f'1 - rate(node_cpu_seconds_total{{mode="idle", {_HOST}}}[$__rate_interval])'
    return [
        heatmap(
            "Each core",
            "A row for each core, darker the busier it was. One dark row with the others light is a program that"
            " waits for a single thread. With several hosts chosen: their mean for the core of that number.",
            "percentunit",
            Target(f"avg by (core) ({_with_leading_zeros(busy, 'cpu', 'core')})", "{{core}}"),
        ),
        timeseries(
            "All cores",
            "Share of the time in which the cores of a host were busy, and in which they waited for a disk.",
            "percentunit",
            Target(f"avg by (instance) ({busy})", "{{instance}} busy"),
            Target(
                f'avg by (instance) (rate(node_cpu_seconds_total{{mode="iowait", {_HOST}}}[$__rate_interval]))',
                "{{instance}} waits for disk",
            ),
            maximum=1,
        ),
        timeseries(
            "Memory",
            "What programs use, and all there is.",
            "bytes",
            Target(
                f"max by (instance) (node_memory_MemTotal_bytes{{{_HOST}}} - node_memory_MemAvailable_bytes)",
                "{{instance}} in use",
            ),
            Target(f"max by (instance) (node_memory_MemTotal_bytes{{{_HOST}}})", "{{instance}} total"),
        ),
        timeseries(
            "Load",
            "Tasks that run or wait for a core or a disk, mean of a minute.",
            "none",
            Target(f"max by (instance) (node_load1{{{_HOST}}})", "{{instance}}"),
        ),
    ]


def _network() -> list[Panel]:
    return [
        timeseries(
            "Network",
            "Bytes per second through each interface; what is sent is below zero.",
            "Bps",
            Target(
                f"rate(node_network_receive_bytes_total{{{_LINK}}}[$__rate_interval])", "{{instance}} {{device}} in"
            ),
            Target(
                f"-rate(node_network_transmit_bytes_total{{{_LINK}}}[$__rate_interval])", "{{instance}} {{device}} out"
            ),
            minimum=None,
            width=8,
        ),
        timeseries(
            "Packets lost",
            "Packets that an interface dropped or found broken, both ways. Anything above zero costs training time.",
            "pps",
            Target(
                " + ".join(
                    f"rate(node_network_{way}_{fate}_total{{{_LINK}}}[$__rate_interval])"
                    for way in ("receive", "transmit")
                    for fate in ("drop", "errs")
                ),
                "{{instance}} {{device}}",
            ),
            width=8,
        ),
        timeseries(
            "InfiniBand",
            "Bytes per second through each port, both ways together. No data: the hosts have none.",
            "Bps",
            Target(
                f"rate(node_infiniband_port_data_received_bytes_total{{{_HOST}}}[$__rate_interval])"
                f" + rate(node_infiniband_port_data_transmitted_bytes_total{{{_HOST}}}[$__rate_interval])",
                "{{instance}} {{device}} port {{port}}",
                may_be_empty="many clusters have no InfiniBand",
            ),
            width=8,
        ),
    ]


def _disks() -> list[Panel]:
    return [
        timeseries(
            "Disks",
            "Bytes per second read from each disk; what is written is below zero.",
            "Bps",
            Target(f"rate(node_disk_read_bytes_total{{{_DISK}}}[$__rate_interval])", "{{instance}} {{device}} read"),
            Target(
                f"-rate(node_disk_written_bytes_total{{{_DISK}}}[$__rate_interval])", "{{instance}} {{device}} written"
            ),
            minimum=None,
            width=8,
        ),
        timeseries(
            "Disks busy",
            "Share of the time in which a disk had something to do. Near 100 % a hard disk is the bottleneck;"
            " an SSD works on many requests at a time and can still have room.",
            "percentunit",
            Target(f"rate(node_disk_io_time_seconds_total{{{_DISK}}}[$__rate_interval])", "{{instance}} {{device}}"),
            maximum=1,
            width=8,
        ),
        table(
            "File systems",
            "What is mounted and how full it is. Memory file systems are left out.",
            [
                Target(
                    "max by (instance, mountpoint, fstype)"
                    f" (1 - node_filesystem_avail_bytes{{{_ON_DISK}}} / node_filesystem_size_bytes)"
                ),
                Target(f"max by (instance, mountpoint, fstype) (node_filesystem_avail_bytes{{{_ON_DISK}}})"),
            ],
            [
                Column("instance", "instance"),
                Column("mounted at", "mountpoint"),
                Column("type", "fstype"),
                Column("in use", 0, unit="percentunit", thresholds=limits(0.85, 0.95)),
                Column("left", 1, unit="bytes"),
            ],
            sort_by="in use",
            descending=True,
            width=8,
        ),
    ]


def _devices() -> list[Panel]:
    shown = (
        ("Utilisation", "percentunit", "rackmark_accelerator_utilization_ratio", 1.0, "Share of time with work."),
        ("Memory", "percentunit", "rackmark_accelerator_memory_used_ratio", 1.0, "Share of the memory in use."),
        ("Temperature", "celsius", "rackmark_accelerator_temperature_celsius", None, "Of each device."),
        ("Power", "watt", "rackmark_accelerator_power_watts", None, "What each device draws."),
    )
    return [
        timeseries(
            f"{title} of the devices",
            f"{about} No data: the hosts have no accelerators, or they do not tell; a gap is a time without reading.",
            unit,
            Target(f"max by (instance, vendor, device) ({metric}{{{_HOST}}})", "{{instance}} {{vendor}} {{device}}"),
            maximum=maximum,
            width=6,
            links=[Link("Accelerators of these hosts", _DEVICES)],
        )
        for title, unit, metric, maximum, about in shown
    ]


def _with_leading_zeros(expr: str, label: str, result: str) -> str:
    """The values of a label as 000, 001 ...: Prometheus sorts labels as text, which puts 10 before 2."""
    padded = f'label_replace({expr}, "{result}", "00$1", "{label}", "(.*)")'
    return f'label_replace({padded}, "{result}", "$1", "{result}", ".*(...)")'
