"""One job: looks at its nodes, starts its ranks, guards them, and writes down how it ended.

Runs on the first node of the job, in the folder of the repeat. Writes preflight.json and end.json there; ends with 0
only if every rank did. Other statuses: 3 preflight_failed, 4 stalled, 5 timeout, 6 launch_failed, 7 node_fail,
128 + signal where it was ended from outside, else that of the rank that failed first.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from attempt import free_mb, reserve, set_aside, write_end
from guard import Guard
from launch import Job, nodes_of, rank_commands, start
from network import answering_nodes, free_port
from outcome import Ending, outcome_of_ranks
from processes import Events, end_groups
from survey import survey

SCHEMA = "rackmark.end/1"
SECONDS_TO_END = 12
LITTLE_SPACE_MB = 50
LONGEST_REASON = 2000


@dataclass(frozen=True)
class Limits:
    seconds: float
    stalled_after: float


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="job.py", description=__doc__)
    parser.add_argument("--launcher", choices=["slurm", "ssh", "local"], required=True)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--ranks-per-node", type=int, required=True)
    parser.add_argument("--minutes", type=float, required=True, help="wall limit")
    parser.add_argument("--stalled-after", type=float, required=True, help="seconds a rank may be silent")
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, default=0, help="of each rank; 0: its share of the processors")
    parser.add_argument("--host", action="append", default=[], help="launcher ssh: the nodes, this one first")
    parser.add_argument("--package", help="distribution whose version is recorded")
    parser.add_argument("--dataset", help="folder with train/ and val/")
    parser.add_argument("--image", help="image in which the ranks run")
    parser.add_argument("--shm-size", default="32g")
    parser.add_argument("--mount", action="append", default=[], help="folder that the image sees too")
    parser.add_argument("--accelerator", choices=["nvidia", "ascend", "none"], default="none")
    parser.add_argument("--telemetry", type=float, default=0, help="seconds between two samples of a node; 0: none")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    if options.launcher == "local" and options.nodes != 1:
        parser.error(f"launcher local has one node, this machine, and not {options.nodes}: take launcher slurm or ssh")
    if options.launcher == "ssh" and options.nodes != len(options.host):
        parser.error(f"launcher ssh needs {options.nodes} times --host, not {len(options.host)}")
    return options


def job_of(options: argparse.Namespace, nodes: list[str]) -> Job:
    number = os.environ.get("SLURM_JOB_ID") or os.environ.get("RACKMARK_JOB_ID") or str(os.getpid())
    return Job(
        number=number,
        folder=Path.cwd(),
        nodes=nodes,
        launcher=options.launcher,
        ranks_per_node=options.ranks_per_node,
        threads=options.threads,
        accelerator=options.accelerator,
        command=options.command,
        package=options.package,
        dataset=options.dataset,
        image=options.image,
        shm_size=options.shm_size,
        mounts=options.mount,
        telemetry=options.telemetry,
    )


def run(job: Job, limits: Limits, events: Events) -> Ending:
    reserve(job.folder)
    findings = survey(job, events)
    if events.stop is not None:
        return Ending.stopped(events.stop)
    keep(job.folder / "preflight.json", findings)
    if not findings["ok"]:
        return Ending("preflight_failed", " ".join(findings["problems"]), 3)
    # Where a site lets no node ask another, silence will say nothing.
    reachable = answering_nodes(job.nodes[1:]) if job.launcher != "local" else []
    processes = []
    try:
        for command in rank_commands(job, free_port(int(re.sub(r"\D", "", job.number) or 0))):
            processes.append(start(command))
        ending = guard(job, processes, limits, events, reachable)
    finally:
        for process in processes:
            process.stdin.close()
        end_groups(processes, SECONDS_TO_END)
    ended = ending or outcome_of_ranks(job, processes)
    return (lost_node(reachable) if ended.rank_lost else None) or ended


def guard(
    job: Job, processes: list[subprocess.Popen[bytes]], limits: Limits, events: Events, reachable: Sequence[str]
) -> Ending | None:
    """Follows the ranks until they end or one fails, or says why they have to be ended."""
    watch = Guard(job, limits.stalled_after)
    deadline = time.monotonic() + limits.seconds
    next_look = time.monotonic() + watch.seconds_between_looks
    while True:
        statuses = [process.poll() for process in processes]
        now = time.monotonic()
        # Slurm ends the job by itself, some time after the limit.
        if now >= deadline and (job.launcher != "slurm" or any(statuses) or events.stop is not None):
            return Ending("timeout", f"The job reached its limit of {limits.seconds / 60:g} minutes.", 5)
        if events.stop is not None:
            return Ending.stopped(events.stop)
        if any(statuses) or None not in statuses:
            return None
        if now >= next_look:
            stalled = watch.stalled()
            if stalled is not None:
                return lost_node(reachable) or Ending("stalled", stalled, 4)
            next_look = now + watch.seconds_between_looks
        events.wait(max(0.0, min(next_look, max(deadline, now + 1)) - time.monotonic()))


def lost_node(reachable: Sequence[str]) -> Ending | None:
    """Ranks fall silent or end, too, when the node of one of them is gone: Slurm may take minutes to see that."""
    answering = answering_nodes(reachable)
    lost = [name for name in reachable if name not in answering]
    if not lost:
        return None
    return Ending("node_fail", f"The ranks fell silent or ended, and {', '.join(lost)} no longer answers.", 7)


def keep(path: Path, content: dict[str, Any]) -> None:
    """What cannot be kept because the disk is full is among the problems, and those go into the end as well."""
    try:
        path.write_text(json.dumps(content, indent=1) + "\n")
    except OSError as error:
        say(f"{path} cannot be written: {error.strerror}.")


def say(sentence: str) -> None:
    with suppress(OSError):  # on a full disk the record of the end, which has its room, says it alone
        print(f"rackmark: {sentence}", file=sys.stderr, flush=True)


def attempt(options: argparse.Namespace, folder: Path) -> int:
    events = Events()
    started = time.time()
    number, nodes = 0, []
    try:
        number = set_aside(folder)
        nodes = nodes_of(options.launcher, options.host)
        ending = run(job_of(options, nodes), Limits(options.minutes * 60, options.stalled_after), events)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        ending = Ending("launch_failed", f"The job could not be started: {error}", 6)
    reason, free = ending.reason, free_mb(folder)
    if reason is not None and free is not None and free < LITTLE_SPACE_MB:
        reason = f"{reason} Only {free} MB are free in {folder}."
    end = {
        "schema": SCHEMA,
        "state": ending.state,
        "reason": reason and reason[:LONGEST_REASON],
        "exit_status": ending.exit_status,
        "started": started,
        "ended": time.time(),
        "attempt": number,
        "nodes": nodes,
        "first_failed": ending.first_failed,
        "free_mb": free,
    }
    if reason is not None:
        say(f"{ending.state}: {reason}")
    write_end(folder, end)
    return ending.exit_status


if __name__ == "__main__":
    sys.exit(attempt(parse(sys.argv[1:]), Path.cwd()))
