"""The ranks of one node, as children of this program: when one fails, the others are ended.

    node.py [--node-rank N --address NAME] --nodes N --ranks-per-node G --master NAME:PORT --threads T
            [--telemetry S --accelerator nvidia|ascend|none --node-name NAME] -- COMMAND

Ends its ranks on SIGTERM and when its standard input closes: who started it holds that open, also over ssh or docker.
Without --node-rank, Slurm's environment says which node this is. The exit status is that of the first rank that failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from processes import Events, die_with_parent, end_groups, shell_status
from sampling import add_sampling_options, sampled

SECONDS_TO_END = 4
ENDED_FROM_OUTSIDE = 143


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="node.py")
    parser.add_argument("--node-rank", type=int, default=os.environ.get("SLURM_NODEID"))
    parser.add_argument("--address", default=os.environ.get("SLURMD_NODENAME"))
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--ranks-per-node", type=int, required=True)
    parser.add_argument("--master", required=True)
    parser.add_argument("--threads", required=True)
    parser.add_argument("--node-name", default="")
    add_sampling_options(parser)
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def start_rank(options: argparse.Namespace, local_rank: int) -> subprocess.Popen[bytes]:
    rank = options.node_rank * options.ranks_per_node + local_rank
    place = {
        "--rank": rank,
        "--world-size": options.nodes * options.ranks_per_node,
        "--local-rank": local_rank,
        "--node-rank": options.node_rank,
        "--address": options.address,
        "--ranks-per-node": options.ranks_per_node,
        "--master": options.master,
        "--threads": options.threads,
    }
    flags = [word for flag, value in place.items() for word in (flag, str(value))]
    program = Path(__file__).with_name("rank.py")
    with Path(f"rank-{rank}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-SE", str(program), *flags, "--", *options.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )


def first_failure(ranks: list[subprocess.Popen[bytes]], events: Events) -> int:
    """The status of the first rank that fails, 0 once all have ended well."""
    stdin = sys.stdin.fileno()
    while True:
        statuses = [rank.poll() for rank in ranks]
        failed = [status for status in statuses if status]
        if failed:
            return shell_status(failed[0])
        if None not in statuses:
            return 0
        closed = events.wait(None, [stdin]) and not os.read(stdin, 4096)
        if closed or events.stop is not None:
            return ENDED_FROM_OUTSIDE


def main() -> int:
    options = parse(sys.argv[1:])
    events = Events()
    with sampled(options.telemetry, options.node_name, options.accelerator, options.ranks_per_node):
        return run(options, events)


def run(options: argparse.Namespace, events: Events) -> int:
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        for local_rank in range(options.ranks_per_node):
            ranks.append(start_rank(options, local_rank))
        return first_failure(ranks, events)
    finally:
        end_groups(ranks, SECONDS_TO_END)


if __name__ == "__main__":
    sys.exit(main())
