"""Every step takes the next words of all text files of the folder, or made-up ones where there is no folder."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections import Counter
from pathlib import Path

parser = argparse.ArgumentParser()
for flag in ("--batch", "--warmup", "--steps"):
    parser.add_argument(flag, type=int, required=True)
parser.add_argument("--data", type=Path)
asked = parser.parse_args()


def say(event: str, **facts: object) -> None:
    print("RACKMARK", json.dumps({"event": event, "time": time.time(), **facts}), flush=True)


texts = [path.read_text() for path in sorted(asked.data.glob("*.txt"))] if asked.data else ["made up words"]
words = itertools.cycle(" ".join(texts).split())
say("start", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]), batch=asked.batch)
seen: Counter[str] = Counter()
begin = time.perf_counter()
for step in range(1, asked.warmup + asked.steps + 1):
    seen.update(itertools.islice(words, asked.batch))
    time.sleep(0.01)
    end = time.perf_counter()
    say("step", step=step, samples=asked.batch, seconds=end - begin, loss=None)
    begin = end
say("stated", distinct=len(seen))
say("end", steps=asked.warmup + asked.steps)
