"""experiment.json: what a search of Rackmark's own was asked for, which AIPerf writes nowhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from .folder import Folder
from .score import Images

FILE = "experiment.json"
SCHEMA = "rackmark.automl/1"
_NAME = re.compile(r"\w[\w.-]{0,199}", re.ASCII)
_LATEST = 1e11  # seconds
_MOST = 10**9


@dataclass(frozen=True)
class ExperimentRecord:
    """`slave` is the number of workers, `devices` of each; `began` a time in seconds, `duration` the seconds of
    searching asked for, `images` what an epoch counts as. `settings` is the whole file."""

    id: str
    profile: str
    slave: int
    devices: int
    began: float
    duration: float
    images: Images
    precision: str | None
    settings: Mapping[str, Any]

    @property
    def start_weights(self) -> str | None:
        """The file of weights that the search began with; None is random ones."""
        name = self.settings.get("start_weights")
        return None if name in (None, "", "none") else str(name)


def is_recorded(files: Folder) -> bool:
    return files.has(FILE)


def read_experiment_record(files: Folder) -> ExperimentRecord | None:
    """Of one that cannot be used, the problems of the folder say why."""
    content = files.record(FILE)
    if content is None:
        return None
    wrong = _wrong(content)
    if wrong:
        files.problems.append(f"{FILE} {wrong}.")
        return None
    counted = content["dataset"]["counted"]
    return ExperimentRecord(
        content["id"],
        content["profile"],
        content["slave"],
        content["devices"],
        float(content["began"]),
        float(content["duration"]),
        Images(*counted),
        content.get("precision"),
        content,
    )


def _wrong(content: Mapping[str, Any]) -> str | None:
    """The end of a sentence."""
    if content.get("schema") != SCHEMA:
        return f"has the schema {content.get('schema')!r:.40}, not {SCHEMA!r}"
    for name, right in _FIELDS.items():
        if not right(content.get(name)):
            return f"has {name}={content.get(name)!r:.80}, which cannot be used"
    return None


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= _MOST


def _is_time(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < _LATEST  # type: ignore[operator]


def _is_dataset(value: object) -> bool:
    counted = value.get("counted") if isinstance(value, dict) else None
    return isinstance(counted, list) and len(counted) == 2 and all(map(_is_count, counted))


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "id": _is_name,
    "profile": _is_name,
    "slave": lambda value: _is_count(value) and value <= 100_000,
    "devices": lambda value: _is_count(value) and value <= 1000,
    "began": _is_time,
    "duration": _is_time,
    "dataset": _is_dataset,
    "precision": lambda value: value is None or _is_name(value),
}
