"""Files that AIPerf keeps while it searches, and that a search of Rackmark's makes from its history at the end."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator, Mapping

from ..aiperf.folder import Folder
from ..aiperf.search_history import SearchHistory
from ..logs.printable import printable

_LARGEST_GRAPH = 2 << 20


def graph_lines(experiment: Path, history: SearchHistory) -> Iterator[bytes]:
    """graph.txt: every network that was made, with its father, in the order of the trials."""
    files = Folder(experiment.resolve())
    for trial in history.trials:
        path = f"hyperparameter_epoch/{trial.seq:05d}/model.json"
        if not files.has(path):
            continue
        with (files.root / path).open("rb") as file:
            graph = b" ".join(file.read(_LARGEST_GRAPH).split(b"\n"))
        father = b"" if trial.father is None else b"+father_id=%d" % trial.father
        yield b"json_out=%s%s+parameter_id=%d+history=%s\n" % (graph, father, trial.seq, str(bool(father)).encode())


def train_time(history: SearchHistory) -> bytes | None:
    """Seconds that the trial took which ended last."""
    done = [trial for trial in history.trials if trial.began is not None and trial.ended is not None]
    good = [trial for trial in done if trial.state == "ok"]
    if not good:
        return None
    last = max(good, key=lambda trial: trial.ended or 0.0)
    return f"{(last.ended or 0.0) - (last.began or 0.0):.3f}\n".encode()


def log_files(history: SearchHistory) -> Mapping[str, bytes]:
    """nnimanager.log: beginnings of workers. dispatcher.log: trials, as they began and ended. By time."""
    by_time = sorted(
        (record["time"], worker, place, record)
        for worker, own in history.records.items()
        for place, (_, record) in enumerate(own)
    )
    lines: dict[str, list[str]] = {"nnimanager.log": [], "dispatcher.log": []}
    for time, worker, _, record in by_time:
        began = record["event"] == "began"
        said = _began(record) if began else _of_trial(record)
        lines["nnimanager.log" if began else "dispatcher.log"].append(f"{_stamp(time)} worker {worker}: {said}\n")
    return {name: "".join(own).encode() for name, own in lines.items()}


def _began(record: Mapping[str, Any]) -> str:
    return f"begins on {printable(record.get('host') or 'a host without a name')}, attempt {record.get('attempt', 1)}"


def _of_trial(record: Mapping[str, Any]) -> str:
    name = f"trial {record['seq']:05d}"
    if record["event"] == "lost":
        return f"{name} was lost"
    if record["event"] == "started":
        made = " and ".join(map(printable, record.get("morphs") or [])) or "no change"
        father = record.get("father")
        of = "the start graph" if father is None else f"{made} from {father:05d}"
        return f"{name} begins: {record.get('layers', 'unknown')} layers, {of}"
    accuracy = record.get("accuracy")
    measured = "no accuracy" if accuracy is None else f"accuracy {accuracy:.4f}"
    reason = f": {printable(record['reason'])}" if record.get("reason") else ""
    return f"{name} {record['state']}, {record.get('epochs') or 0} epochs, {measured}{reason}"


def _stamp(seconds: float) -> str:
    try:
        return f"[{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}]"
    except (ValueError, OverflowError, OSError):
        return f"[{seconds:.0f} s]"
