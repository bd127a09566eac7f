"""Reads one log of a tree, in the dialect that it was recognised as."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any, Mapping

from ..dialects.catalog import dialect_named
from ..judging.contradictions import path_contradicts
from ..judging.endings import TAIL, ending, why_not_begun
from ..logs.dialect import Dialect
from ..logs.digest import Digest, as_digest
from ..logs.log_file import LogFile
from ..logs.reading import Fault
from ..logs.series import Window
from .placing import place_in, unpacked


def read_log(
    root: Path, path: Path, dialect_name: str, window: Window, logs: int = 1, other: str | None = None
) -> Digest:
    """`logs` is how many there are, which have to have room in memory together; `other` is why it may as well be in
    another dialect."""
    dialect = dialect_named(dialect_name)
    log = LogFile(path)
    relative = PurePath(path.relative_to(root))
    of_path = {**place_in(root.absolute(), relative), **_own_place(dialect, path)}
    reading = dialect.read(log, window, {name: value for name, value in of_path.items() if name != "batch"})
    facts = {**of_path, **reading.facts}
    if facts.get("batch") != of_path.get("batch", facts.get("batch")):
        reading.remarks.append(f"The path says {of_path['batch']} per device, the log {facts['batch']}: that counts.")
    contradiction = path_contradicts(of_path, reading.contradicted)
    if contradiction is not None:
        reading.faults.insert(0, contradiction)
    if other is not None:
        reading.faults.insert(0, Fault("no_data", other))
    tail = log.tail(TAIL)
    end = ending(tail.encode(), dialect)
    has_trained = any(len(series) for series in reading.series.values())
    cause = why_not_begun(tail) if not has_trained else None if end is None else end.line
    return as_digest(relative, dialect_name, reading, facts, [path], cause, logs, end)


def _own_place(dialect: Dialect, path: Path) -> Mapping[str, Any]:
    """Some look at what is beside the folder of the log."""
    return dialect.place(unpacked(path.absolute())) if dialect.place else {}
