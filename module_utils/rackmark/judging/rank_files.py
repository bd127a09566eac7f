"""A training whose ranks leave their numbers in files, as ais-bench's do, in the output of its job."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

from ..dialects.ais_bench_files import read_rank_files
from ..logs.reading import Fault, Reading
from ..logs.series import Window
from .asked import Asked
from .evidence import decisive_line
from .repeat import Repeat
from .words import quoted

OUT = "out"
_DEEPEST = 3
_BY_A_SIGNAL = (137, 143)  # mostly because another worker had failed
_LONGEST = 240


def read_training(folder: Path, asked: Asked) -> Reading:
    """Of the sum over all ranks, or of the mean over servers where each trained for itself."""
    case = asked.case
    found = _trainings(folder / OUT, case.world_size, case.devices_per_node)
    if not found:
        return _fault("no_log", "The job left no throughput_<rank>.json in its output.")
    if len(found) > 1:
        names = " and ".join(str(path.relative_to(folder)) for path in list(found)[:2])
        return _fault("incomplete", f"{names} both hold results: they are of more than one training.")
    (path,) = found
    reading = found[path]
    servers = reading.facts.get("nodes") is not None
    if asked.each_server and case.nodes > 1 and not servers:
        return _fault("wrong_world_size", "All servers trained together, and each was to train for itself.")
    if servers and not asked.each_server:
        return _fault(
            "wrong_world_size", f"Every server trained for itself: that is the throughput of one, not of {case.case}."
        )
    lacking = [number for number in range(case.nodes) if not (path / str(number)).is_dir()] if servers else []
    if lacking:
        return _fault("no_log", f"Server {lacking[0]} of {case.nodes} left no throughput files.")
    beyond = [other.name for other in path.iterdir() if other.name.isdecimal() and int(other.name) >= case.nodes]
    if servers and beyond:
        return _fault(
            "wrong_world_size", f"There are files of server {min(beyond)}, the case has {case.nodes} servers."
        )
    return reading


def worker_ended_badly(repeat: Repeat, asked: Asked) -> Fault | None:
    if not repeat.failed:
        return None
    said = _sentence_of(repeat.end or {})
    logs = repeat.worker_logs
    if not logs:
        return Fault("launch_failed", f"The job failed before any worker wrote a log.{said}")
    number, code = _first_failed(repeat.end or {})
    if number is None:
        return Fault("incomplete", f"The job failed.{said}{_ends(logs[min(logs)])}")
    ended = f"Worker {number} ended with exit code {code}.{said}"
    return Fault("incomplete", ended + _ends(logs.get(number) or logs[min(logs)]))


def _first_failed(end: Mapping[str, Any]) -> tuple[int | None, int]:
    codes = end.get("exit_codes")
    failed = {int(number): code for number, code in codes.items() if code} if isinstance(codes, dict) else {}
    by_itself = {number: code for number, code in failed.items() if code not in _BY_A_SIGNAL} or failed
    return (min(by_itself), by_itself[min(by_itself)]) if by_itself else (None, 0)


def _sentence_of(end: Mapping[str, Any]) -> str:
    said = str(end.get("reason") or "").strip().rstrip(".")
    return f" {end.get('by')} says: {said[:_LONGEST]}." if said else ""


def _ends(log: str) -> str:
    """The line that names the cause, and the last one where that is another."""
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")[:_LONGEST]
    cause = decisive_line([log])
    return f"{quoted(cause) if cause != last else ''} Its last line: {last}"


def _trainings(out: Path, world_size: int, devices: int) -> dict[Path, Reading]:
    """Those of the folder that is nearest to the top."""
    folders = [out]
    for _ in range(_DEEPEST):
        found = {folder: reading for folder in folders if (reading := read_rank_files(folder, world_size, devices))}
        if found:
            return found
        folders = [each for folder in folders if folder.is_dir() for each in sorted(folder.iterdir()) if each.is_dir()]
    return {}


def _fault(state: str, reason: str) -> Reading:
    reading = Reading(Window(0, None))
    reading.faults.append(Fault(state, reason))
    return reading
