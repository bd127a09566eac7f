"""The metrics of one scrape, made of what the queries know."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily

from .cache import View
from .jobs import STATES as JOB_STATES
from .jobs import Jobs
from .nodes import Nodes
from .searches import Progress
from .services import Controller, Database


class Scrape:
    """A registry for one answer."""

    def __init__(self, views: Mapping[str, View]) -> None:
        self._views = views

    def text(self) -> bytes:
        return generate_latest(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        nodes, jobs = self._views["nodes"].value, self._views["jobs"].value
        controllers, database = self._views["controllers"].value, self._views["database"].value
        searches = self._views["searches"].value
        yield from of_queries(self._views)
        if controllers is not None:
            yield from of_controllers(controllers)
        if database is not None and database.configured:
            yield from of_database(database)
        if nodes is not None:
            yield from of_nodes(nodes)
        if jobs is not None:
            yield from of_jobs(jobs, nodes.partitions if nodes else ())
        if searches is not None:
            yield from of_searches(searches)


def gauge(name: str, about: str, labels: str, values: Mapping[Any, float | None]) -> GaugeMetricFamily:
    """Values by the text of the label, or by the texts of several; one that is not known has no sample."""
    family = GaugeMetricFamily(f"rackmark_slurm_{name}", about, labels=labels.split())
    for key, value in values.items():
        if value is not None:
            family.add_metric([key] if isinstance(key, str) else list(key), value)
    return family


def of_queries(views: Mapping[str, View]) -> Iterator[GaugeMetricFamily]:
    unused = {name for name, view in views.items() if isinstance(view.value, Database) and not view.value.configured}
    asked = {name: view for name, view in views.items() if name not in unused}
    yield gauge(
        "query_up",
        "Whether Slurm answered this question of the exporter when it was last asked.",
        "query",
        {name: int(view.up) for name, view in asked.items()},
    )
    yield gauge(
        "query_age_seconds",
        "How old the values of this question are. Values of more than five minutes are left out.",
        "query",
        {name: view.age for name, view in asked.items()},
    )
    yield gauge(
        "query_duration_seconds",
        "How long the last attempt took, whether it succeeded or not.",
        "query",
        {name: view.duration for name, view in asked.items()},
    )


def of_controllers(controllers: Iterable[Controller]) -> Iterator[GaugeMetricFamily]:
    values = {(each.host, each.role): int(each.up) for each in controllers}
    yield gauge("controller_up", "Whether this slurmctld answers.", "controller role", values)


def of_database(database: Database) -> Iterator[GaugeMetricFamily]:
    up = None if database.up is None else int(database.up)
    yield gauge("database_up", "Whether slurmdbd answers with something from its database.", "", {(): up})
    yield gauge("database_queue", "Messages that slurmctld still has to send to slurmdbd.", "", {(): database.queue})


def of_nodes(nodes: Nodes) -> Iterator[GaugeMetricFamily]:
    yield gauge("nodes", "Nodes by state; each is in one state.", "state", nodes.states)
    yield gauge(
        "partition_nodes",
        "Nodes of a partition by state. A node can be in several partitions.",
        "partition state",
        {(name, state): count for name, states in nodes.partitions.items() for state, count in states.items()},
    )
    yield gauge(
        "node_out_of_service",
        "1 for each node that is down, drained, draining or failing.",
        "node state reason",
        dict.fromkeys(nodes.out_of_service, 1),
    )
    yield gauge(
        "node_powered_down",
        "1 for each node that Slurm has switched off or is switching off or on to save power.",
        "node",
        dict.fromkeys(nodes.powered_down, 1),
    )
    yield gauge("cpus", "CPUs that jobs can have, by what Slurm does with them.", "state", nodes.cpus)
    yield gauge("devices", "Configured devices of a partition.", "partition type", nodes.devices)


def of_jobs(jobs: Jobs, partitions: Iterable[str]) -> Iterator[GaugeMetricFamily]:
    none = {(partition, state): 0 for partition in partitions for state in JOB_STATES}
    yield gauge(
        "jobs",
        "Jobs by state, each task of an array by itself. A job that may go to several partitions has all their names.",
        "partition state",
        {**none, **jobs.states},
    )
    yield gauge("jobs_pending", "Pending jobs by Slurm's reason.", "partition reason", jobs.pending)
    yield gauge(
        "oldest_pending_seconds",
        "How long the job has waited that could start for the longest time, 0 where none could.",
        "partition",
        {**dict.fromkeys(partitions, 0), **jobs.oldest_pending},
    )
    yield gauge(
        "queue_wait_seconds",
        "How long the jobs that run had waited since they could start, on average.",
        "partition",
        jobs.queue_wait,
    )
    yield gauge("cpus_allocated", "CPUs that jobs of a user hold.", "partition user", jobs.cpus)
    yield gauge("devices_allocated", "Devices that jobs of a user hold.", "partition user type", jobs.devices)


def of_searches(searches: Progress) -> Iterator[GaugeMetricFamily]:
    yield gauge(
        "search_progress",
        "How far a search is that runs, as its job says: trials, the best accuracy as a fraction, GFLOPS and others.",
        "run_id case repeat measure",
        searches.numbers,
    )
