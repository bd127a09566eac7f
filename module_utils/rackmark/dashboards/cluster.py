"""The whole cluster at a glance: is it well, how busy is it, what is running full."""

from __future__ import annotations

from . import links
from .clocks import clock_error
from .dashboard import Dashboard
from .layout import Section
from .meanings import GREEN, NONE_IS_GOOD, ORANGE, RED, UP_OR_DOWN, YELLOW, limits, thresholds
from .panels import Panel, Target, gauge, stat, timeline, timeseries
from .slurm_queries import DEVICES_ALLOCATED, OUT_OF_SERVICE, answered_zero, once
from .tables import Column, table

# dcgm-exporter only knows of the devices that it sees.
_DEVICES = (
    "sum(max by (instance, vendor) (rackmark_accelerator_expected_devices)"
    " or max by (instance, vendor) (rackmark_accelerator_visible_devices))"
)
_FIRING = 'ALERTS{alertstate="firing"}'


def dashboard(cluster_name: str, shared_dir: str) -> Dashboard:
    return Dashboard(
        uid=links.CLUSTER,
        title=f"{cluster_name}: cluster",
        description="Is the cluster well, how busy is it, and what is running full?",
        sections=[
            Section("Is it well?", _health()),
            Section("What is wrong", _faults()),
            Section("How busy is it?", _use()),
            Section("What is running full or apart?", _limits(shared_dir)),
        ],
    )


def _health() -> list[Panel]:
    slurm = links.dashboard("Slurm", links.SLURM)
    return [
        stat(
            "Alerts firing",
            "Alerts that fire now; the table below names them. Pending ones are not counted.",
            "none",
            Target(f"count({_FIRING}) or vector(0)"),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Hosts up",
            "Hosts whose node exporter answers Prometheus.",
            "none",
            Target('sum(up{job="node"})'),
            levels=thresholds(GREEN),
        ),
        stat(
            "Hosts down",
            "Hosts of the inventory whose node exporter does not answer: off, cut off, or without exporter.",
            "none",
            Target('sum(1 - up{job="node"})'),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Exporters silent",
            "Scrape targets of any kind that do not answer; what they measure is missing on all dashboards.",
            "none",
            Target("sum(1 - up)"),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Nodes out of service",
            "Nodes that Slurm gives no new jobs: down, drained, draining or failed. No data: Slurm is not watched.",
            "none",
            Target(OUT_OF_SERVICE),
            levels=NONE_IS_GOOD,
            links=slurm,
        ),
        stat(
            "Devices lost",
            "Accelerators that a host should have and does not show. No data: no host has any, or dcgm-exporter"
            " reads them, which cannot know; then the health checks beside say it.",
            "none",
            Target("sum(rackmark_accelerator_lost)"),
            levels=NONE_IS_GOOD,
            links=links.dashboard("Accelerators", links.ACCELERATORS),
        ),
        stat(
            "Health checks failing",
            "Faults that the health check of a node sees now: disk, shared folder, devices, clock, munge.",
            "none",
            Target("sum(rackmark_health_fault)"),
            levels=NONE_IS_GOOD,
        ),
        stat(
            "Longest wait in the queue",
            "Age of the oldest job that could run and waits for resources; held jobs do not count.",
            "s",
            Target(f"max(rackmark_slurm_oldest_pending_seconds) or {answered_zero('jobs')}"),
            levels=limits(3600, 86400),
            links=slurm,
        ),
    ]


def _faults() -> list[Panel]:
    return [
        table(
            "Alerts firing",
            "What fires now and for how long. Empty: nothing does, if Prometheus itself is up.",
            [
                Target(
                    f"(time() - ALERTS_FOR_STATE) and ignoring (alertstate) {_FIRING}",
                    may_be_empty="nothing fires on a healthy cluster",
                )
            ],
            [
                Column("alert", "alertname"),
                Column("severity", "severity"),
                Column("instance", "instance", links=links.host_of_row()),
                *(Column(label, label) for label in ("vendor", "device", "mountpoint", "partition")),
                Column("since", 0, unit="s"),
            ],
            sort_by="since",
            no_value="nothing fires",
        ),
        timeline(
            "Hosts that were away",
            "A bar for each host: red while its node exporter did not answer Prometheus.",
            UP_OR_DOWN,
            Target('max by (instance) (up{job="node"})', "{{instance}}"),
            width=6,
            links=links.node_of_series(),
        ),
        timeline(
            "Slurm's daemons",
            "Each slurmctld and the accounting database, as Slurm's own commands see them. A gap: nobody asked.",
            UP_OR_DOWN,
            Target(once("rackmark_slurm_controller_up", "controller, role"), "slurmctld {{controller}} ({{role}})"),
            Target(
                "max(rackmark_slurm_database_up)",
                "slurmdbd",
                may_be_empty="a cluster without accounting has no slurmdbd",
            ),
            width=6,
            links=links.dashboard("Slurm", links.SLURM),
        ),
    ]


def _use() -> list[Panel]:
    return [
        timeseries(
            "Nodes by state",
            "Nodes in each of Slurm's base states; together they are the cluster.",
            "none",
            Target(f"{once('rackmark_slurm_nodes', 'state')} > 0", "{{state}}"),
            stacked=True,
            width=8,
            links=links.dashboard("Slurm", links.SLURM),
        ),
        timeseries(
            "Devices allocated and idle",
            "Accelerators that jobs hold, and those that nobody does. The panel beside says whether they are used.",
            "none",
            Target(DEVICES_ALLOCATED, "allocated"),
            Target(f"{_DEVICES} - {DEVICES_ALLOCATED}", "idle"),
            stacked=True,
            width=8,
        ),
        timeseries(
            "Utilisation of the devices",
            "Mean over all devices of a vendor, and the share of them that works at more than half of its time.",
            "percentunit",
            Target("avg by (vendor) (rackmark_accelerator_utilization_ratio)", "{{vendor}}, mean"),
            Target("avg by (vendor) (rackmark_accelerator_utilization_ratio > bool 0.5)", "{{vendor}}, busy devices"),
            maximum=1,
            width=8,
            links=links.dashboard("Accelerators", links.ACCELERATORS),
        ),
        timeseries(
            "CPU by host",
            "Share of the time in which the cores of a host were busy.",
            "percentunit",
            Target(
                '1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[$__rate_interval]))', "{{instance}}"
            ),
            maximum=1,
            width=8,
            links=links.host_of_series(),
        ),
        timeseries(
            "Memory by host",
            "Share of the memory that programs use; caches that can be given back do not count.",
            "percentunit",
            Target(
                "max by (instance) (1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)", "{{instance}}"
            ),
            maximum=1,
            width=8,
            links=links.host_of_series(),
        ),
        timeseries(
            "Power of the devices",
            "What all accelerators of a vendor draw, as they report it. Hosts, fans and switches are not in it.",
            "watt",
            Target("sum by (vendor) (rackmark_accelerator_power_watts)", "{{vendor}}"),
            stacked=True,
            width=8,
            links=links.dashboard("Accelerators", links.ACCELERATORS),
        ),
    ]


def _limits(shared_dir: str) -> list[Panel]:
    shared = shared_dir.rstrip("/") or "/"
    used = f'1 - node_filesystem_avail_bytes{{mountpoint="{shared}"}} / node_filesystem_size_bytes'
    return [
        gauge(
            "Shared storage",
            f"How full {shared} is, on the host that sees it fullest. No data: no host has it mounted.",
            "percentunit",
            Target(f"max({used})"),
            levels=thresholds(GREEN, (0.8, YELLOW), (0.9, ORANGE), (0.95, RED)),
        ),
        timeseries(
            "Shared storage over time",
            f"Share of {shared} in use, as each host sees it; a line that ends is a host that lost it.",
            "percentunit",
            Target(f"max by (instance) ({used})", "{{instance}}"),
            maximum=1,
            width=6,
            links=links.node_of_series(),
        ),
        timeseries(
            "Fullest local disk by host",
            "Share in use of the fullest file system of each host; memory and network file systems do not count.",
            "percentunit",
            Target(
                'max by (instance) (1 - node_filesystem_avail_bytes{fstype!~"tmpfs|ramfs|nfs.*|fuse.*"}'
                " / node_filesystem_size_bytes)",
                "{{instance}}",
            ),
            maximum=1,
            width=6,
            links=links.node_of_series(),
        ),
        timeseries(
            "Clocks apart",
            "How far the clock of a host is from true time as chrony corrects it. Logs of several hosts are only"
            " as comparable as this. Of a host that does not say it, how far it is from the monitoring server's clock,"
            " with the time that a scrape takes.",
            "s",
            Target(f"max by (instance) ({clock_error('')})", "{{instance}}"),
            width=6,
            links=links.node_of_series(),
        ),
    ]
