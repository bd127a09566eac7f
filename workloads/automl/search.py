"""The process that a job starts on each node: runs the node's worker, and starts it again when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rackmark.node.processes import Events, die_with_parent, shell_status

WORKER = Path(__file__).with_name("worker.py")
_MOST_RESTARTS, _WITHIN = 3, 600.0
_WRONGLY_ASKED = 2  # which no other start would change
_KILL_AFTER = 25.0  # seconds; a job that is cancelled has 30


def main() -> int:
    events = Events()
    restarts: list[float] = []
    while True:
        # Threads of numpy's linear algebra would not be there in forked processes.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-u", str(WORKER), *sys.argv[1:]]
        worker = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent())
        status = _ended(worker, events)
        if status in (0, _WRONGLY_ASKED) or events.stop is not None:
            return status
        now = time.monotonic()
        restarts = [*(at for at in restarts if at > now - _WITHIN), now]
        if len(restarts) > _MOST_RESTARTS:
            print(f"search.py: the worker died {len(restarts)} times within {_WITHIN:g} seconds", file=sys.stderr)
            return status
        print(f"search.py: the worker ended with status {status} and is started again", file=sys.stderr, flush=True)


def _ended(worker: subprocess.Popen[bytes], events: Events) -> int:
    asked_at: float | None = None
    while worker.poll() is None:
        events.wait(None if asked_at is None else 1.0)
        if events.stop is not None and asked_at is None:
            asked_at = time.monotonic()
            worker.terminate()
        if asked_at is not None and time.monotonic() > asked_at + _KILL_AFTER:
            worker.send_signal(signal.SIGKILL)
    return shell_status(worker.returncode)


if __name__ == "__main__":
    sys.exit(main())
