"""From a folder of logs to series with numbers, in the shapes that the report of a run is made of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Callable, Mapping, NamedTuple, Sequence, Union

from ..dialects.catalog import DIALECTS
from ..judging.judge_logs import judge_logs
from ..judging.result import Judged
from ..logs.dialect import Dialect, recognise
from ..logs.digest import Digest
from ..logs.log_file import LogFile
from ..logs.printable import printable
from ..logs.reading_in_parallel import read_all
from ..run.manifest import Manifest
from .arrangement import SeriesOfLogs, arrange
from .copies import without_copies
from .energy_source import is_power_log, with_energies
from .folder_dialects import dialect_named, digest_folder, is_of_folders, known_names
from .log_folders import LogFolder
from .log_tree import LogTree
from .manifest_of_logs import manifest_of, window_remarks
from .measures_of_logs import measures_of_logs
from .options import Options
from .placing import dialect_at
from .read_log import read_log
from .systems import systems_apart
from .unreadable import unreadable_repeats

_SHOWN_LINES = 3
_LOOKED_AT = 20
_BY_PLACE = "the names of its folders, as no line of it is known"

_Log = Union[Path, LogFolder]


class ReadLog(NamedTuple):
    """`why` is the line by which the dialect was recognised, empty where it was by the place of the log; without a
    digest the log is in no known one, or the log of a power meter, or `error` says why it could not be read."""

    path: Path
    why: str
    digest: Digest | None
    is_of_meter: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Analysis:
    """One series of logs. `judged` by case, in the order of the manifest's cases; `refused` are sentences on logs
    of the tree that are in no series, though they should be."""

    name: str
    manifest: Manifest
    judged: Mapping[str, Sequence[Judged]]
    logs: Sequence[Digest]
    remarks: Sequence[str]
    refused: Sequence[str] = ()


def read_logs(
    tree: LogTree, dialect_name: str, options: Options, meanwhile: Callable[[], None] | None = None
) -> list[ReadLog]:
    """With `auto` each log in the dialect that it is recognised as; on all cores where there is much to read, and then
    `meanwhile` is done beside it."""
    if dialect_name != "auto":
        dialect_named(dialect_name)
    logs = _logs(tree, dialect_name)
    read = partial(_read_log, tree.root, dialect_name, replace(options, own_window=tree.own_window), len(logs))
    return _of_dialect(read_all(read, logs, [_size(log) for log in logs], meanwhile), dialect_name)


def _of_dialect(read: list[ReadLog], dialect_name: str) -> list[ReadLog]:
    """Refuses a dialect that no log is in, where another is."""
    if dialect_name == "auto" or any(one.digest is not None for one in read):
        return read
    for one in read[:_LOOKED_AT]:
        other = recognise(LogFile(one.path), DIALECTS) if one.path.is_file() else None
        if other is not None:
            raise ValueError(
                f"No log has lines of the dialect {dialect_name}. {one.path.name} looks like {other.dialect.name}, by"
                f" this line: {other.line!r}. Leave out -e dialect= to have it recognised."
            )
    return read


def _logs(tree: LogTree, dialect_name: str) -> list[_Log]:
    """Where the operator names another dialect than that of a folder, its files are logs like others."""
    folders = [folder for folder in tree.folders if dialect_name in ("auto", folder.dialect)]
    files = [path for folder in tree.folders if folder not in folders for path in folder.files]
    return [*folders, *tree.files, *files]


def _size(log: _Log) -> int:
    """0 where it is gone by now, which reading it will say."""
    try:
        return sum(path.stat().st_size for path in (log.files if isinstance(log, LogFolder) else [log]))
    except OSError:
        return 0


def _read_log(root: Path, dialect_name: str, options: Options, logs: int, log: _Log) -> ReadLog:
    try:
        return _read(root, dialect_name, options, logs, log)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return ReadLog(log.path if isinstance(log, LogFolder) else log, "", None, error=printable(str(why).rstrip(".")))


def _read(root: Path, dialect_name: str, options: Options, logs: int, log: _Log) -> ReadLog:
    if isinstance(log, LogFolder):
        return ReadLog(log.path, log.why, digest_folder(root, log, options))
    if is_power_log(log):
        return ReadLog(log, "", None, is_of_meter=True)
    candidates = [] if is_of_folders(dialect_name) else _candidates(dialect_name)
    recognised = recognise(LogFile(log), candidates) if candidates else None
    dialect = recognised.dialect if recognised else dialect_at(log.absolute(), candidates)
    if dialect is None:
        return ReadLog(log, "", None)
    why = printable(recognised.line) if recognised else ""
    other = recognised.other if recognised else None
    return ReadLog(log, why, read_log(root, log, dialect.name, options.window(dialect), logs, other))


def _candidates(dialect_name: str) -> Sequence[Dialect]:
    return DIALECTS if dialect_name == "auto" else [dialect_named(dialect_name)]


def analyze(tree: LogTree, read: Sequence[ReadLog], options: Options, folder: str) -> list[Analysis]:
    """`folder` is how the operator names the tree."""
    options = replace(options, own_window=tree.own_window)
    known = [one.digest for one in read if one.digest is not None]
    if not known:
        wrong = next((one.error for one in read if one.error is not None), None)
        raise ValueError(_nothing_recognised(read, tree.root, folder) if wrong is None else f"{wrong}.")
    why = {one.digest.dialect: one.why for one in reversed(read) if one.digest is not None and one.why}
    meters = [one.path.relative_to(tree.root) for one in read if one.is_of_meter]
    unknown = [one.path.relative_to(tree.root) for one in read if one.digest is None and not one.is_of_meter]
    logs, without_log = with_energies(tree.root, known, meters)
    failed, unknown = unreadable_repeats(tree.root, known, unknown)
    errors = {one.path.relative_to(tree.root): one.error for one in read if one.error is not None}
    passed_over = [
        *tree.remarks,
        *without_log,
        *_counted("no known log", [path for path in unknown if path not in errors]),
        *_counted("a link", tree.links),
    ]
    arrangement = arrange([*logs, *failed], options)
    refused = [
        *arrangement.refused,
        *(f"{printable(path)} is left out: {errors[path]}." for path in unknown if path in errors),
    ]
    arranged = [one for series in arrangement.series for one in systems_apart(without_copies(tree.root, series))]
    if options.baseline is not None and not any(options.baseline in series.cases for series in arranged):
        cases = sorted({case.name for series in arranged for case in series.cases})
        raise ValueError(f"There is no case {options.baseline.name} to compare with: there are {', '.join(cases)}.")
    return [
        replace(
            _analysis(series, options, folder, why.get(series.key.dialect, _BY_PLACE), [*series.remarks, *passed_over]),
            refused=refused,
        )
        for series in arranged
    ]


def _analysis(
    series: SeriesOfLogs, options: Options, folder: str, recognised_by: str, remarks: Sequence[str]
) -> Analysis:
    dialect = dialect_named(series.key.dialect)
    window = options.window(dialect)
    logs = [one for repeats in series.cases.values() for repeat in repeats for one in repeat.logs]
    measures = measures_of_logs(dialect, logs)
    judged = {
        case.name: [
            judge_logs(case, repeat.number, repeat.logs, dialect, window, series.key.batch, measures)
            for repeat in repeats
        ]
        for case, repeats in series.cases.items()
    }
    manifest = manifest_of(series, dialect, measures, window, options, logs, judged, folder, recognised_by)
    return Analysis(
        manifest.run_id,
        manifest,
        judged,
        logs,
        [*remarks, *window_remarks(judged, window), *_remarks_of_logs(logs)],
    )


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
    names = ", ".join(printable(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else "")
    return [f"{len(paths)} {'file is' if len(paths) == 1 else 'files are'} {what} and left out: {names}."]


def _nothing_recognised(read: Sequence[ReadLog], root: Path, folder: str) -> str:
    logs = [one for one in read if not one.is_of_meter]
    shown = [f"{printable(one.path.relative_to(root))}{_first_line(one)}" for one in logs[:_SHOWN_LINES]]
    looked_at = f" Looked at were, with their first line: {'; '.join(shown)}." if shown else ""
    meters = len(read) - len(logs)
    only_power = f" The logs of power meters among them, {meters}, go with those of a training." if meters else ""
    return (
        f"None of the {len(read)} files in {folder} has lines of a known dialect.{looked_at}{only_power} The known"
        f" dialects are {', '.join(known_names())}."
    )


def _first_line(log: ReadLog) -> str:
    if log.error is not None:
        return f": {log.error}"
    lines = [line for line in LogFile(log.path).head(4096).decode(errors="replace").splitlines() if line.strip()]
    return f": {lines[0][:120]!r}" if lines else ""
