"""manifest.json: what a run was asked to do and where, written before the first job is submitted."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Mapping, Sequence, TypeVar

from .cases import Case

SCHEMA = "rackmark.manifest/1"

_PLAIN_TYPES = {"int": int, "str": str}
_Fields = TypeVar("_Fields")


@dataclass(frozen=True)
class PlannedCase:
    case: str
    nodes: int
    devices_per_node: int
    world_size: int
    batch_per_device: int
    precision: str
    repeats: int


@dataclass(frozen=True)
class Manifest:
    run_id: str
    workload: str
    title: str
    framework: str
    unit: str
    preset: str
    scaling: str
    device: str
    simulated: Sequence[str]
    notes: Sequence[str]
    dialect: str
    warmup: int
    steps: int
    command: str
    started: str
    cases: Sequence[PlannedCase]
    software: Mapping[str, str]
    hosts: Sequence[Mapping[str, Any]]


def read_manifest(run_dir: Path) -> Manifest:
    path = run_dir / "manifest.json"
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"{run_dir} is not the folder of a run: it has no manifest.json.") from None
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"{path} does not have the schema {SCHEMA!r}.")
    cases = [
        _pick(PlannedCase, entry, f"Entry {number} of cases in {path}")
        for number, entry in enumerate(content.get("cases", ()), start=1)
    ]
    _check_cases(cases, path)
    return _pick(Manifest, {**content, "cases": cases}, str(path))


def _pick(kind: type[_Fields], content: Mapping[str, Any], where: str) -> _Fields:
    wanted = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]  # both kinds are dataclasses
    missing = [name for name in wanted if name not in content]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}.")
    for name, annotation in wanted.items():
        if not isinstance(content[name], _PLAIN_TYPES.get(str(annotation), object)):
            raise ValueError(f"{where} has {name}={content[name]!r}, which is not of type {annotation}.")
    return kind(**{name: content[name] for name in wanted})


def _check_cases(cases: Sequence[PlannedCase], path: Path) -> None:
    if not cases:
        raise ValueError(f"{path} lists no cases.")
    names = [planned.case for planned in cases]
    for planned in cases:
        case = Case.parse(planned.case)
        if case != Case(planned.nodes, planned.devices_per_node) or case.world_size != planned.world_size:
            raise ValueError(
                f"{path} contradicts itself: {planned.case} is not {planned.nodes} nodes"
                f" with {planned.devices_per_node} devices each and {planned.world_size} ranks."
            )
        if planned.repeats < 1:
            raise ValueError(f"{path} asks for {planned.repeats} repeats of {planned.case}: it takes at least 1.")
        if names.count(planned.case) > 1:
            raise ValueError(f"{path} lists {planned.case} more than once.")
