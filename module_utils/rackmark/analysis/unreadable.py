"""Logs that hold no line of any dialect and lie where one belongs: a repeat that failed must not be out of sight."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any, Mapping, Sequence

from ..judging.endings import why_not_begun
from ..logs.digest import Digest
from ..logs.log_file import LogFile
from ..logs.printable import printable, printable_facts
from ..logs.reading import Fault
from .placing import place

_OF_A_SERIES = ("tree", "model", "batch", "precision")


def unreadable_repeats(root: Path, known: Sequence[Digest], unknown: Sequence[Path]) -> tuple[list[Digest], list[Path]]:
    """Those whose path names a case and a repeat of a series that other logs are of, and the files that are left."""
    series = {_series_of(place(one.path)): one for one in known}
    failed, left = [], []
    for path in unknown:
        facts = printable_facts(place(path))
        other = series.get(_series_of(facts))
        if other is None or "repeat" not in facts or "nodes" not in facts:
            left.append(path)
        else:
            failed.append(_without_lines(root, path, other, facts))
    return failed, left


def _series_of(facts: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(facts.get(name) for name in _OF_A_SERIES)


def _without_lines(root: Path, path: PurePath, other: Digest, facts: Mapping[str, Any]) -> Digest:
    fault, cause = _what_is_wrong(LogFile(root / path))
    return Digest(
        path=PurePath(printable(path)),
        dialect=other.dialect,
        facts={**{name: other.facts[name] for name in ("framework", "hardware") if name in other.facts}, **facts},
        stated={},
        faults=[fault],
        remarks=[],
        tables=[],
        ranks={},
        cause=None if cause is None else printable(cause),
        files=1,
        modified=other.modified,
    )


def _what_is_wrong(log: LogFile) -> tuple[Fault, str | None]:
    try:
        end = log.tail()
    except OSError as error:
        return Fault("no_log", f"The log cannot be read: {error.strerror}."), None
    if not end:
        return Fault("no_data", "The log is empty."), None
    return Fault("no_data", "The log holds no line of a known dialect."), why_not_begun(end)
