"""A training program without training: prints what one prints, takes its time, and fails as told."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

PATIENCE = 10.0  # seconds


def emit(event: str, **facts: object) -> None:
    moment = {"monotonic": time.monotonic(), "time": time.time()}
    print("RACKMARK " + json.dumps({"event": event, **moment, **facts}), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--precision", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--data")
    parser.add_argument("--fail", choices=["exit", "hang", "nan", "memory", "silent", "mute"])
    parser.add_argument("--fail-rank", type=int, default=0)
    parser.add_argument("--fail-step", type=int, default=3)
    parser.add_argument("--slow-rank", type=int, help="a rank whose steps take a tenth longer")
    parser.add_argument(
        "--hold", type=Path, help="the second step takes as long as this folder has a file of so many ranks"
    )
    parser.add_argument("--tell", nargs="*", default=[], help="variables of the environment to write down")
    return parser.parse_args()


def fail(how: str, step: int, batch: int) -> None:
    if how == "exit":
        sys.exit("count.py: error: asked to fail here")
    if how == "hang":
        time.sleep(3600)
    if how == "nan":
        emit("step", step=step, samples=batch, seconds=0.05, loss=None, loss_text="nan")
        sys.exit(1)
    if how == "memory":
        raise MemoryError("asked to run out of memory here")
    if how == "silent":  # ends well without having done its work
        sys.exit(0)


def meet(rank: int, world: int) -> None:
    """Ranks begin together, as those of a training do; who does not come is not waited for long."""
    place, deadline = os.environ.get("MASTER_ADDR"), time.monotonic() + PATIENCE
    if world == 1 or place is None:
        return
    port = int(os.environ["MASTER_PORT"])
    with suppress(OSError):
        if rank == 0:
            with socket.create_server(("", port), backlog=world) as server:
                others = []
                with suppress(OSError):
                    while len(others) < world - 1:
                        server.settimeout(max(0.01, deadline - time.monotonic()))
                        others.append(server.accept()[0])
                for other in others:
                    other.close()
            return
        while time.monotonic() < deadline:
            with suppress(ConnectionError), socket.create_connection((place, port), timeout=PATIENCE) as first:
                first.recv(1)  # comes back as soon as rank 0 closes
                return
            time.sleep(0.02)


def main() -> None:
    flags = parse()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    failing = flags.fail is not None and rank == flags.fail_rank
    if failing and flags.fail == "mute":
        sys.exit(0)
    emit(
        "start",
        rank=rank,
        world_size=world,
        local_rank=int(os.environ.get("LOCAL_RANK", "0")),
        host=socket.gethostname(),
        device=flags.device,
        framework="python",
        framework_version=sys.version.split()[0],
        batch=flags.batch,
        precision=flags.precision,
        warmup=flags.warmup,
        steps=flags.steps,
        **({"told": {name: os.environ.get(name) for name in flags.tell}} if flags.tell else {}),
    )
    meet(rank, world)
    began = time.perf_counter()
    for step in range(1, flags.warmup + flags.steps + 1):
        if failing and step == flags.fail_step:
            fail(flags.fail, step, flags.batch)
        time.sleep(flags.seconds * (1.1 if rank == flags.slow_rank else 1))
        while step == 2 and flags.hold is not None and (flags.hold / str(world)).exists():
            time.sleep(0.05)
        ended = time.perf_counter()
        emit("step", step=step, samples=flags.batch, seconds=ended - began, loss=7 / step)
        began = ended
    emit("end", steps=flags.warmup + flags.steps)


if __name__ == "__main__":
    main()
