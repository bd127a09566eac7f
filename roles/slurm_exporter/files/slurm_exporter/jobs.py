"""Jobs, what they wait for and what they hold, as squeue prints them."""

from __future__ import annotations

import os
import pwd
import re
import time
from collections import Counter, defaultdict
from typing import Iterator, NamedTuple

from .cache import Answer
from .command import SlurmError, ask, words
from .nodes import amount

# Columns of fixed width, in bytes: no character of a value can be taken for the end of one.
_COLUMNS = {
    "partition": 96,
    "state": 20,
    "username": 64,
    "reason": 64,
    "submittime": 12,
    "eligibletime": 12,
    "starttime": 12,
    "tres-alloc": 320,
}
COMMAND = (
    "squeue",
    "--noheader",
    "--all",
    "--array",  # a line for each task
    "--Format=" + ",".join(f"{name}:{width}" for name, width in _COLUMNS.items()),
)
STATES = ("pending", "running", "completing", "suspended")
_HOLD_NOTHING = {"pending", "requeued", "requeue_hold", "requeue_fed", "special_exit", "resv_del_hold"}
# Those wait for their user, their time, another job or what a rule allows them, not for the cluster.
_NOT_ELIGIBLE = re.compile(
    r"BeginTime|Dependency.*|Job(Held|Hold|ArrayTask).*|.* requeued (in )?held.*|Reservation.*|ReqNodeNotAvail|Licenses"
    r"|Assoc.*|QOS.*|Invalid.*|Account.*|Max.*PerAccount|Partition(Time|Node)Limit"
)


class ListedJob(NamedTuple):
    partition: str
    state: str
    user: str
    reason: str
    submitted: int | None
    eligible: int | None
    started: int | None
    tres: str


class Jobs(NamedTuple):
    states: dict[tuple[str, str], int]  # by partition and state
    pending: dict[tuple[str, str], int]  # by partition and reason
    oldest_pending: dict[str, float]  # seconds by partition
    queue_wait: dict[str, float]
    cpus: dict[tuple[str, str], int]  # by partition and user
    devices: dict[tuple[str, str, str], int]  # by partition, user and type


def ask_jobs(limit: float) -> Answer:
    output = ask(COMMAND, limit)
    if not output and _are_hidden(limit / 3):
        raise SlurmError(
            "squeue shows none of the jobs, as PrivateData in slurm.conf wants it: make this user an operator with"
            " 'sacctmgr add user rackmark-exporter account=root adminlevel=operator'."
        )
    return Answer(parse_jobs(output))


def _are_hidden(limit: float) -> bool:
    """Whether no job is to be seen, although Slurm counts some."""
    config = ask(("scontrol", "show", "config"), limit)
    if not re.search(rb"^PrivateData\s*=.*\bjobs\b", config, re.MULTILINE):
        return False
    counts = re.findall(rb"^Jobs (?:pending|running):\s*(\d+)", ask(("sdiag",), limit), re.MULTILINE)
    # These counts are up to half a minute old: an operator, who sees all jobs, is told of some that have just ended.
    return any(int(count) for count in counts) and not _is_operator(limit)


def _is_operator(limit: float) -> bool:
    user = pwd.getpwuid(os.geteuid()).pw_name
    command = ("sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel")
    return ask(command, limit).strip() in (b"Operator", b"Administrator")


def parse_jobs(output: bytes, now: float | None = None) -> Jobs:
    now = time.time() if now is None else now
    states: Counter[tuple[str, str]] = Counter()
    pending: Counter[tuple[str, str]] = Counter()
    oldest: dict[str, float] = {}
    waits: dict[str, list[float]] = defaultdict(list)
    cpus: Counter[tuple[str, str]] = Counter()
    devices: Counter[tuple[str, str, str]] = Counter()
    for job in _read(output):
        states[job.partition, job.state] += 1
        if job.state == "pending":
            pending[job.partition, job.reason] += 1
            if job.eligible is not None and job.eligible <= now and not _NOT_ELIGIBLE.fullmatch(job.reason):
                oldest[job.partition] = max(oldest.get(job.partition, 0.0), now - job.eligible)
        began_to_wait = job.eligible if job.eligible is not None else job.submitted
        if job.state == "running" and job.started is not None and began_to_wait is not None:
            waits[job.partition].append(max(0, job.started - began_to_wait))
        if job.state not in _HOLD_NOTHING:
            holds, gres = held(job.tres)
            cpus[job.partition, job.user] += holds
            for kind, count in gres.items():
                devices[job.partition, job.user, kind] += count
    means = {partition: sum(each) / len(each) for partition, each in waits.items()}
    return Jobs(dict(states), dict(pending), oldest, means, dict(cpus), dict(devices))


def held(tres: str) -> tuple[int, dict[str, int]]:
    """CPUs, and devices by kind, of cpu=4,gres/gpu=2,gres/gpu:a100=2: those of a model are among those without."""
    cpus = 0
    whole: dict[str, int] = {}
    models: Counter[str] = Counter()
    for part in tres.split(","):
        name, _, count = part.partition("=")
        if name == "cpu":
            cpus = amount(count)
        elif name.startswith("gres/"):
            kind, _, model = name[len("gres/") :].partition(":")
            if model:
                models[kind] += amount(count)
            else:
                whole[kind] = amount(count)
    return cpus, {**models, **whole}


def _read(output: bytes) -> Iterator[ListedJob]:
    edges, end = [], 0
    for width in _COLUMNS.values():
        edges.append(slice(end, end + width))
        end += width
    known: dict[bytes, str] = {}  # the same few partitions, users and reasons again and again
    for line in output.split(b"\n"):
        if not line:
            continue
        cells = [line[edge] for edge in edges]
        if len(line) < edges[-1].start or not cells[1].strip().replace(b"_", b"").isalpha():
            raise SlurmError(f"squeue prints a job that cannot be read: '{words(line.decode(errors='replace'), 100)}'.")
        if not cells[-1].endswith(b" ") and len(cells[-1]) == _COLUMNS["tres-alloc"]:
            raise SlurmError(f"squeue cuts what a job holds: '{words(cells[-1].decode(errors='replace'), 100)}'.")
        for cell in cells[:4]:
            if cell not in known:
                known[cell] = words(cell.decode(errors="replace"), 96)
        partition, state, user, reason = (known[cell] for cell in cells[:4])
        # Some reasons go on with the names of nodes.
        short = reason.split(",")[0].split(":")[0].split("(")[0].strip() or "None"
        times = [_seconds(cell) for cell in cells[4:7]]
        tres = cells[7].decode(errors="replace").strip()
        yield ListedJob(partition, state.lower(), user, short, times[0], times[1], times[2], tres)


def _seconds(cell: bytes) -> int | None:
    text = cell.strip()
    return int(text) if text.isdigit() else None
