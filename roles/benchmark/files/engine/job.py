"""One job: asks its nodes, starts its processes, guards them, and writes down how it ended.

Runs on the first node of the job, in the folder of the repeat, by the record there. Writes hostfile, preflight.json and
end.json; ends with 0 only if every process did, with the exit status of its state (rackmark.node.states) where the
job itself failed, with 128 + signal where it was ended from outside, else with that of the process that failed first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from allocation import HOSTFILE, Allocation, job_number
from announce import Announcer
from guard import Guard
from independent import JOB, beat
from launchers import Launcher, launcher_of, process_commands, sampler_commands, start
from meeting import RANK_TABLE
from network import answering_nodes, free_port
from outcome import Ending, has_begun, outcome_of_nodes, outcome_of_processes
from rackmark.node.job_record import RecordError, read_record
from rackmark.node.processes import Events, end_groups, wait_for
from rackmark.node.repeat_folder import OF_THE_QUEUE, reserve, set_aside, write_end
from settling import note_end, seconds_to_settle
from survey import survey

SCHEMA = "rackmark.end/1"
SECONDS_TO_END = 12
SECONDS_TO_SAMPLE = 3  # for the last time
LONGEST_REASON = 2000


def run(launcher: Launcher, job: Allocation, events: Events, lives: Callable[[], None]) -> Ending:
    reserve(job.folder)
    (job.folder / HOSTFILE).write_text(job.hostfile())
    settle(job, events)
    findings = survey(launcher, job, events)
    if events.stop is not None:
        return Ending.stopped(events.stop)
    if job.record.rank_table_form and findings["ok"]:
        give_rank_table(job, job.record.rank_table_form, findings)
    keep(job.folder / "preflight.json", findings)
    if not findings["ok"]:
        return Ending.of("preflight_failed", " ".join(findings["problems"]))
    # Where a site lets no node ask another, silence will say nothing.
    reachable = answering_nodes(job.nodes[1:])
    samplers = [start(command, subprocess.DEVNULL, subprocess.DEVNULL) for command in sampler_commands(launcher, job)]
    processes: list[subprocess.Popen[bytes]] = []
    if job.record.independent:
        lives()
    try:
        for command in process_commands(launcher, job, free_port(int(re.sub(r"\D", "", job.number) or 0))):
            processes.append(start(command))
        ending = guard(launcher, job, processes, events, reachable, lives)
        left = [process for process in processes if process.poll() is None]
    finally:
        for process in (*processes, *samplers):
            if process.stdin is not None:
                process.stdin.close()
        end_groups(processes, SECONDS_TO_END)
        wait_for(samplers, SECONDS_TO_SAMPLE)
        end_groups(samplers, 0)
    if job.record.independent and has_begun(job):
        return ending or outcome_of_nodes(job)
    ended = ending or outcome_of_processes(job, [one for one in processes if one not in left], launcher.title)
    return (lost_node(reachable) if ended.rank_lost else None) or ended


def settle(job: Allocation, events: Events) -> None:
    seconds, node = seconds_to_settle(job.nodes, job.record)
    if seconds:
        say(f"The last job on {node} ended badly: this one waits for {seconds:.0f} s (benchmark_settle_seconds).")
    deadline = time.monotonic() + seconds
    while events.stop is None and time.monotonic() < deadline:
        events.wait(deadline - time.monotonic())


def give_rank_table(job: Allocation, form: str, findings: dict[str, Any]) -> None:
    from rank_table_file import rank_table  # what few jobs need

    text, problems = rank_table(job, form, findings["nodes"])
    findings.update(ok=not problems, problems=problems)
    if not problems:
        (job.folder / RANK_TABLE).write_text(text)


def guard(
    launcher: Launcher,
    job: Allocation,
    processes: Sequence[subprocess.Popen[bytes]],
    events: Events,
    reachable: Sequence[str],
    lives: Callable[[], None],
) -> Ending | None:
    """Follows the processes until they end or one fails, or says why they have to be ended. Of nodes that work by
    themselves, one that fails ends no other, and is told that this job `lives`."""
    watch = Guard(job, reachable)
    deadline = time.monotonic() + job.record.minutes * 60
    next_look = time.monotonic() + watch.seconds_between_looks
    while True:
        statuses = [process.poll() for process in processes]
        now = time.monotonic()
        if now >= deadline and (not launcher.ends_at_limit or any(statuses) or events.stop is not None):
            return Ending.of("timeout", f"The job reached its limit of {job.record.minutes:g} minutes.")
        if events.stop is not None:
            return Ending.stopped(events.stop)
        if None not in statuses or (any(statuses) and not job.record.independent):
            return None
        if now >= next_look:
            if job.record.independent:
                lives()
            stalled = watch.stalled()
            if stalled is not None:
                return lost_node(reachable) or Ending.of("stalled", stalled)
            if watch.nobody_left:
                say(f"{launcher.title} has not ended {watch.seconds_to_leave:g} s after all ranks had: it is ended.")
                return None
            next_look = now + watch.seconds_between_looks
        events.wait(max(0.0, min(next_look, max(deadline, now + 1)) - time.monotonic()))


def show_life(folder: Path, facts: Mapping[str, Any], announcer: Announcer | None) -> None:
    beat(folder, JOB, facts)
    if announcer is not None:
        announcer.tell()


def lost_node(reachable: Sequence[str]) -> Ending | None:
    """Ranks fall silent or end, too, when the node of one of them is gone: Slurm may take minutes to see that."""
    answering = answering_nodes(reachable)
    lost = [name for name in reachable if name not in answering]
    if not lost:
        return None
    return Ending.of("node_fail", f"The ranks fell silent or ended, and {', '.join(lost)} no longer answers.")


def keep(path: Path, content: Mapping[str, Any]) -> None:
    """What cannot be kept because the disk is full is among the problems, and those go into the end as well."""
    try:
        path.write_text(json.dumps(content, indent=1) + "\n")
    except OSError as error:
        say(f"{path} cannot be written: {error.strerror}.")


def say(sentence: str) -> None:
    with suppress(OSError):  # on a full disk the record of the end, which has its room, says it alone
        print(f"rackmark: {sentence}", file=sys.stderr, flush=True)


def free_mb(folder: Path) -> int | None:
    try:
        usage = os.statvfs(folder)
    except OSError:
        return None
    return usage.f_bavail * usage.f_frsize // 2**20


def attempt(folder: Path) -> int:
    events = Events()
    started = time.time()
    number, nodes = 0, []
    try:
        number = set_aside(folder, OF_THE_QUEUE)
        record = read_record(folder)
        launcher = launcher_of(record)
        nodes = launcher.nodes()
        facts = {"schema": SCHEMA, "started": started, "attempt": number, "nodes": nodes}
        job = Allocation(job_number(), folder, nodes, record)
        announcer = Announcer(folder, job.number, len(job.processes)) if launcher.shows_comments else None
        ending = run(launcher, job, events, partial(show_life, folder, facts, announcer))
        note_end(nodes, record, ending.state)
    except RecordError as error:
        ending = Ending.of("launch_failed", str(error))
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        ending = Ending.of("launch_failed", f"The job could not be started: {error}.")
    reason = ending.reason and ending.reason[:LONGEST_REASON]
    end = {
        "schema": SCHEMA,
        "state": ending.state,
        "reason": reason,
        "exit_status": ending.exit_status,
        "started": started,
        "ended": time.time(),
        "attempt": number,
        "nodes": nodes,
        "first_failed": ending.first_failed,
        "free_mb": free_mb(folder),
    }
    if reason is not None:
        say(f"{ending.state}: {reason}")
    write_end(folder, end)
    return ending.exit_status


if __name__ == "__main__":
    sys.exit(attempt(Path.cwd()))
