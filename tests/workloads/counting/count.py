"""A training program without training: prints what one prints, takes its time, and fails as told."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time


def emit(event: str, **facts: object) -> None:
    print("RACKMARK " + json.dumps({"event": event, "time": time.time(), **facts}), flush=True)


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
    )
    for step in range(1, flags.warmup + flags.steps + 1):
        began = time.perf_counter()
        if failing and step == flags.fail_step:
            fail(flags.fail, step, flags.batch)
        time.sleep(flags.seconds)
        emit("step", step=step, samples=flags.batch, seconds=time.perf_counter() - began, loss=7 / step)
    emit("end", steps=flags.warmup + flags.steps)


if __name__ == "__main__":
    main()
