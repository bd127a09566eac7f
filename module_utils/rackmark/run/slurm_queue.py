"""The jobs of a run in Slurm."""

from __future__ import annotations

import os
import pwd
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterable, List, Mapping, Tuple

from ..hostlist import expand
from .job_state import JobState, QueueError

# Reasons of a waiting job that waiting does not mend.
_HOPELESS = {
    "BadConstraints": "no node has what --constraint asks for",
    "DependencyNeverSatisfied": "a job that it waits for can no longer end well",
    "PartitionNodeLimit": "the partition does not give a job so many nodes",
    "PartitionTimeLimit": "the partition does not give a job so much time (-e benchmark_minutes=)",
    "InvalidAccount": "the account may not be used here",
    "InvalidQOS": "the quality of service may not be used here",
}
# Reasons that mend by themselves where nodes only have to become free, and not where they are lost.
_WAITS_FOR_NODES = ("Resources", "Priority", "ReqNodeNotAvail", "Nodes required")

_SQUEUE = "%i|%j|%T|%r|%N|%S|%e"
_NOT_INSTALLED = 127  # by env
_REMEMBERED = "now-30days"
_SACCT = "JobIDRaw,JobName%120,State,ExitCode,NodeList,Start,End"

Run = Callable[[List[str]], Tuple[int, str, str]]


class SlurmQueue:
    """Jobs of the user that this runs as."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._user = pwd.getpwuid(
            os.getuid()
        ).pw_name  # the environment may still have the name before a change of user

    def states(self, names: Iterable[str]) -> dict[str, JobState]:
        """The newest job of each name, as far as slurmctld remembers it. One query, however many jobs."""
        output = self._ask(
            ["squeue", "--noheader", "--all", "--states=all", f"--user={self._user}", f"--format={_SQUEUE}"]
        )
        return newest(set(names), map(_parse_squeue, output.splitlines()))

    def remembered(self, names: Iterable[str]) -> dict[str, JobState]:
        """What accounting knows of jobs that slurmctld has forgotten; nothing where there is no accounting."""
        wanted = set(names)
        if not wanted:
            return {}
        command = ["env", "sacct", "--noheader", "--allocations", "--parsable2", f"--format={_SACCT}"]
        status, output, error = self._run(
            [*command, f"--starttime={_REMEMBERED}", f"--name={','.join(sorted(wanted))}"]
        )
        if status not in (0, _NOT_INSTALLED) and "disabled" not in error:
            raise QueueError(f"Slurm does not answer sacct: {_said(error)}")
        return newest(wanted, map(_parse_sacct, output.splitlines())) if status == 0 else {}

    def submit(self, name: str, script: Path, after: int | None) -> int:
        # Two jobs of one name write into one folder, so that they must never run at the same time.
        dependency = ",".join(["singleton", *([] if after is None else [f"afterany:{after}"])])
        status, output, error = self._run(
            [*_afresh(), "sbatch", "--parsable", f"--dependency={dependency}", str(script)]
        )
        if status != 0:
            raise QueueError(f"Slurm refused {name}: {_said(error)}")
        number = re.search(r"^(\d+)(;\S*)?$", output, re.MULTILINE)
        if number is None:
            raise QueueError(f"sbatch took {name} and did not say the job's number: {output.strip()!r}")
        return int(number[1])

    def check(self, options: list[str]) -> None:
        """Whether Slurm would take a job with these options, now or later."""
        status, _, error = self._run([*_afresh(), "sbatch", "--test-only", *options, "--wrap=true"])
        if status != 0:
            raise QueueError(f"Slurm would not take the largest job: {_said(error)}")

    def cancel(self, states: Mapping[str, JobState]) -> None:
        jobs = [str(state.job_id) for state in states.values() if not state.finished]
        if jobs:
            self._ask(["scancel", *jobs])

    def with_node_reasons(self, state: JobState) -> JobState:
        """Says why nodes of a job that Slurm ended are out of service: it may have ended because of that."""
        if state.state in ("COMPLETED", "FAILED", "TIMEOUT") or not state.nodes:
            return state
        status, output, _ = self._run(["sinfo", "--noheader", "--Node", f"--nodes={state.nodes}", "--format=%N|%T|%E"])
        rows = [row.split("|", 2) for row in output.splitlines() if row.count("|") >= 2] if status == 0 else []
        reasons = {name: reason.strip() for name, node_state, reason in rows if _out_of_service(node_state)}
        return replace(state, node_reasons=reasons)

    def usable_nodes(self, partition: str) -> int | None:
        """How many nodes can take jobs now or when they become free."""
        where = in_partition(partition or self.default_partition())
        status, output, _ = self._run(["sinfo", "--noheader", "--Node", "--format=%N|%T", where])
        rows = {tuple(row.split("|", 1)) for row in output.splitlines() if "|" in row}
        return sum(not _out_of_service(row[1]) for row in rows) if status == 0 else None

    def default_partition(self) -> str:
        """Empty where there is none, and where Slurm does not answer."""
        _, output, _ = self._run(["sinfo", "--noheader", "--all", "--format=%P"])
        return next((name[:-1] for name in output.split() if name.endswith("*")), "")

    def shares_nodes(self, partition: str) -> bool:
        """Whether jobs get company even when they ask for nodes of their own."""
        _, output, _ = self._run(["sinfo", "--noheader", in_partition(partition), "--format=%h"])
        return output.strip().startswith("FORCE")

    def _ask(self, command: list[str]) -> str:
        status, output, error = self._run(command)
        if status != 0:
            raise QueueError(f"Slurm does not answer {command[0]}: {_said(error)}")
        return output


def in_partition(partition: str) -> str:
    """The option of sinfo for one partition, or for all, hidden ones too; it does not take both."""
    return f"--partition={partition}" if partition else "--all"


def never_starts(state: JobState) -> str | None:
    """Why a waiting job will wait for ever, or None."""
    if state.state != "PENDING" or state.reason is None:
        return None
    if state.reason.endswith("PerJobLimit"):
        return f"a limit of the account or the quality of service forbids a job like this ({state.reason})"
    return _HOPELESS.get(state.reason)


def waits_for_nodes(state: JobState) -> bool:
    return state.state == "PENDING" and (state.reason or "").startswith(_WAITS_FOR_NODES)


def node_names(state: JobState) -> list[str]:
    return expand(state.nodes) if state.nodes else []


def newest(names: set[str], states: Iterable[JobState | None]) -> dict[str, JobState]:
    found: dict[str, JobState] = {}
    for state in states:
        if state is not None and state.name in names:
            known = found.get(state.name)
            if known is None or state.job_id > known.job_id:
                found[state.name] = state
    return found


def _parse_squeue(line: str) -> JobState | None:
    fields = line.strip().split("|")
    if len(fields) != 7 or not fields[0].isdecimal():
        return None
    number, name, state, reason, nodes, start, end = fields
    return JobState(int(number), name, state, _value(reason), None, _value(nodes), _moment(start), _moment(end))


def _parse_sacct(line: str) -> JobState | None:
    fields = line.strip().split("|")
    if len(fields) != 7 or not fields[0].isdecimal():
        return None
    number, name, state, code, nodes, start, end = fields
    return JobState(
        int(number), name, state.rstrip("+"), None, _value(code), _value(nodes), _moment(start), _moment(end)
    )


def _afresh() -> list[str]:
    """Without what a job around this process, or the user's profile, says of jobs: it would win over the script."""
    names = [name for name in os.environ if name.startswith(("SLURM_", "SBATCH_", "SRUN_")) and name != "SLURM_CONF"]
    return ["env", *(word for name in names for word in ("-u", name))]


def _out_of_service(node_state: str) -> bool:
    return node_state.endswith("*") or node_state.startswith(("down", "drain", "fail", "power", "unknown", "maint"))


def _value(text: str) -> str | None:
    return None if text in ("", "None", "(null)", "N/A", "Unknown", "None assigned") else text


def _moment(text: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None


def _said(error: str) -> str:
    lines = [line.strip() for line in error.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
