"""Started by ModelArts once on every device: tells the training program which of all ranks it is, and keeps its log.

Its own variables come from the request of the job; the program's words are in RACKMARK_PROGRAM.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Mapping

PORT = 29500
LAST_LINES = 20


def ranks(environ: Mapping[str, str]) -> dict[str, str]:
    """As torch and MindSpore want to be told, from what ModelArts says."""
    rank, size = int(environ["RANK_ID"]), int(environ["RANK_SIZE"])
    servers = int(environ.get("MA_NUM_HOSTS") or 1)
    on_this = size // servers
    first = (environ.get("VC_WORKER_HOSTS") or "127.0.0.1").split(",")[0]
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_RANK": str(rank % on_this),
        "LOCAL_WORLD_SIZE": str(on_this),
        "MASTER_ADDR": environ.get("MASTER_ADDR") or first,
        "MASTER_PORT": environ.get("MASTER_PORT") or str(PORT),
    }


def program(words: list[str], code: Path, data: str) -> list[str]:
    """The words of the program, with the places that only this container knows."""
    known = {"@python": sys.executable, "@data": data}
    return [known.get(word, str(code) + word[5:] if word.startswith("@code") else word) for word in words]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_url", type=Path, required=True)
    parser.add_argument("--data_url", default="")
    given, _ = parser.parse_known_args()
    told = ranks(os.environ)
    given.train_url.mkdir(parents=True, exist_ok=True)
    log = given.train_url / f"rank-{told['RANK']}.log"
    words = program(json.loads(os.environ["RACKMARK_PROGRAM"]), Path(__file__).resolve().parent, given.data_url)
    status = run(words, {**os.environ, **told, "PYTHONUNBUFFERED": "1"}, log, shown=told["RANK"] == "0")
    log.with_suffix(".exit").write_text(f"{status}\n")
    return status


def run(words: list[str], environ: Mapping[str, str], log: Path, shown: bool) -> int:
    """The job's own log has the first rank's lines, and the last ones of a rank that failed."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            words, env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=log.parent
        )
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            file.flush()
            if shown:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
    code = process.wait()
    status = 128 - code if code < 0 else code
    if status and not shown:
        sys.stdout.buffer.write(b"".join(log.read_bytes().splitlines(keepends=True)[-LAST_LINES:]))
        sys.stdout.buffer.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
