"""The plan of a run: its jobs, what starts their programs, and how it is told to a person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Mapping

from . import program
from .manifest import PlannedCase, RunSpec, read_spec, spec_data
from .times import duration_in_words

SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Job:
    name: str
    case: str
    repeat: int
    nodes: int
    devices_per_node: int
    folder: str


@dataclass(frozen=True)
class RunPlan(RunSpec):
    """`program` is a template, `image` the container's, if programs run in one. `cpus` are the processors of a node,
    and `data_package` what installs the data on it.
    """

    hardware: str | None = None
    accelerator: str = "none"
    resource: str = ""
    cpus: int | None = None
    minutes: int = 0
    stalled_after: int = 0
    program: str = ""
    data_package: str = ""
    image: str = ""

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

    def case_of(self, job: Job) -> PlannedCase:
        (case,) = [case for case in self.cases if case.case == job.case]
        return case

    def program_of(self, job: Job, run_dir: str, python: str) -> list[str]:
        """The words that start the program of this job, in the run's folder on the nodes."""
        values = {
            **self.settings,
            **self._sizes(self.case_of(job)),
            "code": f"{run_dir}/code",
            "python": python,
            "hostfile": f"{run_dir}/{job.folder}/hostfile",
        }
        return program.filled(self.program, values)

    def lacking(self) -> list[str]:
        """Names in braces for which this run has no value."""
        values = {**self.settings, **self._sizes(self.cases[0]), "code": "", "python": "", "hostfile": ""}
        return sorted(name for name in program.names_in(self.program) if values.get(name) is None)

    def _sizes(self, case: PlannedCase) -> dict[str, Any]:
        return {
            "batch": case.batch_per_device,
            "precision": case.precision,
            "device": self.device,
            "steps": self.steps or None,
            "duration": self.duration or None,
            "warmup": self.warmup,
            "target": None if self.target is None else self.target.bound,
            "target_name": None if self.target is None else self.target.name,
            "data": self.data,
            "nodes": case.nodes,
            "devices_per_node": case.devices_per_node,
            "world_size": case.world_size,
        }

    def sentence(self) -> str:
        cases = ", ".join(f"{case.case} x{case.repeats}" for case in self.cases)
        return f"{self.title} with {self.framework} on {self.device}, {len(self.jobs)} jobs: {cases}. {self._work()}"

    def _work(self) -> str:
        sizes = sorted({case.batch_per_device for case in self.cases if case.batch_per_device is not None})
        batches = " to ".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1]))) if sizes else ""
        if self.measure == "steps":
            window = f"{self.warmup} to warm up and {self.steps} measured steps"
            return f"Each device trains batches of {batches} in {self.cases[0].precision}, {window}."
        if self.measure == "target":
            trains = f"Each device trains batches of {batches} in {self.cases[0].precision}"
            return f"{trains} until {self.target}, for {self.steps} steps at most."
        lasts = f" for {duration_in_words(self.duration)}" if self.duration else ""
        gives = f"Each job searches{lasts}, and gives" if self.measure == "search" else "The program states"
        return f"{gives} {self.headline} in {self.unit}; a job may take {self.minutes} minutes."

    def table(self) -> list[str]:
        """The cases for a terminal, with what they may cost at most."""
        lines = [f"{'case':<8}{'jobs':>6}{'ranks':>7}{'batch/device':>14}{'node-hours, at most':>21}"]
        for case in self.cases:
            hours = case.repeats * case.nodes * self.minutes / 60
            batch = "-" if case.batch_per_device is None else case.batch_per_device
            lines.append(f"{case.case:<8}{case.repeats:>6}{case.world_size:>7}{batch:>14}{hours:>21.1f}")
        total = sum(case.repeats * case.nodes * self.minutes / 60 for case in self.cases)
        return [*lines, f"{'all':<8}{len(self.jobs):>6}{'':>21}{total:>21.1f}"]


def plan_from(content: Mapping[str, Any]) -> RunPlan:
    """From what `as_data` made, or from the manifest of a run that was begun."""
    return read_spec(RunPlan, content, "The plan of the run")


def as_data(plan: RunPlan) -> dict[str, Any]:
    return {**spec_data(plan), "jobs": [asdict(job) for job in plan.jobs]}
