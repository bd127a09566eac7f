"""All ranks add up the numbers of all ranks, `batch` times in every step; the first one says how long it took."""

from __future__ import annotations

import json
import socket
import sys
import time

from mpi4py import MPI


def say(event: str, **facts: object) -> None:
    print("RACKMARK", json.dumps({"event": event, "time": time.time(), **facts}), flush=True)


def main() -> None:
    world = MPI.COMM_WORLD
    batch, warmup, steps = map(int, sys.argv[1:])
    hosts = world.gather(socket.gethostname())
    first = world.rank == 0
    if first:
        say("start", world_size=world.size, batch=batch, precision="fp64")
        say("stated", hosts=len(set(hosts)))
    begin = time.perf_counter()
    for step in range(1, warmup + steps + 1):
        for _ in range(batch):
            total = world.allreduce(float(world.rank))
        if total != sum(range(world.size)):
            sys.exit(f"add_up.py: {total} is not the sum of {world.size} ranks")
        end = time.perf_counter()
        if first:
            say("step", step=step, samples=batch, seconds=end - begin, loss=None)
        begin = end
    if first:
        say("end", steps=warmup + steps)


main()
