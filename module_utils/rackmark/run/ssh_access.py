"""Hosts of a Slurm cluster that let users in only through jobs, which a run over SSH has none of."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Sequence

from ..hostlist import compact
from .job_state import QueueError

_REFUSAL = "pam_slurm_adopt"
_AT_ONCE = 16
_SECONDS = 30


def require_login(hosts: Sequence[str]) -> None:
    """Before a run begins on these, the first of which is this one. Other troubles are the preflight's to name."""
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
