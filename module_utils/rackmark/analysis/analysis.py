"""From a folder of logs to series with numbers, in the shapes that the report of a run is made of."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Iterable, Mapping, NamedTuple, Sequence

from ..dialects.catalog import DIALECTS, dialect_named, known_names
from ..dialects.dialect import Dialect, recognise
from ..dialects.log_file import LogFile
from ..dialects.series import Window
from ..run.manifest import Manifest, PlannedCase
from .arrangement import SeriesOfLogs, arrange
from .digest import Digest, digest
from .judging import JudgedLogs, judge_logs
from .log_tree import LogTree
from .options import Options

_SMALL = 4 << 20  # bytes that one process reads before another has started
_SHOWN_LINES = 3


class ReadLog(NamedTuple):
    """`why` is the line by which the dialect was recognised; without a digest the log is in no known one."""

    path: Path
    why: str
    digest: Digest | None


@dataclass(frozen=True)
class Analysis:
    """One series of logs. `judged` by case, in the order of the manifest's cases."""

    name: str
    manifest: Manifest
    judged: Mapping[str, Sequence[JudgedLogs]]
    logs: Sequence[Digest]
    remarks: Sequence[str]


def read_logs(tree: LogTree, dialect_name: str, options: Options) -> list[ReadLog]:
    """With `auto` each log in the dialect that it is recognised as; on all cores where there is much to read."""
    if dialect_name != "auto":
        dialect_named(dialect_name)
    sizes = {path: path.stat().st_size for path in tree.files}
    read = partial(_read_log, tree.root, dialect_name, options)
    workers = min(os.cpu_count() or 1, len(tree.files))
    if workers == 1 or sum(sizes.values()) < _SMALL:
        return [read(path) for path in tree.files]
    largest_first = sorted(tree.files, key=lambda path: -sizes[path])
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        by_path = dict(zip(largest_first, pool.map(read, largest_first, chunksize=1)))
    return [by_path[path] for path in tree.files]


def _read_log(root: Path, dialect_name: str, options: Options, path: Path) -> ReadLog:
    dialects = DIALECTS if dialect_name == "auto" else [dialect_named(dialect_name)]
    recognised = recognise(LogFile(path), dialects)
    if recognised is None:
        return ReadLog(path, "", None)
    dialect = recognised.dialect
    return ReadLog(path, recognised.line, digest(root, path, dialect.name, options.window(dialect)))


def analyze(tree: LogTree, read: Sequence[ReadLog], options: Options, folder: str) -> list[Analysis]:
    """`folder` is how the operator names the tree."""
    known = [one.digest for one in read if one.digest is not None]
    if not known:
        raise ValueError(_nothing_recognised(tree, folder))
    why = {one.digest.dialect: one.why for one in reversed(read) if one.digest is not None}
    unknown = [one.path.relative_to(tree.root) for one in read if one.digest is None]
    passed_over = [*_counted("no known log", unknown), *_counted("a link", tree.links)]
    return [
        _analysis(series, options, folder, why[series.key.dialect], [*series.remarks, *passed_over])
        for series in arrange(known, options)
    ]


def _analysis(
    series: SeriesOfLogs, options: Options, folder: str, recognised_by: str, remarks: Sequence[str]
) -> Analysis:
    dialect = dialect_named(series.key.dialect)
    window = options.window(dialect)
    logs = [one for repeats in series.cases.values() for repeat in repeats for one in repeat.logs]
    judged = {
        case.name: [judge_logs(case, repeat, dialect, window, series.key.batch) for repeat in repeats]
        for case, repeats in series.cases.items()
    }
    manifest = _manifest(series, dialect, window, options, logs, judged, folder, recognised_by)
    return Analysis(
        manifest.run_id,
        manifest,
        judged,
        logs,
        [*remarks, *_window_remarks(judged, window), *_remarks_of_logs(logs)],
    )


def _manifest(
    series: SeriesOfLogs,
    dialect: Dialect,
    window: Window,
    options: Options,
    logs: Sequence[Digest],
    judged: Mapping[str, Sequence[JudgedLogs]],
    folder: str,
    recognised_by: str,
) -> Manifest:
    key = series.key
    first, last = _usual_window(judged, window)
    facts = {name: value for one in reversed(logs) for name, value in one.facts.items()}
    words = [Path(folder).name, key.tree, key.dialect, key.model, f"b{key.batch}" if key.batch else None, key.precision]
    return Manifest(
        run_id=_name(words),
        workload=key.model or dialect.name,
        title=dialect.title,
        framework=str(facts.get("framework", dialect.title)),
        unit=str(facts.get("unit", dialect.unit)),
        preset="logs",
        scaling="weak",
        device="devices the logs do not name",
        simulated=[],
        notes=[],
        dialect=dialect.name,
        warmup=first,
        steps=max(last - first, 0),
        settings={},
        data="as the logs have it",
        launcher="logs",
        runtime="logs",
        baseline=options.baseline,
        command=f"logs={folder}",
        started=_started(logs),
        cases=[
            PlannedCase(
                case=case.name,
                nodes=case.nodes,
                devices_per_node=case.devices_per_node,
                world_size=case.world_size,
                batch_per_device=key.batch,
                precision=key.precision or "unknown",
                repeats=len(repeats),
            )
            for case, repeats in series.cases.items()
        ],
        software={},
        hosts=[],
        dlperf_model=key.model,
        logs={
            "folder": folder,
            "files": len(logs),
            "dialect": dialect.title,
            "recognised_by": recognised_by,
            "profile": options.profile,
        },
    )


def _usual_window(judged: Mapping[str, Sequence[JudgedLogs]], window: Window) -> tuple[int, int]:
    """What most ok repeats were measured over."""
    windows = Counter(_windows(judged))
    if not windows:
        return window.warmup, window.last or window.warmup
    return windows.most_common(1)[0][0]


def _window_remarks(judged: Mapping[str, Sequence[JudgedLogs]], window: Window) -> list[str]:
    """Lines cover several steps, and a window can only begin and end where a line does."""
    usual = _usual_window(judged, window)
    others = sorted({one for one in _windows(judged) if one != usual})
    remarks = []
    if _windows(judged) and (usual[0] != window.warmup or (window.last is not None and usual[1] != window.last)):
        asked = f"after step {window.warmup}" + (f" up to step {window.last}" if window.last is not None else "")
        remarks.append(
            f"Measured are the steps {usual[0] + 1} to {usual[1]}: the lines of the logs begin and end there, asked was"
            f" {asked}."
        )
    if others:
        spans = ", ".join(f"{first + 1} to {last}" for first, last in others[:5])
        remarks.append(f"Some repeats were measured over other steps than {usual[0] + 1} to {usual[1]}: {spans}.")
    return remarks


def _windows(judged: Mapping[str, Sequence[JudgedLogs]]) -> list[tuple[int, int]]:
    return [
        (int(rank.first), int(rank.last))
        for repeats in judged.values()
        for one in repeats
        for rank in one.ranks[:1]
        if rank.steps
    ]


def _remarks_of_logs(logs: Sequence[Digest]) -> list[str]:
    """Each once, with the first log that has it."""
    by_text: dict[str, list[Digest]] = defaultdict(list)
    for one in logs:
        for remark in one.remarks:
            by_text[remark].append(one)
    return [
        f"{found[0].path}{f' and {len(found) - 1} more' if len(found) > 1 else ''}: {text}"
        for text, found in by_text.items()
    ]


def _counted(what: str, paths: Sequence[Path]) -> list[str]:
    if not paths:
        return []
    names = ", ".join(str(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else "")
    return [f"{len(paths)} {'file is' if len(paths) == 1 else 'files are'} {what} and left out: {names}."]


def _started(logs: Sequence[Digest]) -> str:
    """When the first log was finished, by its own word where its lines have dates: a folder has no beginning."""
    finished = [rank.finished for one in logs for rank in one.ranks.values() if rank.finished is not None]
    first = min(finished or [one.modified for one in logs])
    return datetime.fromtimestamp(first, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _name(words: Iterable[str | None]) -> str:
    text = "-".join(word for word in words if word)
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in text).strip(".-")


def _nothing_recognised(tree: LogTree, folder: str) -> str:
    shown = []
    for path in tree.files[:_SHOWN_LINES]:
        lines = [line for line in LogFile(path).head(4096).decode(errors="replace").splitlines() if line.strip()]
        shown.append(
            f"{path.relative_to(tree.root)}: {lines[0][:120]!r}" if lines else f"{path.relative_to(tree.root)}"
        )
    return (
        f"None of the {len(tree.files)} files in {folder} has lines of a known dialect. Looked at were, with their"
        f" first line: {'; '.join(shown)}. The known dialects are {', '.join(known_names())}."
    )
