"""Jobs of a run are submitted by one process at a time, and none submits what another has submitted meanwhile."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from ..shared_lock import BusyError, hold

COUNT = "submissions"
LOCK = "submitting"
SECONDS = 60.0


def submissions(run_dir: Path) -> int:
    """How often jobs of the run have been submitted."""
    try:
        return int((run_dir / COUNT).read_text())
    except (FileNotFoundError, ValueError):
        return 0


def count_submission(run_dir: Path) -> None:
    (run_dir / COUNT).write_text(f"{submissions(run_dir) + 1}\n")


@contextmanager
def submitting(run_dir: Path, seconds: float = SECONDS) -> Iterator[None]:
    try:
        with hold(run_dir / LOCK, seconds):
            yield
    except BusyError as error:
        raise ValueError(f"{error}, and submits jobs of this run: wait for it, or end it.") from None
