"""What squeue, sacct and sinfo print of jobs and nodes, and what it means for a job that waits."""

from __future__ import annotations

import time
from typing import Iterable

from ..job_state import JobState

SQUEUE = "%i|%j|%T|%r|%N|%S|%e"
SACCT = "JobIDRaw,JobName%120,State,ExitCode,NodeList,Start,End"

# Reasons of a waiting job that waiting does not mend.
_HOPELESS = {
    "BadConstraints": "no node has what --constraint asks for",
    "DependencyNeverSatisfied": "a job that it waits for can no longer end well",
    "PartitionNodeLimit": "the partition does not give a job so many nodes",
    "PartitionTimeLimit": "the partition does not give a job so much time (-e minutes=)",
    "InvalidAccount": "the account may not be used here",
    "InvalidQOS": "the quality of service may not be used here",
}
# Reasons that mend by themselves where nodes only have to become free, and not where they are lost.
_WAITS_FOR_NODES = ("Resources", "Priority", "ReqNodeNotAvail", "Nodes required")
# Those that mend by themselves in any case: other jobs end, a time comes.
_MENDS = ("None", "Dependency", "BeginTime", "Licenses", "Reservation", "Cleaning", "Prolog", "QOS", "Assoc", "Max")
_HELD = ("JobHeld", "job requeued in held state", "launch failed requeued held", "JobHoldMaxRequeue")


def never_starts(state: JobState) -> str | None:
    """Why a waiting job will wait for ever, or None."""
    if state.state != "PENDING" or state.reason is None:
        return None
    if state.reason.endswith("PerJobLimit"):
        return f"a limit of the account or the quality of service forbids a job like this ({state.reason})"
    return _HOPELESS.get(state.reason)


def waits_for_nodes(state: JobState) -> bool:
    return state.state == "PENDING" and (state.reason or "").startswith(_WAITS_FOR_NODES)


def waits_for_somebody(state: JobState) -> str | None:
    """What has to be done before a waiting job can start, or None where time is enough."""
    reason = state.reason or "None"
    if state.state != "PENDING" or reason.startswith((*_WAITS_FOR_NODES, *_MENDS)) or never_starts(state):
        return None
    if reason.startswith(_HELD):
        return f"it is held ({reason}): 'scontrol release {state.job_id}' lets it go"
    if reason.startswith("Partition"):
        return f"its partition starts no jobs ({reason}): 'scontrol show partition' tells, State=UP is what it takes"
    return f"Slurm lets it wait with the reason {reason}: 'scontrol show job {state.job_id}' tells more"


def newest(names: set[str], states: Iterable[JobState | None]) -> dict[str, JobState]:
    """A job that went on without a lost node has two records in accounting, the one before that first."""
    found: dict[str, JobState] = {}
    for state in states:
        if state is not None and state.name in names:
            known = found.get(state.name)
            if known is None or int(state.job_id) >= int(known.job_id):
                found[state.name] = state
    return found


def parse_squeue(line: str) -> JobState | None:
    fields = line.strip().split("|")
    if len(fields) != 7 or not fields[0].isdecimal():
        return None
    number, name, state, reason, nodes, start, end = fields
    return JobState(int(number), name, state, _value(reason), None, _value(nodes), _moment(start), _moment(end))


def parse_sacct(line: str) -> JobState | None:
    fields = line.strip().split("|")
    if len(fields) != 7 or not fields[0].isdecimal():
        return None
    number, name, state, code, nodes, start, end = fields
    return JobState(
        int(number), name, state.rstrip("+"), None, _value(code), _value(nodes), _moment(start), _moment(end)
    )


def out_of_service(node_state: str) -> bool:
    return node_state.endswith("*") or node_state.startswith(("down", "drain", "fail", "power", "unknown", "maint"))


def _value(text: str) -> str | None:
    return None if text in ("", "None", "(null)", "N/A", "Unknown", "None assigned") else text


def _moment(text: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
