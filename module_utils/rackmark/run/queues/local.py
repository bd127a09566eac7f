"""A run on the machine at hand, to try a workload."""

from __future__ import annotations

from pathlib import Path

from ..job_state import QueueError
from ..place import Place, place_of_hosts
from ..run_plan import SYNTHETIC
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

    def check(self, largest: QueuedJob) -> None:
        """Its nodes are this machine, so that data can be looked for before anything is built for the run."""
        if largest.data not in ("", SYNTHETIC) and not Path(largest.data).exists():
            raise QueueError(
                f"data={largest.data} is not there on this machine, where the ranks of launcher=local run: give the"
                " absolute path of the dataset."
            )

    def _hosts_of(self, _job: QueuedJob) -> str:
        return "localhost"
