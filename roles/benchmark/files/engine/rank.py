"""One rank: tells the training program who it is, and keeps its exit status.

    rank.py [--rank R --world-size W --local-rank L --node-rank N --address NAME]
            --ranks-per-node G --master NAME:PORT --threads T
            [--telemetry S --accelerator nvidia|ascend|none] -- COMMAND

Without --rank, Slurm's environment says which rank this is. The first rank of a node samples it, if asked. What the
program prints goes to this program's own output.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from network import interface_towards
from processes import die_with_parent, shell_status
from sampling import add_sampling_options, sampled

COULD_NOT_START = 127
STATUS_NOT_KEPT = 74
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Place:
    rank: int
    world_size: int
    local_rank: int
    node_rank: int
    address: str


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rank.py")
    for name in ("--rank", "--world-size", "--local-rank", "--node-rank"):
        parser.add_argument(name, type=int)
    parser.add_argument("--address")
    parser.add_argument("--ranks-per-node", type=int, required=True)
    parser.add_argument("--master", required=True)
    parser.add_argument("--threads", type=int, required=True)
    add_sampling_options(parser)
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def place_of(options: argparse.Namespace) -> Place:
    if options.rank is not None:
        return Place(options.rank, options.world_size, options.local_rank, options.node_rank, options.address)
    slurm = (int(os.environ[f"SLURM_{name}"]) for name in ("PROCID", "NTASKS", "LOCALID", "NODEID"))
    return Place(*slurm, address=os.environ["SLURMD_NODENAME"])


def threads_of_a_rank(ranks_per_node: int) -> int:
    """Its share of the processors, and never more than it may run on."""
    allowed = len(os.sched_getaffinity(0))
    on_node = int(os.environ.get("SLURM_CPUS_ON_NODE", allowed))
    return max(1, min(allowed, on_node // ranks_per_node))


def environment(place: Place, options: argparse.Namespace) -> dict[str, str]:
    master, _, port = options.master.rpartition(":")
    settings = {
        "RANK": place.rank,
        "WORLD_SIZE": place.world_size,
        "LOCAL_RANK": place.local_rank,
        "LOCAL_WORLD_SIZE": options.ranks_per_node,
        "NODE_RANK": place.node_rank,
        "MASTER_ADDR": master,
        "MASTER_PORT": port,
        "OMP_NUM_THREADS": options.threads or threads_of_a_rank(options.ranks_per_node),
    }
    variables = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    interface = interface_towards(place.address, master)
    if interface is not None:  # gloo would otherwise guess; what a person has set stays
        variables.setdefault("GLOO_SOCKET_IFNAME", interface)
        variables.setdefault("NCCL_SOCKET_IFNAME", interface)
    return variables


def run(command: list[str], variables: dict[str, str], name: str) -> int:
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
    place = place_of(options)
    seconds = options.telemetry if place.local_rank == 0 else 0
    with sampled(seconds, place.address, options.accelerator, options.ranks_per_node):
        status = run_and_keep(place, options)
        if seconds and status == 0:
            wait_for_neighbours(place, options.ranks_per_node)
        return status


def wait_for_neighbours(place: Place, ranks_per_node: int) -> None:
    """Ranks of the same node may be at work still, and are to be sampled. Slurm ends this one if they fail."""
    told_to_end: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: told_to_end.append(number))
    first = place.rank - place.local_rank
    files = [Path(f"rank-{rank}.exit") for rank in range(first, first + ranks_per_node)]
    while not told_to_end and not all(file.exists() for file in files):
        time.sleep(SECONDS_BETWEEN_LOOKS)


def run_and_keep(place: Place, options: argparse.Namespace) -> int:
    status = run(options.command, environment(place, options), f"rank {place.rank} on {place.address}")
    try:
        Path(f"rank-{place.rank}.exit").write_text(f"{status}\n")
    except OSError as error:
        say(f"The exit status {status} of rank {place.rank} cannot be kept: {error.strerror}.")
        return status or STATUS_NOT_KEPT
    return status


if __name__ == "__main__":
    sys.exit(main())
