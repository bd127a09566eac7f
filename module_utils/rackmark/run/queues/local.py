"""A run on the machine at hand, to try a workload."""

from __future__ import annotations

from ..place import Place, place_of_hosts
from .processes import ProcessQueue
from .queue import Devices, QueuedJob, Traits


class LocalQueue(ProcessQueue):
    traits = Traits(
        "local",
        "As plain processes on the machine that ran the playbook",
        shown_by="ps",
        starts_on="here",
        on_cluster=False,
        alternates=True,
    )

    def place(self, devices: Devices) -> Place:
        return place_of_hosts(1, devices.per_node, devices.accelerator, devices.device)

    def _hosts_of(self, _job: QueuedJob) -> str:
        return "localhost"
