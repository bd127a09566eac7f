"""The processes of one node, as children of this program: when one fails, the others are ended.

    node.py --master NAME:PORT [--node-rank N --address NAME --node-name NAME] [--by-itself]

Runs in the folder of the repeat, by the record there, and samples the node unless it is in a container, which is
sampled from outside. Ends its processes on SIGTERM and when its standard input closes: who started it holds that open,
also over ssh or docker. With --by-itself it goes on without who started it, and shows to others that it lives. Without
--node-rank, Slurm's environment says which node this is. The exit status is that of the first process that failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from allocation import job_number, log_of
from independent import Member
from rackmark.node.job_record import JobRecord, read_record
from rackmark.node.processes import Events, die_with_parent, end_sessions, shell_status
from sampling import sampled

SECONDS_TO_END = 4
SECONDS_TO_END_ALONE = 12  # to write down what was done
ENDED_FROM_OUTSIDE = 143


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="node.py")
    parser.add_argument("--node-rank", type=int, default=os.environ.get("SLURM_NODEID"))
    parser.add_argument("--address", default=os.environ.get("SLURMD_NODENAME"))
    parser.add_argument("--node-name", default="")
    parser.add_argument("--master", required=True)
    parser.add_argument("--by-itself", action="store_true")
    return parser.parse_args(arguments)


def start_rank(record: JobRecord, options: argparse.Namespace, local_rank: int) -> subprocess.Popen[bytes]:
    rank = options.node_rank * record.processes_per_node + local_rank
    place = {
        "--rank": rank,
        "--local-rank": local_rank,
        "--node-rank": options.node_rank,
        "--address": options.address,
        "--master": options.master,
    }
    flags = [word for flag, value in place.items() for word in (flag, str(value))]
    program = Path(__file__).with_name("rank.py")
    with Path(log_of(rank)).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-SE", str(program), *flags],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )


def first_failure(ranks: Sequence[subprocess.Popen[bytes]], events: Events, member: Member | None) -> int:
    """The status of the first process that fails, 0 once all have ended well."""
    stdin = [] if member else [sys.stdin.fileno()]
    while True:
        if member:
            member.beat()
        statuses = [rank.poll() for rank in ranks]
        failed = [status for status in statuses if status]
        if failed:
            return shell_status(failed[0])
        if None not in statuses:
            return 0
        ready = events.wait(member.seconds_to_beat() if member else None, stdin)
        closed = ready and not os.read(ready[0], 4096)
        if closed or events.stop is not None:
            return ENDED_FROM_OUTSIDE


def main() -> int:
    options, record = parse(sys.argv[1:]), read_record(Path.cwd())
    events = Events()
    member = Member(Path.cwd(), record, options.node_rank, job_number()) if options.by_itself else None
    with sampled(None if record.image else record, options.node_name):
        status = run(record, options, events, member)
    if member:
        member.leave(events)
    return status


def run(record: JobRecord, options: argparse.Namespace, events: Events, member: Member | None) -> int:
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        for local_rank in range(record.processes_per_node):
            ranks.append(start_rank(record, options, local_rank))
        return first_failure(ranks, events, member)
    finally:
        end_sessions(ranks, SECONDS_TO_END_ALONE if member else SECONDS_TO_END)


if __name__ == "__main__":
    sys.exit(main())
