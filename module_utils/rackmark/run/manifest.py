"""manifest.json: what a run was asked to do and where, written before the first job is submitted."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Mapping, Sequence, TypeVar

from .cases import Case
from .measures import Measure, default_measure, recorded_measures
from .rules import Condition, condition

SCHEMA = "rackmark.manifest/1"

_PLAIN_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "int | None": (int, type(None)),
    "str": (str,),
    "str | None": (str, type(None)),
    "Mapping[str, Any]": (dict,),
}
_AND = " and "
_Fields = TypeVar("_Fields")
_Spec = TypeVar("_Spec", bound="RunSpec")


@dataclass(frozen=True)
class PlannedCase:
    """`batch_per_device` and `precision` are None where a run has none, or where its logs do not tell them."""

    case: str
    nodes: int
    devices_per_node: int
    world_size: int
    batch_per_device: int | None
    precision: str | None
    repeats: int


@dataclass(frozen=True)
class RunSpec:
    """What a run measures: the part that its plan and its manifest share.

    `baseline` is what speedup compares with; None means the case with one device. `settings` holds the sizes of the
    preset, as in {"image_size": 224}. `data` is "synthetic" or says what was read. `dlperf_model` names the model in
    DLPerf's result file. `warmup` and `steps` are 0 where the program counts none. `rules` are those in force,
    `require_target` says whether a target that is missed fails a repeat, and `data_kind` what a dataset has to look
    like. Nodes that are `independent` go on without one that is lost, `result` says what holds the numbers, `duration`
    are the seconds that a search lasts. Defaults are what runs were before they could say otherwise.
    """

    run_id: str
    workload: str
    title: str
    framework: str
    unit: str
    preset: str
    scaling: str
    device: str
    dialect: str
    warmup: int
    steps: int
    settings: Mapping[str, Any]
    data: str
    baseline: str | None
    cases: Sequence[PlannedCase]
    dlperf_model: str | None = None
    ranks: str = "device"
    meet: str = "torch"
    measure: str = "steps"
    measures: Mapping[str, Measure] = field(default_factory=dict)
    headline: str = "throughput"
    rules: Sequence[Condition] = ()
    rules_profile: str | None = None
    target: Condition | None = None
    require_target: bool = False
    data_kind: str = "imagefolder"
    independent: bool = False
    result: str = "logs"
    duration: float = 0

    def __post_init__(self) -> None:
        if not self.measures:
            throughput = default_measure(self.measure, self.unit)
            object.__setattr__(self, "measures", {throughput.name: throughput})


@dataclass(frozen=True)
class Manifest(RunSpec):
    """`hosts` may be empty: `hosts_of_run` then asks what the jobs saw.

    `logs` says where the numbers are from, if they are from logs of other tools: {"folder", "files", "dialect",
    "recognised_by", "profile"}. `code_digest` is of the program's files as the run was begun with them.
    """

    launcher: str = ""
    runtime: str = ""
    command: str = ""
    started: str = ""
    simulated: Sequence[str] = ()
    notes: Sequence[str] = ()
    software: Mapping[str, Any] = field(default_factory=dict)
    hosts: Sequence[Mapping[str, Any]] = ()
    logs: Mapping[str, Any] | None = None
    code_digest: str | None = None


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
    manifest = read_spec(Manifest, content, str(path))
    _check_cases(manifest.cases, path)
    names = [planned.case for planned in manifest.cases]
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
            own = seen.setdefault(node, {"name": node})
            own.update({name: _with_earlier(own.get(name), fact) for name, fact in facts.items()})
    return [seen[node] for node in sorted(seen, key=_numbers_by_value)]


def _with_earlier(earlier: object, fact: object) -> object:
    """Versions of one node that differ from repeat to repeat are all said; of numbers and lists the last one counts."""
    if not isinstance(earlier, str) or not isinstance(fact, str):
        return earlier if fact is None else fact
    return earlier if fact in earlier.split(_AND) else f"{earlier}{_AND}{fact}"


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


def read_spec(kind: type[_Spec], content: Mapping[str, Any], where: str) -> _Spec:
    """From JSON, with sentences that begin with `where`; keys that are not known are passed over."""
    values = dict(content)
    try:
        values["cases"] = [
            _pick(PlannedCase, entry, f"Entry {number} of cases in {where}")
            for number, entry in enumerate(content.get("cases", ()), start=1)
        ]
        values["measures"] = recorded_measures(content.get("measures") or {})
        values["rules"] = [condition(rule) for rule in content.get("rules") or ()]
        values["target"] = condition(content["target"]) if content.get("target") else None
    except (TypeError, AttributeError, KeyError):
        raise ValueError(f"{where} has cases, measures, rules or a target of another form.") from None
    return _pick(kind, values, where)


def spec_data(spec: RunSpec) -> dict[str, Any]:
    """For JSON, as `read_spec` reads it."""
    return {
        **asdict(spec),
        "measures": {name: measure.data() for name, measure in spec.measures.items()},
        "rules": [str(rule) for rule in spec.rules],
        "target": None if spec.target is None else str(spec.target),
    }


def _pick(kind: type[_Fields], content: Mapping[str, Any], where: str) -> _Fields:
    known = fields(kind)  # type: ignore[arg-type]  # all kinds are dataclasses
    required = {each.name for each in known if each.default is MISSING and each.default_factory is MISSING}
    wanted = {each.name: str(each.type) for each in known if each.name in required or each.name in content}
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
