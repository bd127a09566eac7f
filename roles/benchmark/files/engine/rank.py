"""One process of the program: tells it who it is, and keeps its exit status.

    rank.py --master NAME:PORT [--rank R --local-rank L --node-rank N --address NAME]

Runs in the folder of the repeat, by the record there. Without --rank, Slurm's environment says which process this is,
and the first one of a node samples it. What the program prints goes to this program's own output.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Mapping, Sequence

from allocation import exit_of
from meeting import Place, environment
from rackmark.node.job_record import JobRecord, read_record
from rackmark.node.processes import die_with_parent, shell_status
from sampling import sampled

COULD_NOT_START = 127
STATUS_NOT_KEPT = 74
SECONDS_BETWEEN_LOOKS = 0.1


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rank.py")
    for name in ("--rank", "--local-rank", "--node-rank"):
        parser.add_argument(name, type=int)
    parser.add_argument("--address")
    parser.add_argument("--master", required=True)
    return parser.parse_args(arguments)


def place_of(options: argparse.Namespace) -> Place:
    host, _, port = options.master.rpartition(":")
    if options.rank is not None:
        return Place(options.rank, options.local_rank, options.node_rank, options.address, host, int(port))
    rank, local_rank, node_rank = (int(os.environ[f"SLURM_{name}"]) for name in ("PROCID", "LOCALID", "NODEID"))
    return Place(rank, local_rank, node_rank, os.environ["SLURMD_NODENAME"], host, int(port))


def run(command: Sequence[str], variables: Mapping[str, str], name: str) -> int:
    try:
        process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent())
    except OSError as error:
        say(f"The program of {name} cannot be started: {error.strerror}: {command[0]}")
        return COULD_NOT_START

    def pass_on(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):  # it was faster
            os.kill(process.pid, number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        stopped_by = signal.Signals(os.WSTOPSIG(status)).name
        say(f"The process of {name} was stopped by {stopped_by} at {time.strftime('%H:%M:%S')}.")
    process.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    if process.returncode < 0:
        say(f"The process of {name} was ended by {signal.Signals(-process.returncode).name}.")
    return shell_status(process.returncode)


def say(sentence: str) -> None:
    with suppress(OSError):  # a full disk must not keep a rank from ending as it should
        print(f"rackmark: {sentence}", file=sys.stderr, flush=True)


def main() -> int:
    options = parse(sys.argv[1:])
    place, record = place_of(options), read_record(Path.cwd())
    samples = bool(options.rank is None and place.local_rank == 0 and record.telemetry)
    with sampled(record if samples else None, place.address):
        status = run_and_keep(record, place)
        if samples and status == 0:
            wait_for_neighbours(place, record.processes_per_node)
        return status


def wait_for_neighbours(place: Place, processes_per_node: int) -> None:
    """Ranks of the same node may be at work still, and are to be sampled. Slurm ends this one if they fail."""
    told_to_end: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: told_to_end.append(number))
    first = place.rank - place.local_rank
    files = [Path(exit_of(rank)) for rank in range(first, first + processes_per_node)]
    while not told_to_end and not all(file.exists() for file in files):
        time.sleep(SECONDS_BETWEEN_LOOKS)


def run_and_keep(record: JobRecord, place: Place) -> int:
    status = run(record.program, environment(record, place, Path.cwd()), f"rank {place.rank} on {place.address}")
    try:
        Path(exit_of(place.rank)).write_text(f"{status}\n")
    except OSError as error:
        say(f"The exit status {status} of rank {place.rank} cannot be kept: {error.strerror}.")
        return status or STATUS_NOT_KEPT
    return status


if __name__ == "__main__":
    sys.exit(main())
