"""Slurm: nodes and their faults, the queue, who holds what, and whether Slurm itself is well."""

from __future__ import annotations

from . import links
from .dashboard import Dashboard, Variable
from .layout import Section
from .meanings import GREEN, NONE_IS_GOOD, RED, UP_OR_DOWN, YELLOW, limits, thresholds, words
from .panels import Link, Panel, Target, stat, timeline, timeseries
from .slurm_queries import OUT_OF_SERVICE, answered_zero, once
from .tables import Column, table

_CHOSEN = 'partition=~"$partition"'


def dashboard(cluster_name: str) -> Dashboard:
    return Dashboard(
        uid=links.SLURM,
        title=f"{cluster_name}: Slurm",
        description="Can the nodes take jobs, how long do jobs wait, who holds the devices, and is Slurm itself well?",
        variables=[Variable("partition", "Partition", "rackmark_slurm_partition_nodes", "partition")],
        sections=[
            Section("Is it well?", _health()),
            Section("Nodes", _nodes()),
            Section("The queue", _queue()),
            Section("Who uses it?", _users()),
            Section("Slurm itself", _daemons()),
        ],
    )


def _jobs(state: str) -> str:
    running = once("rackmark_slurm_jobs", "partition, state", f'state="{state}", {_CHOSEN}')
    return f"sum({running}) or {answered_zero('jobs')}"


def _health() -> list[Panel]:
    return [
        stat(
            "Primary controller",
            "Whether the first slurmctld answers; a backup may stand in for it.",
            "none",
            Target('min(max by (controller) (rackmark_slurm_controller_up{role="primary"}))'),
            levels=thresholds(RED, (1, GREEN)),
            mappings=[UP_OR_DOWN],
        ),
        stat(
            "Accounting database",
            "Whether slurmdbd answers. Without it jobs run, and their accounting waits.",
            "none",
            Target("max(rackmark_slurm_database_up)", may_be_empty="a cluster without accounting has no slurmdbd"),
            levels=thresholds(RED, (1, GREEN)),
            mappings=[UP_OR_DOWN],
            no_value="no accounting",
        ),
        stat(
            "Nodes that take jobs",
            "Nodes that are idle, partly or fully allocated.",
            "none",
            Target('sum(max by (state) (rackmark_slurm_nodes{state=~"idle|mixed|allocated"}))'),
            levels=thresholds(RED, (1, GREEN)),
        ),
        stat(
            "Nodes out of service",
            "Nodes that get no new jobs; the reasons are in the table below.",
            "none",
            Target(OUT_OF_SERVICE),
            levels=NONE_IS_GOOD,
        ),
        stat("Jobs that run", "In the partitions chosen.", "none", Target(_jobs("running"))),
        stat("Jobs that wait", "In the partitions chosen, for any reason.", "none", Target(_jobs("pending"))),
        stat(
            "Longest wait",
            "Age of the oldest job that could run and waits for resources.",
            "s",
            Target(f"max(rackmark_slurm_oldest_pending_seconds{{{_CHOSEN}}}) or {answered_zero('jobs')}"),
            levels=limits(3600, 86400),
        ),
        stat(
            "CPUs allocated",
            "Share of all CPUs of the cluster that jobs hold.",
            "percentunit",
            Target('max(rackmark_slurm_cpus{state="allocated"}) / max(rackmark_slurm_cpus{state="total"})'),
        ),
    ]


def _nodes() -> list[Panel]:
    node = [Link("Node", f"/d/{links.NODE}?var-instance=${{__data.fields.node}}&${{__url_time_range}}")]
    return [
        timeseries(
            "Nodes by state",
            "Nodes in each of Slurm's base states; together they are the cluster.",
            "none",
            Target(f"{once('rackmark_slurm_nodes', 'state')} > 0", "{{state}}"),
            stacked=True,
            width=8,
        ),
        timeseries(
            "Nodes that take jobs, by partition",
            "Idle, mixed and allocated nodes. A node can be in several partitions.",
            "none",
            Target(
                "sum by (partition) ("
                + once(
                    "rackmark_slurm_partition_nodes", "partition, state", f'state=~"idle|mixed|allocated", {_CHOSEN}'
                )
                + ")",
                "{{partition}}",
            ),
            width=8,
        ),
        table(
            "Out of service",
            "Nodes without new jobs, and the reason that Slurm was given. Empty: all nodes take jobs.",
            [
                Target(
                    once("rackmark_slurm_node_out_of_service", "node, state, reason"),
                    may_be_empty="all nodes of a healthy cluster take jobs",
                )
            ],
            [Column("node", "node", links=node), Column("state", "state"), Column("reason", "reason")],
            sort_by="node",
            width=8,
            no_value="all nodes take jobs",
        ),
    ]


def _queue() -> list[Panel]:
    by_state = once("rackmark_slurm_jobs", "partition, state", _CHOSEN)
    by_reason = once("rackmark_slurm_jobs_pending", "partition, reason", _CHOSEN)
    return [
        timeseries(
            "Jobs by state",
            "All jobs that Slurm knows of in the partitions chosen.",
            "none",
            Target(f"sum by (state) ({by_state}) or on () {answered_zero('jobs', 'state', 'running')}", "{{state}}"),
            stacked=True,
            width=6,
        ),
        timeseries(
            "Why jobs wait",
            "Jobs that wait, by the reason that Slurm gives: Resources and Priority are a full cluster.",
            "none",
            Target(
                f"sum by (reason) ({by_reason} > 0) or on () {answered_zero('jobs', 'reason', 'none waits')}",
                "{{reason}}",
            ),
            stacked=True,
            width=6,
        ),
        timeseries(
            "Oldest job that waits",
            "Age of the oldest job of each partition that could run and waits for resources.",
            "s",
            Target(
                f"{once('rackmark_slurm_oldest_pending_seconds', 'partition', _CHOSEN)}"
                f" or on () {answered_zero('jobs', 'partition', 'none waits')}",
                "{{partition}}",
            ),
            width=6,
        ),
        timeseries(
            "How long running jobs waited",
            "Mean over the jobs that run now, for each partition. No data while none runs.",
            "s",
            Target(
                once("rackmark_slurm_queue_wait_seconds", "partition", _CHOSEN),
                "{{partition}}",
                may_be_empty="without running jobs there is no wait to average",
            ),
            width=6,
        ),
    ]


def _users() -> list[Panel]:
    devices = once("rackmark_slurm_devices_allocated", "partition, user, type", _CHOSEN)
    configured = once("rackmark_slurm_devices", "partition, type", _CHOSEN)
    cpus = once("rackmark_slurm_cpus_allocated", "partition, user", _CHOSEN)
    return [
        timeseries(
            "Devices by user",
            "Accelerators that the jobs of each user hold, whether they use them or not.",
            "none",
            Target(f"sum by (user) ({devices}) or on () {answered_zero('jobs', 'user', 'nobody')}", "{{user}}"),
            stacked=True,
            width=8,
            links=links.dashboard("Are they used?", links.ACCELERATORS),
        ),
        timeseries(
            "Devices by partition",
            "Accelerators that jobs hold, and those that Slurm can give. A device can be in several partitions.",
            "none",
            Target(
                f"sum by (partition, type) ({devices}) or on () {answered_zero('jobs', 'partition', 'none')}",
                "{{partition}} {{type}} allocated",
            ),
            Target(configured, "{{partition}} {{type}} in all"),
            width=8,
        ),
        timeseries(
            "CPUs by user",
            "CPUs that the jobs of each user hold.",
            "none",
            Target(f"sum by (user) ({cpus}) or on () {answered_zero('jobs', 'user', 'nobody')}", "{{user}}"),
            stacked=True,
            width=8,
        ),
    ]


def _daemons() -> list[Panel]:
    return [
        timeline(
            "Controllers",
            "Each slurmctld as Slurm's own command sees it. A gap: nobody asked.",
            UP_OR_DOWN,
            Target(once("rackmark_slurm_controller_up", "controller, role"), "{{controller}} ({{role}})"),
            width=6,
        ),
        timeline(
            "Questions answered",
            "Whether Slurm answers each question of its exporter; while it does not, older answers are not shown.",
            words({1: ("answered", GREEN), 0: ("no answer", YELLOW)}),
            Target("max by (query) (rackmark_slurm_query_up)", "{{query}}"),
            width=6,
        ),
        timeseries(
            "Age and time of the answers",
            "How old the answer to each question is, and how long Slurm took for it. Seconds are a busy slurmctld.",
            "s",
            Target("min by (query) (rackmark_slurm_query_age_seconds)", "{{query}}, age"),
            Target("max by (query) (rackmark_slurm_query_duration_seconds)", "{{query}}, time taken"),
            width=6,
        ),
        timeseries(
            "Waiting for the database",
            "Records that slurmctld still has to tell slurmdbd. A line that climbs: slurmdbd is away.",
            "none",
            Target(
                "max(rackmark_slurm_database_queue)", "records", may_be_empty="a cluster without accounting has none"
            ),
            width=6,
        ),
    ]
