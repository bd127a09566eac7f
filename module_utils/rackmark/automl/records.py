"""What a record of the history may hold. Whoever passes these checks can be read without a further look at types."""

from __future__ import annotations

from typing import Any, Callable, Mapping

EVENTS = ("began", "started", "ended", "lost")
STATES = ("ok", "diverged", "oom", "crashed", "stalled", "stopped", "lost")
_LARGEST = 1e18  # no number of a search comes near it, and all below it can be added as floats
_MOST_FEATURES = 64

Check = Callable[[Any], bool]


def fault(record: object, worker: int, workers: int) -> str:
    """What is wrong with a record in the file of this worker, as the end of a sentence; empty if nothing is."""
    if not isinstance(record, dict):
        return "is no record"
    event = record.get("event")
    if event not in EVENTS:
        return f"has the event {event!r:.40}, which is none of {', '.join(EVENTS)}"
    fields = _FIELDS[event]
    missing = [name for name in _REQUIRED[event] if record.get(name) is None]
    if missing:
        return f"is a record without {' and '.join(missing)}"
    for name, right in fields.items():
        value = record.get(name)
        if value is not None and not right(value):
            return f"has {name}={value!r:.60}"
    if record["worker"] != worker or record.get("seq", worker) % workers != worker:
        return f"is a record of another worker ({record['worker']}) or search"
    return ""


def is_number(value: object) -> bool:
    return type(value) in (int, float) and -_LARGEST < value < _LARGEST  # type: ignore[operator]  # NaN is not either


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_amount(value: object) -> bool:
    return is_number(value) and value >= 0  # type: ignore[operator]


def _is_fraction(value: object) -> bool:
    return is_number(value) and 0 <= value <= 1  # type: ignore[operator]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_hyperparameter(value: object) -> bool:
    return isinstance(value, dict) and all(map(is_number, value.values()))


def _is_flops(value: object) -> bool:
    return isinstance(value, dict) and all(_is_amount(value.get(name)) for name in ("evaluation", "training"))


def _are_features(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_FEATURES and all(map(is_number, value))


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_training(value: object) -> bool:
    if not isinstance(value, dict) or not _is_hyperparameter(value.get("hyperparameter")):
        return False
    accuracy, epochs = value.get("accuracy"), value.get("epochs")
    return (accuracy is None or _is_fraction(accuracy)) and (epochs is None or _is_whole(epochs))


def _are_trainings(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_training, value))


_ANY: Mapping[str, Check] = {"worker": _is_whole, "time": is_number}
_OF_TRIAL: Mapping[str, Check] = {**_ANY, "seq": _is_whole}
_FIELDS: Mapping[str, Mapping[str, Check]] = {
    "began": {**_ANY, "attempt": _is_whole, "host": _is_text},
    "started": {
        **_OF_TRIAL,
        "attempt": _is_whole,
        "father": _is_whole,
        "digest": _is_text,
        "morphs": _are_texts,
        "hyperparameter": _is_hyperparameter,
        "flops": _is_flops,
        "layers": _is_whole,
        "params": _is_whole,
        "features": _are_features,
        "waited": _is_amount,
    },
    "ended": {
        **_OF_TRIAL,
        "state": STATES.__contains__,
        "accuracy": _is_fraction,
        "predicted": is_number,
        "epochs": _is_whole,
        "images": _is_whole,
        "seconds": _is_amount,
        "trainings": _are_trainings,
        "reason": _is_text,
    },
    "lost": _OF_TRIAL,
}
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "began": ("worker", "time"),
    "started": ("worker", "time", "seq"),
    "ended": ("worker", "time", "seq", "state"),
    "lost": ("worker", "time", "seq"),
}
