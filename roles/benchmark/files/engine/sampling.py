"""The sampler of a node, from the side of the program that runs ranks there: begun before them and ended after them.

Nothing that becomes of the sampler reaches the ranks. Where it did not end by itself, its file says how.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

from processes import die_with_parent

SECONDS_TO_END = 2.0
SECONDS_TO_BE_KILLED = 0.5


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--telemetry", type=float, default=0, help="seconds between two samples of the node; 0: none")
    parser.add_argument("--accelerator", choices=["nvidia", "ascend", "none"], default="none")


def telemetry_file(node: str) -> Path:
    """In the folder of the repeat."""
    return Path(f"telemetry-{node}.jsonl")


@contextmanager
def sampled(seconds: float, node: str, accelerator: str, ranks: int) -> Iterator[None]:
    """Nothing is sampled with 0 seconds."""
    sampler = _start(seconds, node, accelerator, ranks) if seconds else None
    try:
        yield
    finally:
        if sampler is not None:
            _end(sampler, telemetry_file(node))


def _start(seconds: float, node: str, accelerator: str, ranks: int) -> subprocess.Popen[bytes] | None:
    flags = {"--seconds": seconds, "--node": node, "--accelerator": accelerator, "--ranks": ranks}
    words = [word for flag, value in flags.items() for word in (flag, str(value))]
    with suppress(OSError):  # the file that is missing says it
        return subprocess.Popen(
            [sys.executable, "-SE", str(Path(__file__).with_name("sampler.py")), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
    return None


def _end(sampler: subprocess.Popen[bytes], file: Path) -> None:
    with suppress(OSError):
        sampler.stdin.close()
    try:
        sampler.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(sampler.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # it waits for a driver or a file server, and its parent does not
            sampler.wait(SECONDS_TO_BE_KILLED)
        _note(file, f"The sampler did not end within {SECONDS_TO_END:g} s and was killed.")
        return
    if sampler.returncode < 0:
        _note(file, f"The sampler was ended by {signal.Signals(-sampler.returncode).name}.")
    elif sampler.returncode > 0:
        _note(file, f"The sampler ended with exit status {sampler.returncode}.")


def _note(file: Path, reason: str) -> None:
    """Begins a line of its own: the last one may be torn."""
    with suppress(OSError), file.open("a") as telemetry:
        telemetry.write("\n" + json.dumps({"ms": round(time.time() * 1000), "end": reason}) + "\n")
