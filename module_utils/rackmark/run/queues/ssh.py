"""A run over SSH, on hosts without Slurm."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Sequence

from ...hostlist import compact
from ..job_state import QueueError
from ..place import Place, place_of_hosts
from .processes import ProcessQueue
from .queue import Devices, QueuedJob, Traits

_REFUSAL = "pam_slurm_adopt"
_AT_ONCE = 16
_SECONDS = 30


class SshQueue(ProcessQueue):
    """The first host, which is this one, reaches the others."""

    traits = Traits(
        "ssh",
        "Over SSH, one repeat after the other",
        shown_by="ps",
        starts_on="hosts",
        needs_hosts=True,
        alternates=True,
    )

    def place(self, devices: Devices) -> Place:
        return place_of_hosts(len(self._hosts), devices.per_node, devices.accelerator, devices.device)

    def check_access(self, jobs: Sequence[QueuedJob]) -> None:
        require_login(self._hosts[: max((job.nodes for job in jobs), default=0)])

    def _hosts_of(self, job: QueuedJob) -> str:
        return " ".join(self._hosts[: job.nodes])


def require_login(hosts: Sequence[str]) -> None:
    """Hosts of a Slurm cluster may let users in only through jobs, which a run over SSH has none of.

    Other troubles are the preflight's to name.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        closed = [host for host, said in zip(hosts[1:], pool.map(_said, hosts[1:])) if _REFUSAL in said]
    if closed:
        raise QueueError(
            f"{compact(closed)} lets this user in only while a job of theirs runs there, and launcher=ssh runs beside"
            " Slurm: measure with launcher=slurm, keep the nodes with salloc meanwhile, or set slurm_access_enabled:"
            " false and run 'ansible-playbook site.yml --tags slurm_access'."
        )


def _said(host: str) -> str:
    command = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, "true"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr if done.returncode else ""
