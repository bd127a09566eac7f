"""From what an operator asks for to the jobs of a run."""

from __future__ import annotations

import shlex
import string
from dataclasses import asdict, dataclass, field
from typing import Any, Iterable, Mapping, Sequence, TypeVar

from .cases import Case, CaseRequest, choose_cases
from .manifest import PlannedCase
from .place import Place

_Value = TypeVar("_Value")

SYNTHETIC = "synthetic"
SCALINGS = ("strong", "weak")


@dataclass(frozen=True)
class Asked:
    """What the operator gave; an empty string means the preset's or the workload's value.

    `settings` replace single sizes of the preset, `flags` are added to the training command.
    """

    nodes: str = ""
    cases: str = ""
    repeats: str = ""
    batch: str = ""
    precision: str = ""
    framework: str = ""
    preset: str = "full"
    scaling: str = ""
    baseline: str = ""
    data: str = ""
    steps: str = ""
    warmup: str = ""
    minutes: str = ""
    stalled_after: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: Sequence[str] = ()


@dataclass(frozen=True)
class Job:
    """`arguments` are the training script, in the run's folder `code`, and its flags."""

    name: str
    case: str
    repeat: int
    nodes: int
    devices_per_node: int
    folder: str
    arguments: list[str]


@dataclass(frozen=True)
class RunPlan:
    run_id: str
    workload: str
    title: str
    framework: str
    unit: str
    preset: str
    scaling: str
    baseline: str | None
    dialect: str
    dlperf_model: str | None
    hardware: str | None
    device: str
    accelerator: str
    resource: str
    cpus: int | None
    data: str
    warmup: int
    steps: int
    minutes: int
    stalled_after: int
    settings: dict[str, Any]
    cases: list[PlannedCase]
    command: str

    @property
    def jobs(self) -> list[Job]:
        return [
            Job(
                name=f"rackmark:{self.run_id}:{case.case}:{repeat}",
                case=case.case,
                repeat=repeat,
                nodes=case.nodes,
                devices_per_node=case.devices_per_node,
                folder=f"cases/{case.case}/r{repeat}",
                arguments=self._arguments(case),
            )
            for case in self.cases
            for repeat in range(1, case.repeats + 1)
        ]

    def _arguments(self, case: PlannedCase) -> list[str]:
        values = {
            **self.settings,
            "batch": case.batch_per_device,
            "precision": case.precision,
            "device": self.device,
            "steps": self.steps,
            "warmup": self.warmup,
            "data": self.data,
        }
        return [word.format(**values) for word in shlex.split(self.command)]

    def sentence(self) -> str:
        cases = ", ".join(f"{case.case} x{case.repeats}" for case in self.cases)
        sizes = sorted({case.batch_per_device for case in self.cases if case.batch_per_device is not None})
        batches = " to ".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
        return (
            f"{self.title} with {self.framework} on {self.device}, {len(self.jobs)} jobs: {cases}."
            f" Each device trains batches of {batches}"
            f" in {self.cases[0].precision}, {self.warmup} to warm up and {self.steps} measured steps."
        )

    def table(self) -> list[str]:
        """The cases for a terminal, with what they may cost at most."""
        lines = [f"{'case':<8}{'jobs':>6}{'ranks':>7}{'batch/device':>14}{'node-hours, at most':>21}"]
        for case in self.cases:
            hours = case.repeats * case.nodes * self.minutes / 60
            lines.append(
                f"{case.case:<8}{case.repeats:>6}{case.world_size:>7}{case.batch_per_device:>14}{hours:>21.1f}"
            )
        total = sum(case.repeats * case.nodes * self.minutes / 60 for case in self.cases)
        return [*lines, f"{'all':<8}{len(self.jobs):>6}{'':>21}{total:>21.1f}"]


def make_plan(workload: Mapping[str, Any], asked: Asked, run_id: str, place: Place) -> RunPlan:
    requests = _requests(workload, asked, place)
    framework = _framework(workload, asked, requests)
    declared = workload["frameworks"][framework]
    preset = _one_of("preset", asked.preset, workload["presets"])
    precision = asked.precision or str(preset["precision"])
    precisions = declared["precisions"][place.device]
    if precision not in precisions:
        raise ValueError(
            f"precision={precision} is unknown to {framework} on {place.device}: use {_listed(precisions)}."
        )
    scaling = asked.scaling or str(workload["scaling"])
    if scaling not in SCALINGS:
        raise ValueError(f"scaling={scaling} is unknown: use {_listed(SCALINGS)}.")
    batch = _number("batch", asked.batch or _for_precision(preset["batch"], precision))
    repeats = _number("repeats", asked.repeats or preset["repeats"])
    plan = RunPlan(
        run_id=run_id,
        workload=str(workload["name"]),
        title=str(workload["title"]),
        framework=framework,
        unit=str(workload["unit"]),
        preset=asked.preset,
        scaling=scaling,
        baseline=_baseline(asked, requests),
        dialect=str(declared["dialect"]),
        dlperf_model=declared.get("dlperf_model"),
        hardware=next((request.hardware for request in requests if request.hardware), None),
        device=place.device,
        accelerator=place.accelerator,
        resource=place.resource,
        cpus=place.cpus,
        data=asked.data or SYNTHETIC,
        warmup=_number("warmup", asked.warmup or preset["warmup"], least=0),
        steps=_number("steps", asked.steps or preset["steps"]),
        minutes=_number("minutes", asked.minutes or preset["minutes"]),
        stalled_after=_number("stalled_after", asked.stalled_after or preset["stalled_after"]),
        settings=_settings(asked, preset.get("settings", {})),
        cases=[_planned(request, batch, precision, repeats, scaling) for request in requests],
        command=_command(declared, asked),
    )
    _check_command(plan)
    return plan


def as_data(plan: RunPlan) -> dict[str, Any]:
    return {**asdict(plan), "jobs": [asdict(job) for job in plan.jobs]}


def _requests(workload: Mapping[str, Any], asked: Asked, place: Place) -> list[CaseRequest]:
    preset = _one_of("preset", asked.preset, workload["presets"])
    cases = asked.cases or ("" if asked.nodes else str(preset.get("cases", "")))
    requests = choose_cases(asked.nodes or None, cases or None, place.nodes, place.devices_per_node)
    names = (str(workload["name"]), *workload.get("also_called", ()))
    for request in requests:
        if request.model is not None and request.model not in names:
            raise ValueError(f"Case {request.case.name} is for the model {request.model!r}: here use {_listed(names)}.")
    return requests


def _framework(workload: Mapping[str, Any], asked: Asked, requests: Iterable[CaseRequest]) -> str:
    named = {request.framework for request in requests if request.framework}
    if asked.framework:
        named.add(asked.framework)
    if len(named) > 1:
        raise ValueError(f"A run has one framework, and {_listed(named)} were given: start one run for each.")
    framework = named.pop() if named else str(workload["default_framework"])
    _one_of("framework", framework, workload["frameworks"])
    return framework


def _baseline(asked: Asked, requests: Iterable[CaseRequest]) -> str | None:
    if not asked.baseline:
        return None
    name = Case.parse(asked.baseline).name
    names = [request.case.name for request in requests]
    if name not in names:
        raise ValueError(f"baseline={name} is not a case of this run: use one of {', '.join(names)}.")
    return name


def _planned(request: CaseRequest, batch: int, precision: str, repeats: int, scaling: str) -> PlannedCase:
    """With strong scaling the batch is that of all devices together, and each gets its part."""
    case = request.case
    if scaling == "strong" and batch % case.world_size:
        raise ValueError(
            f"batch={batch} cannot be divided among the {case.world_size} devices of {case.name}:"
            " with scaling=strong give a multiple of every case's devices."
        )
    return PlannedCase(
        case=case.name,
        nodes=case.nodes,
        devices_per_node=case.devices_per_node,
        world_size=case.world_size,
        batch_per_device=batch // case.world_size if scaling == "strong" else batch,
        precision=precision,
        repeats=request.repeats or repeats,
    )


def _command(declared: Mapping[str, Any], asked: Asked) -> str:
    if asked.data and "data_options" not in declared:
        raise ValueError(f"data={asked.data} cannot be used: the workload has no `data_options` to pass it on with.")
    data_options = [str(declared["data_options"])] if asked.data else []
    flags = shlex.join(asked.flags).replace("{", "{{").replace("}", "}}")
    return " ".join([str(declared["command"]), *data_options, flags]).strip()


def _settings(asked: Asked, of_preset: Mapping[str, Any]) -> dict[str, Any]:
    unknown = asked.settings.keys() - of_preset.keys()
    if unknown:
        raise ValueError(f"The preset {asked.preset} has no setting {_listed(unknown)}: use {_listed(of_preset)}.")
    return {**of_preset, **asked.settings}


def _check_command(plan: RunPlan) -> None:
    known = {*plan.settings, "batch", "precision", "device", "steps", "warmup", "data"}
    named = {name for _, name, _, _ in string.Formatter().parse(plan.command) if name is not None}
    if not named <= known:
        raise ValueError(
            f"The command of {plan.workload} with {plan.framework} has {_listed(named - known)} in braces:"
            f" use {_listed(known)}, or add it to `settings` of the preset {plan.preset}."
        )


def _for_precision(batch: int | Mapping[str, int], precision: str) -> int:
    """A preset may name a batch for each precision."""
    return _one_of("precision", precision, batch) if isinstance(batch, Mapping) else batch


def _one_of(what: str, name: str, known: Mapping[str, _Value]) -> _Value:
    if name not in known:
        raise ValueError(f"{what}={name} is unknown: use {_listed(known)}.")
    return known[name]


def _number(what: str, value: str | int, least: int = 1) -> int:
    text = str(value)
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{what}={value} is not a whole number of at least {least}.")
    return int(text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
