"""What the path of a log says of how it was made."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.whole_log import PACKED

_CASE = re.compile(r"(\d{1,5})n(\d{1,5})g")
_BATCH = re.compile(r"bz(\d{1,9})")
_DLPERF = re.compile(
    r"(?P<model>.{1,255})_b(?P<batch>\d{1,9})_(?P<precision>[a-z][a-z0-9]{1,15})_(?P<repeat>\d{1,6})", re.DOTALL
)
_OWN_REPEAT = re.compile(r"r(\d{1,6})")
_OWN_RANK = re.compile(r"rank-(\d{1,6})")


def unpacked(path: PurePath) -> PurePath:
    """Its name without what the packer put behind it."""
    return path.with_suffix("") if path.suffix == PACKED and path.stem else path


def is_case(name: str) -> bool:
    return _CASE.fullmatch(name) is not None


def place_in(root: PurePath, path: PurePath) -> Mapping[str, Any]:
    """Facts from a path relative to the tree, and where it names no case from the name of the tree itself."""
    inside = place(path)
    return inside if "nodes" in inside else {**place(PurePath(root.name) / path), "tree": "", **inside}


def place(path: PurePath) -> Mapping[str, Any]:
    """Facts from a path relative to the tree: DLPerf's <N>n<G>g/<model>_b<B>_<dtype>_<i>.log and the folders of our
    own runs, cases/<case>/r<k>/rank-<r>.log. `tree` is what comes before the folder of the case."""
    path = unpacked(path)
    facts: dict[str, Any] = {}
    for index, part in enumerate(path.parts[:-1]):
        if match := _CASE.fullmatch(part):
            facts.update(nodes=int(match[1]), devices_per_node=int(match[2]), tree="/".join(path.parts[:index]))
        elif match := _BATCH.fullmatch(part):
            facts["batch"] = int(match[1])
    if match := _DLPERF.fullmatch(path.stem):
        facts.update(
            model=match["model"], batch=int(match["batch"]), precision=match["precision"], repeat=int(match["repeat"])
        )
    elif (rank := _OWN_RANK.fullmatch(path.stem)) and (repeat := _OWN_REPEAT.fullmatch(path.parent.name)):
        facts.update(rank=int(rank[1]), repeat=int(repeat[1]))
    return {name: value for name, value in facts.items() if value != 0 or name == "rank"}


def dialect_at(path: PurePath, dialects: Sequence[Dialect]) -> Dialect | None:
    """The one whose programs write the log of a rank there, whatever it holds. Some look beside it, so `path` has to be
    absolute."""
    for dialect in dialects:
        facts = dialect.place(unpacked(path)) if dialect.place else {}
        if {"rank", "repeat", "nodes"} <= facts.keys():
            return dialect
    return None
