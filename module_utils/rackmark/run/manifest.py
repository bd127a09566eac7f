"""manifest.json: what a run was asked to do and where, written before the first job is submitted."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Mapping, Sequence, TypeVar

from .cases import Case

SCHEMA = "rackmark.manifest/1"

_PLAIN_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "int | None": (int, type(None)),
    "str": (str,),
    "str | None": (str, type(None)),
    "Mapping[str, Any]": (dict,),
}
_Fields = TypeVar("_Fields")


@dataclass(frozen=True)
class PlannedCase:
    case: str
    nodes: int
    devices_per_node: int
    world_size: int
    batch_per_device: int | None
    precision: str
    repeats: int


@dataclass(frozen=True)
class Manifest:
    """`baseline` is what speedup compares with; None means the case with one device.

    `settings` holds the sizes of the preset, as in {"image_size": 224}. `data` is "synthetic" or says what was read.
    `hosts` may be empty: `hosts_of_run` then asks what the jobs saw.
    `dlperf_model` names the model in DLPerf's result file. `logs` says where the numbers are from, if they are from
    logs of other tools: {"folder", "files", "dialect", "recognised_by", "profile"}. Only these may lack the batch.
    """

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
    settings: Mapping[str, Any]
    data: str
    launcher: str
    runtime: str
    baseline: str | None
    command: str
    started: str
    cases: Sequence[PlannedCase]
    software: Mapping[str, Any]
    hosts: Sequence[Mapping[str, Any]]
    dlperf_model: str | None = None
    logs: Mapping[str, Any] | None = None


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
    manifest = _pick(Manifest, {**content, "cases": cases}, str(path))
    names = [planned.case for planned in cases]
    if manifest.baseline is not None and manifest.baseline not in names:
        raise ValueError(f"{path} has the baseline {manifest.baseline}, which is none of its cases {', '.join(names)}.")
    return manifest


def hosts_of_run(run_dir: Path, manifest: Manifest) -> Sequence[Mapping[str, Any]]:
    """The hosts the manifest names, else those that the preflights of the repeats saw."""
    if manifest.hosts:
        return manifest.hosts
    seen: dict[str, dict[str, Any]] = {}
    for path in sorted(run_dir.glob("cases/*/r*/preflight.json")):
        for node, facts in _nodes(path).items():
            seen.setdefault(node, {"name": node}).update(facts)
    return [seen[node] for node in sorted(seen, key=_numbers_by_value)]


def _nodes(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """A preflight that was cut off while it wrote is no reason to have no report."""
    try:
        nodes = json.loads(path.read_text()).get("nodes")
    except (OSError, ValueError, AttributeError):
        return {}
    return {node: facts for node, facts in nodes.items() if isinstance(facts, dict)} if isinstance(nodes, dict) else {}


def _numbers_by_value(name: str) -> list[tuple[int, str]]:
    """node2 before node10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _pick(kind: type[_Fields], content: Mapping[str, Any], where: str) -> _Fields:
    known = fields(kind)  # type: ignore[arg-type]  # both kinds are dataclasses
    wanted = {field.name: str(field.type) for field in known if field.default is MISSING or field.name in content}
    missing = [name for name in wanted if name not in content]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}.")
    for name, annotation in wanted.items():
        if not isinstance(content[name], _PLAIN_TYPES.get(annotation, (object,))):
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
