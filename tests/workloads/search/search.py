"""Trials are points between 0 and 1; a score is the higher, the nearer the point is to 0.3."""

from __future__ import annotations

import argparse
import json
import os
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--trials", type=int, required=True)
parser.add_argument("--fail-every", type=int, required=True)
asked = parser.parse_args()

node, nodes = int(os.environ["NODE_RANK"]), int(os.environ["WORLD_SIZE"])
chance = random.Random(node)
for number in range(1 + node, asked.trials + 1, nodes):
    begin = time.perf_counter()
    point = chance.random()
    time.sleep(0.02)
    failed = asked.fail_every and number % asked.fail_every == 0
    numbers = {} if failed else {"score": 1 - abs(point - 0.3), "seconds": time.perf_counter() - begin}
    state = "failed" if failed else "ok"
    record = {"event": "trial", "time": time.time(), "number": number, "state": state, **numbers}
    print("RACKMARK", json.dumps(record), flush=True)
