"""Writes the records that FlagPerf's driver writes: steps by every rank, the result by the first."""

from __future__ import annotations

import argparse
import json
import os
import time

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def record(event: str, **value: object) -> None:
    metadata = {"file": "train.py", "lineno": 1, "time_ms": int(time.time() * 1000), "rank": RANK}
    print("[PerfLog]", json.dumps({"event": event, "value": value, "metadata": metadata}), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--steps", type=int, required=True)
asked = parser.parse_args()

begin = time.perf_counter()
for step in range(1, asked.steps + 1):
    time.sleep(0.05)
    samples = step * asked.batch * WORLD_SIZE
    record("STEP_END", loss=7 / step, global_steps=step, num_trained_samples=samples, end_training=step == asked.steps)
seconds = time.perf_counter() - begin
if RANK == 0:
    rate = samples / seconds
    record(
        "FINISHED",
        e2e_time=seconds,
        train_time=seconds,
        train_no_eval_time=seconds,
        pure_training_computing_time=seconds,
        **{"throughput(ips)_raw": rate, "throughput(ips)_no_eval": rate, "throughput(ips)_pure_compute": rate},
        converged=True,
        final_acc1=0.75,
    )
