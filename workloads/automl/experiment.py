"""experiment.json, which the first worker writes and all others follow, and the clock of each attempt at the search."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from outcome import UsageError
from parameters import Parameters
from rackmark.automl.history import History
from rackmark.node.job_record import JobRecord
from room import publish_json

if TYPE_CHECKING:
    from data import Data

SCHEMA = "rackmark.automl/1"
FOLDER = "experiment"
_PATIENCE = 30.0  # seconds
_FEW = 64  # workers, of which each may read all
_IMAGENET = (1_281_167, 50_000)
_COUNTED_OF_IMAGENET = (1_280_000, 50_000)  # by AIPerf, for an epoch of all its images


def join(folder: Path, record: JobRecord, parameters: Parameters, data: Data, workers: int) -> Mapping[str, Any]:
    """The experiment of this folder, which is begun if there is none. Another search than it was is refused."""
    asked = _experiment(record, parameters, data, workers)
    path = folder / "experiment.json"
    if publish_json(path, asked):
        return asked
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name in ("schema", "slave", "devices", "seed", "precision", "start_graph"):
        if found.get(name) != asked[name]:
            raise UsageError(f"{path} was begun with {name}={found.get(name)!r}, and {asked[name]!r} was asked for now")
    if found["dataset"]["digest"] != data.digest:
        raise UsageError(f"{path} was begun with other data than {data.name}: its digest is {data.digest}")
    return found


def _experiment(record: JobRecord, parameters: Parameters, data: Data, workers: int) -> dict[str, Any]:
    name = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in record.name)
    return {
        "schema": SCHEMA,
        "id": name,
        "profile": parameters.profile,
        "slave": workers,
        "devices": record.devices_per_node,
        "seed": parameters.seed,
        "began": time.time(),
        "duration": record.duration,
        "parameters": asdict(parameters),
        "dataset": {
            "name": data.name,
            "digest": data.digest,
            "train_images": data.train.count,
            "eval_images": data.validation.count,
            "classes": data.classes,
            "shape": list(data.shape),
            "counted": list(counted(data, parameters)),
        },
        "start_graph": parameters.start_graph,
        "start_weights": parameters.start_weights,
        "inherit": parameters.inherit,
        "precision": record.precision or "fp32",
    }


def counted(data: Data, parameters: Parameters) -> tuple[int, int]:
    """As how many images an epoch counts for the score: those that it takes."""
    taken = parameters.train_images or data.train.count, parameters.eval_images or data.validation.count
    return _COUNTED_OF_IMAGENET if taken == _IMAGENET else taken


@dataclass(frozen=True)
class Attempt:
    """`began` is when its first trial did, `deadline` when the last one ends; in seconds since 1970."""

    number: int
    began: float
    seconds: float

    @property
    def deadline(self) -> float:
        return self.began + self.seconds


def begin_attempt(folder: Path, number: int, duration: float, worker: int, workers: int, now: float) -> Attempt:
    """The clock that the first trial of an attempt starts, for what earlier ones left of the time asked for."""
    path = _attempt_file(folder, number)
    patience = time.monotonic() + _PATIENCE
    while number > 1 and worker > 0 and workers > _FEW and not path.exists() and time.monotonic() < patience:
        time.sleep(0.2)  # the first worker reads all histories for all
    if not path.exists():
        records = History(folder, workers).look() if number > 1 else []
        seconds = max(0.0, duration - searched(folder, number, records))
        publish_json(path, {"attempt": number, "began": now, "seconds": seconds})
    found = json.loads(path.read_text(encoding="utf-8"))
    return Attempt(number, found["began"], found["seconds"])


def searched(folder: Path, before: int, records: Iterable[Mapping[str, Any]]) -> float:
    """Seconds of all earlier attempts, each to the last thing that any worker recorded in it."""
    begins = {}
    for number in range(1, before):
        path = _attempt_file(folder, number)
        if path.exists():  # one that ended before its first trial left none
            begins[number] = json.loads(path.read_text(encoding="utf-8"))["began"]
    latest = dict(begins)
    for record in records:
        own = [number for number, began in begins.items() if began <= record["time"]]
        if own and record["event"] in ("started", "ended"):
            latest[max(own)] = max(latest[max(own)], record["time"])
    return sum(latest[number] - began for number, began in begins.items())


def _attempt_file(folder: Path, number: int) -> Path:
    return folder / "attempts" / f"{number}.json"
