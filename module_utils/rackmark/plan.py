"""From what an operator asks for to the jobs of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Iterable, Mapping

from .cases import choose_cases
from .manifest import PlannedCase


@dataclass(frozen=True)
class Asked:
    """What the operator gave; an empty string means the preset's value."""

    nodes: str = ""
    cases: str = ""
    repeats: str = ""
    batch: str = ""
    precision: str = ""
    framework: str = ""
    preset: str = "full"


@dataclass(frozen=True)
class Job:
    name: str
    case: str
    repeat: int
    nodes: int
    devices_per_node: int
    folder: str


@dataclass(frozen=True)
class RunPlan:
    run_id: str
    workload: str
    title: str
    framework: str
    unit: str
    preset: str
    scaling: str
    dialect: str
    warmup: int
    steps: int
    image_size: int
    minutes: int
    cases: list[PlannedCase]

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
            )
            for case in self.cases
            for repeat in range(1, case.repeats + 1)
        ]

    def sentence(self) -> str:
        cases = ", ".join(f"{case.case} x{case.repeats}" for case in self.cases)
        first = self.cases[0]
        return (
            f"{self.title} with {self.framework}, {len(self.jobs)} jobs: {cases}."
            f" Each device trains batches of {first.batch_per_device} in {first.precision},"
            f" {self.warmup} steps to warm up and {self.steps} measured."
        )


def make_plan(
    workload: Mapping[str, Any], asked: Asked, run_id: str, available_nodes: int, devices_per_node: int
) -> RunPlan:
    framework = asked.framework or str(workload["default_framework"])
    declared = _one_of("framework", framework, workload["frameworks"])
    preset = _one_of("preset", asked.preset, workload["presets"])
    precision = asked.precision or str(preset["precision"])
    if precision not in declared["precisions"]:
        raise ValueError(f"precision={precision} is unknown to {framework}: use {_listed(declared['precisions'])}.")
    batch = _number("batch", asked.batch or preset["batch"])
    repeats = _number("repeats", asked.repeats or preset["repeats"])
    chosen = choose_cases(asked.nodes or None, asked.cases or None, available_nodes, devices_per_node)
    return RunPlan(
        run_id=run_id,
        workload=str(workload["name"]),
        title=str(workload["title"]),
        framework=framework,
        unit=str(workload["unit"]),
        preset=asked.preset,
        scaling=str(workload["scaling"]),
        dialect=str(workload["dialect"]),
        warmup=int(preset["warmup"]),
        steps=int(preset["steps"]),
        image_size=int(preset["image_size"]),
        minutes=int(preset["minutes"]),
        cases=[
            PlannedCase(
                case=case.name,
                nodes=case.nodes,
                devices_per_node=case.devices_per_node,
                world_size=case.world_size,
                batch_per_device=batch,
                precision=precision,
                repeats=repeats,
            )
            for case in chosen
        ],
    )


def as_data(plan: RunPlan) -> dict[str, Any]:
    return {**asdict(plan), "jobs": [asdict(job) for job in plan.jobs]}


def _one_of(what: str, name: str, known: Mapping[str, Any]) -> Mapping[str, Any]:
    if name not in known:
        raise ValueError(f"{what}={name} is unknown: use {_listed(known)}.")
    found: Mapping[str, Any] = known[name]
    return found


def _number(what: str, value: str | int) -> int:
    text = str(value)
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"{what}={value} is not a whole number of at least 1.")
    return int(text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
