"""Steps that are measured against each other: they take turns, each in a process of its own, so that neither lives with
the other's settings."""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection
from typing import Callable, Mapping

import torch

Step = Callable[[], object]
Maker = Callable[[], Step]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=8, help="turns of each (default %(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="steps in a turn (default %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())


def measure(makers: Mapping[str, Maker], options: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds of a step of each, round by round. What makes them has to be a function of a module, or a partial one."""
    spawn = multiprocessing.get_context("spawn")
    lines: dict[str, Connection] = {}
    for name, maker in makers.items():
        lines[name], theirs = spawn.Pipe()
        spawn.Process(target=_serve, args=(maker, options.threads, theirs), daemon=True).start()
        theirs.close()
    found: dict[str, list[float]] = {name: [] for name in makers}
    for number in range(options.rounds + 1):
        for name, line in lines.items():
            line.send(options.steps)
            seconds = line.recv() / options.steps
            if number:  # the first one warms up
                found[name].append(seconds)
    for line in lines.values():
        line.send(0)
    return found


def ratios(seconds: list[float], of_others: list[float]) -> str:
    """How many times as long the others take, in words."""
    found = [others / ours for ours, others in zip(seconds, of_others)]
    return f"{statistics.median(found):.3f} (rounds from {min(found):.3f} to {max(found):.3f})"


def _serve(maker: Maker, threads: int, line: Connection) -> None:
    """Answers every request with the seconds that this many steps took."""
    torch.set_num_threads(threads)
    # The time of a single thread says the same on a machine that others use.
    clock = time.process_time if threads == 1 else time.perf_counter
    step = maker()
    while steps := line.recv():
        began = clock()
        for _ in range(steps):
            step()
        line.send(clock() - began)
