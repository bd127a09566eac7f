"""A training as ais-bench has it, small enough for a processor: every rank fits a line between two clouds of points.

It writes throughput_<rank>.json, and rank 0 ranksize.json and accuracy.json. Ranks that share processors stand for
devices of their own: the throughput is in samples per second of the rank's own processor time.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from pathlib import Path

SAMPLES = 2000
RATE = 0.1


def points(seed: int, count: int) -> list[tuple[float, float, int]]:
    """Points of two clouds that overlap a little, and which of them each belongs to."""
    chance = random.Random(seed)
    labels = [chance.randrange(2) for _ in range(count)]
    return [(chance.gauss(2 * label - 1, 1), chance.gauss(2 * label - 1, 1), label) for label in labels]


def probability(weights: list[float], x: float, y: float) -> float:
    return 1 / (1 + math.exp(-(weights[0] * x + weights[1] * y + weights[2])))


def epoch(weights: list[float], samples: list[tuple[float, float, int]]) -> float:
    """One pass of stochastic gradient descent; the mean loss."""
    loss = 0.0
    for x, y, label in samples:
        guess = probability(weights, x, y)
        loss -= math.log(max(guess if label else 1 - guess, 1e-12))
        for place, value in enumerate((x, y, 1.0)):
            weights[place] += RATE * (label - guess) * value
    return loss / len(samples)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_url", type=Path, required=True)
    parser.add_argument("--epoch_size", type=int, default=10)
    options, _ = parser.parse_known_args()
    rank, size = int(os.environ["RANK_ID"]), int(os.environ["RANK_SIZE"])
    weights, samples = [0.0, 0.0, 0.0], points(rank, SAMPLES)
    began = time.process_time()
    for number in range(1, options.epoch_size + 1):
        loss = epoch(weights, samples)
        print(f"rank {rank} epoch {number} of {options.epoch_size}: loss {loss:.4f}", flush=True)
    seconds = time.process_time() - began
    (options.train_url / f"throughput_{rank}.json").write_text(f"{options.epoch_size * SAMPLES / seconds}")
    if rank == 0:
        unseen = points(-1, SAMPLES)
        right = sum((probability(weights, x, y) > 0.5) == bool(label) for x, y, label in unseen)
        (options.train_url / "ranksize.json").write_text(str(size))
        (options.train_url / "accuracy.json").write_text(str(right / len(unseen)))


if __name__ == "__main__":
    main()
