"""How dashboards are called, and links from a value on one to the same host or time on another."""

from __future__ import annotations

from .panels import Link

CLUSTER = "rackmark-cluster"
NODE = "rackmark-node"
ACCELERATORS = "rackmark-accelerators"
SLURM = "rackmark-slurm"
RUNS = "rackmark-runs"

_HOST_OF_SERIES = "${__field.labels.instance}"
_HOST_OF_ROW = "${__data.fields.instance}"
_SAME_TIME = "${__url_time_range}"


def host_of_series() -> list[Link]:
    return [
        Link("Node ${__field.labels.instance}", f"/d/{NODE}?var-instance={_HOST_OF_SERIES}&{_SAME_TIME}"),
        Link("Its devices", f"/d/{ACCELERATORS}?var-instance={_HOST_OF_SERIES}&{_SAME_TIME}"),
    ]


def node_of_series() -> list[Link]:
    return host_of_series()[:1]


def host_of_row() -> list[Link]:
    return [
        Link("Node", f"/d/{NODE}?var-instance={_HOST_OF_ROW}&{_SAME_TIME}"),
        Link("Its devices", f"/d/{ACCELERATORS}?var-instance={_HOST_OF_ROW}&{_SAME_TIME}"),
    ]


def dashboard(title: str, uid: str) -> list[Link]:
    return [Link(title, f"/d/{uid}?{_SAME_TIME}")]


def time_of_row(start: str, end: str) -> list[Link]:
    """The dashboards of the hosts over the time between two columns with milliseconds since 1970."""
    span = f'from=${{__data.fields["{start}"].numeric}}&to=${{__data.fields["{end}"].numeric}}'
    return [
        Link("Nodes during this run", f"/d/{NODE}?{span}"),
        Link("Accelerators during this run", f"/d/{ACCELERATORS}?{span}"),
    ]
