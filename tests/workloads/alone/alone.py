"""A trial every quarter of a second until there is a file; what was counted is kept for a search that is resumed."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path


def say(event: str, **facts: object) -> None:
    print("RACKMARK", json.dumps({"event": event, "time": time.time(), **facts}), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--enough", type=Path, required=True)
enough = parser.parse_args().enough
rank, nodes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
count = Path(f"experiment/{rank}")
count.parent.mkdir(exist_ok=True)
number = int(count.read_text()) if count.exists() else 0
say("start", rank=rank, world_size=nodes, host=os.uname().nodename)
while not enough.exists():
    number += 1
    say("trial", number=number, state="ok", score=number)
    say("progress", trials=number)
    count.write_text(str(number))
    time.sleep(0.25)
