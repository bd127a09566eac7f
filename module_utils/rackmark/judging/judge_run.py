"""Judges all repeats of a collected run; its logs are read on all cores where there is much to read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..dialects.catalog import dialect_named
from ..logs.digest import Digest
from ..logs.reading_in_parallel import read_all
from ..logs.series import Window
from ..run.manifest import Manifest
from .alike import judged_alike
from .asked import asked_of
from .judge import judge
from .repeat import rank_log, rank_numbers, read_rank_log, repeat_folder
from .result import Judged


class _Log(NamedTuple):
    path: Path
    rank: int
    dialect: str
    window: Window
    logs: int


def judge_run(run_dir: Path, manifest: Manifest) -> list[Judged]:
    asked = {case.case: asked_of(manifest, case) for case in manifest.cases}
    repeats = [(case.case, repeat) for case in manifest.cases for repeat in range(1, case.repeats + 1)]
    folders = {key: repeat_folder(run_dir, *key) for key in repeats}
    numbers = {key: rank_numbers(folder) for key, folder in folders.items()}
    count = sum(map(len, numbers.values()))
    logs = [
        _Log(rank_log(folders[key], number), number, manifest.dialect, asked[key[0]].window, count)
        for key in repeats
        for number in numbers[key]
    ]
    digests = iter(read_all(_read, logs, [_size(log.path) for log in logs]))
    by_repeat = {key: {number: next(digests) for number in numbers[key]} for key in repeats}
    judged = [judge(folders[key], key[1], asked[key[0]], by_repeat[key]) for key in repeats]
    return judged_alike(run_dir, manifest, judged)


def _read(log: _Log) -> Digest:
    return read_rank_log(log.path, log.rank, dialect_named(log.dialect), log.window, log.logs)


def _size(path: Path) -> int:
    return path.stat().st_size
