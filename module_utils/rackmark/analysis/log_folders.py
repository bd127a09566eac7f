"""Folders that are logs as a whole: what they measure is in several files together.

    trials/ beside hyperparameter*/             an experiment of AIPerf
    throughput_0.json, throughput_1.json ...    a training with ais-bench, or one of its servers where each trains alone

Their files are not offered to the dialects of lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from ..dialects.ais_bench_files import RANK_FILE
from ..logs.whole_log import open_log

AIPERF = "aiperf"
AIS_BENCH = "ais-bench-files"

_SERVER = re.compile(r"\d{1,5}")
_FILE_OF_SERVER = re.compile(r"throughput_\d{1,6}\.json")
_A_NUMBER = re.compile(rb"\s{0,20}[-+]?\d{1,15}(?:\.\d{0,25})?(?:[eE][-+]?\d{1,3})?\s{0,20}")
_LOOKED_AT = 4  # files, of which one has to be what its name says


class LogFolder(NamedTuple):
    """`files` are all of it, `why` is what its dialect was recognised by."""

    path: Path
    dialect: str
    why: str
    files: Sequence[Path]


@dataclass
class _Contents:
    """Of one folder, without those inside it."""

    files: list[Path] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)


_Tree = Mapping[Path, _Contents]


def log_folders(root: Path, files: Sequence[Path]) -> list[LogFolder]:
    tree = _contents(root, files)
    experiments = _experiments(tree, files)
    in_experiments = {path for experiment in experiments for path in experiment.files}
    others = {folder: contents for folder, contents in tree.items() if not in_experiments.intersection(contents.files)}
    return [*experiments, *_trainings(root, others)]


def _contents(root: Path, files: Sequence[Path]) -> _Tree:
    tree: dict[Path, _Contents] = defaultdict(_Contents)
    for path in files:
        folder = path.parent
        is_known = folder in tree
        tree[folder].files.append(path)
        while folder != root and not is_known:
            is_known = folder.parent in tree
            tree[folder.parent].folders.add(folder.name)
            folder = folder.parent
    return tree


def _experiments(tree: _Tree, files: Sequence[Path]) -> list[LogFolder]:
    """AIPerf's report copies what it needs into a folder inside that of the experiment, which may lack the logs."""
    marked = {folder: mark for folder, contents in tree.items() if (mark := _mark(contents))}
    with_logs = {path.parents[2] for path in files if path.name == "trial.log" and len(path.parents) > 2}
    found: list[Path] = []
    for folder in sorted(marked, key=lambda folder: len(folder.parts)):
        copies = [other for other in marked if folder in other.parents and other in with_logs]
        inside_another = any(outer in folder.parents for outer in found)
        if not inside_another and (folder in with_logs or not copies):
            found.append(folder)
    return [
        LogFolder(folder, AIPERF, f"trials beside {marked[folder]}", _below(folder, tree)) for folder in sorted(found)
    ]


def _mark(contents: _Contents) -> str | None:
    if "trials" not in contents.folders:
        return None
    return next((name for name in sorted(contents.folders) if name.startswith("hyperparameter")), None)


def _below(folder: Path, tree: _Tree) -> list[Path]:
    inside = [contents.files for other, contents in tree.items() if other == folder or folder in other.parents]
    return [path for files in inside for path in files]


def _trainings(root: Path, tree: _Tree) -> list[LogFolder]:
    rank_files = {folder: files for folder, contents in tree.items() if (files := _rank_files(contents))}
    of_trainings: dict[Path, list[Path]] = defaultdict(list)
    for folder in sorted(rank_files):
        is_server = folder != root and folder.parent not in rank_files and _is_server(folder, tree[folder])
        of_trainings[folder.parent if is_server else folder].append(folder)
    return [
        LogFolder(
            training,
            AIS_BENCH,
            f"{rank_files[folders[0]][0].name} and what is beside it",
            [path for folder in {training, *folders} if folder in tree for path in tree[folder].files],
        )
        for training, folders in of_trainings.items()
    ]


def _rank_files(contents: _Contents) -> list[Path]:
    named = [path for path in contents.files if RANK_FILE.fullmatch(path.name)]
    return named if any(_is_a_number(path) for path in named[:_LOOKED_AT]) else []


def _is_a_number(path: Path) -> bool:
    try:
        with open_log(path) as file:
            return _A_NUMBER.fullmatch(file.read(100)) is not None
    except OSError:  # reading it will say so
        return False


def _is_server(folder: Path, contents: _Contents) -> bool:
    """A training of several ranks has its ranksize.json beside their files."""
    names = {path.name for path in contents.files}
    return (
        _SERVER.fullmatch(folder.name) is not None
        and "ranksize.json" not in names
        and any(_FILE_OF_SERVER.fullmatch(name) for name in names)
    )
