"""The dialects of folders that are logs as a whole, beside those of lines in a file."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Callable, Mapping, Sequence

from ..dialects import catalog
from ..dialects.ais_bench_files import read_rank_files
from ..logs.dialect import Dialect
from ..logs.digest import Digest, as_digest
from ..logs.reading import Fault, Fold, Reading
from ..run.cases import Case
from . import aiperf_source
from .log_folders import AIPERF, AIS_BENCH, LogFolder
from .options import Options
from .placing import place

_AIS_BENCH = Dialect(name=AIS_BENCH, title="ais-bench (files of its ranks)", kinds=(), fold=Fold, warmup=0)
_FOLDERS: Mapping[str, Dialect] = {one.name: one for one in (aiperf_source.DIALECT, _AIS_BENCH)}


def dialect_named(name: str) -> Dialect:
    if name in _FOLDERS:
        return _FOLDERS[name]
    if name not in known_names():
        raise ValueError(f"There is no log dialect {name!r}: the known ones are {', '.join(known_names())}.")
    return catalog.dialect_named(name)


def known_names() -> Sequence[str]:
    return sorted([*catalog.known_names(), *_FOLDERS])


def is_of_folders(name: str) -> bool:
    return name in _FOLDERS


def digest_folder(root: Path, folder: LogFolder, options: Options) -> Digest:
    below = PurePath(folder.path.relative_to(root))
    facts = place(below / folder.path.name)
    reading = _READERS[folder.dialect](folder.path, facts, options)
    path = below if below.parts else PurePath(folder.path.name)
    return as_digest(path, folder.dialect, reading, {**facts, **reading.facts}, folder.files)


def _read_experiment(path: Path, facts: Mapping[str, int], options: Options) -> Reading:
    return aiperf_source.read_score(path, options)


def _read_training(path: Path, facts: Mapping[str, int], options: Options) -> Reading:
    """Without its ranksize.json only the operator or the path says how many ranks there were."""
    nodes, devices = facts.get("nodes"), facts.get("devices_per_node")
    if options.case is not None:
        nodes, devices = options.case.nodes, options.case.devices_per_node
    reading = read_rank_files(path, nodes * devices if nodes and devices else None)
    if reading is None:
        raise ValueError(f"{path} changed while it was read: its files are gone.")
    of_one_server = reading.facts.get("nodes")
    if of_one_server and options.case not in (None, Case(1, reading.facts["devices_per_node"])):
        reason = f"Every server has trained for itself: the throughput is that of one, not of {options.case.name}."
        reading.faults.append(Fault("wrong_world_size", reason))
    return reading


_READERS: Mapping[str, Callable[[Path, Mapping[str, int], Options], Reading]] = {
    AIPERF: _read_experiment,
    AIS_BENCH: _read_training,
}
