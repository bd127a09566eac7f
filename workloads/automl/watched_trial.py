"""One trial from its start to its end, as its worker sees it: what its processes say, how long they are silent."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from typing import Any, Mapping

from forked import Group, how_it_ended
from trial import Surroundings, Task, run_rank

_GRACE = 5.0  # seconds to write an epoch's files to their end


@dataclass
class Outcome:
    """What its record says of it, brought up to date with each epoch."""

    state: str = ""
    reason: str | None = None
    predicted: float | None = None
    images: int = 0
    seconds: float = 0.0
    trainings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        return sum(training["epochs"] for training in self.trainings)

    @property
    def accuracy(self) -> float | None:
        if self.state == "diverged":
            return None
        measured = [training["accuracy"] for training in self.trainings if training["accuracy"] is not None]
        return max(measured, default=None)

    def take(self, said: Mapping[str, Any]) -> None:
        if "training" in said:
            self.trainings.append({"hyperparameter": said["training"], "accuracy": None, "epochs": 0})
        elif "epoch" in said:
            training = self.trainings[-1]
            training["epochs"] += 1
            training["accuracy"] = max(training["accuracy"] or 0.0, said["epoch"])
            self.images += said["images"]
            self.seconds += said["seconds"]
        elif "failed" in said and not self.state:  # what others say after the first is for want of it
            self.state, self.reason = said["failed"], said["reason"]
        elif "done" in said:
            self.state, self.predicted = "ok", said["predicted"]

    def record(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "accuracy": self.accuracy,
            "predicted": self.predicted,
            "epochs": self.epochs,
            "images": self.images,
            "seconds": round(self.seconds, 4),
            "trainings": self.trainings,
            "reason": self.reason,
        }


class WatchedTrial:
    """`pipe` is to be waited for. `outcome.state` is empty until it has ended."""

    def __init__(self, task: Task, around: Surroundings, deadline: float, stalled_after: float) -> None:
        port = _free_port() if around.devices > 1 else 0
        self.outcome = Outcome()
        self._planned = around.parameters.epochs_in(task.round_number) * around.parameters.trainings_in(
            task.round_number
        )
        self._deadline, self._stalled_after = deadline, stalled_after
        self._alive = time.monotonic()
        self._group = Group(
            [
                lambda report, rank=rank: run_rank(task, around, deadline, rank, port, report)  # type: ignore[misc]
                for rank in range(around.devices)
            ]
        )
        self.pipe = self._group.pipe

    @property
    def is_half_done(self) -> bool:
        return 2 * self.outcome.epochs >= self._planned

    @property
    def patience_left(self) -> float:
        return self._alive + self._stalled_after - time.monotonic()

    def look(self) -> bool:
        """Whether it has ended: then all its processes have."""
        said = self._group.read()
        if said:
            self._alive = time.monotonic()
        for each in said:
            self.outcome.take(each)
        failed = self._group.failed()
        if not self._group.ended and failed is None and self.outcome.state in ("", "ok") and self.patience_left > 0:
            return False
        self._settle(failed)
        return True

    def stop(self) -> None:
        """An epoch whose files are being written is finished first."""
        self._group.ask_to_end()
        deadline = time.monotonic() + _GRACE
        while not self._group.ended and time.monotonic() < deadline:
            time.sleep(0.01)
            for each in self._group.read():
                if "failed" not in each:  # a process misses another one that has gone first
                    self.outcome.take(each)
        self._group.close()
        self.outcome.state = self.outcome.state or "stopped"

    def _settle(self, failed: int | None) -> None:
        outcome = self.outcome
        silent = not self._group.ended and failed is None
        self._group.close()
        failed = failed if silent else self._group.failed()
        if outcome.state:
            return
        if silent:
            outcome.state, outcome.reason = "stalled", f"no step for {self._stalled_after:g} seconds"
        elif failed is not None:
            end = how_it_ended(self._group.ends[failed])
            outcome.state, outcome.reason = "crashed", f"the process of device {failed} {end}"
        elif time.time() > self._deadline:
            outcome.state = "stopped"
        else:
            outcome.state, outcome.reason = "crashed", "its process was asked to end by somebody"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
