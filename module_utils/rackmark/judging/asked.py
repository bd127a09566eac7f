"""What a repeat was asked for, from the manifest of its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Sequence

from ..dialects.catalog import dialect_named
from ..logs.dialect import Dialect
from ..logs.series import Window
from ..run.manifest import Manifest, PlannedCase
from ..run.measures import Measure
from ..run.rules import Condition


@dataclass(frozen=True)
class Asked:
    """`measure` is the kind of measurement: steps, target, stated or search. `ranks` says what a process is for: a
    device, a node, or the whole job. `independent` nodes go on without one that is lost, `result` says what holds the
    numbers. With `each_server` every server trains for itself. What
    simulates servers has all of them `on_one_machine`."""

    case: PlannedCase
    dialect: Dialect
    device: str
    ranks: str
    measure: str
    warmup: int
    steps: int
    measures: Mapping[str, Measure]
    headline: str
    rules: Sequence[Condition]
    target: Condition | None
    require_target: bool = False
    independent: bool = False
    result: str = "logs"
    each_server: bool = False
    on_one_machine: bool = False

    @property
    def processes(self) -> int:
        """How many there are, each with a log of its own."""
        return {"device": self.case.world_size, "node": self.case.nodes, "job": 1}[self.ranks]

    @property
    def processes_per_node(self) -> int:
        return self.case.devices_per_node if self.ranks == "device" else 1

    @property
    def all_steps(self) -> int | None:
        """None where the number of steps is not known before."""
        return self.warmup + self.steps if self.measure == "steps" else None

    @property
    def counts_samples(self) -> bool:
        """Whether its rate is of what a batch is counted in; tokens, words and other things are in samples."""
        of_steps = ("throughput", "whole", "no_eval")
        units = {measure.unit for measure in self.measures.values() if measure.source in of_steps}
        return bool(units) and units <= {"samples/s", "images/s"}

    @property
    def window(self) -> Window:
        return Window(self.warmup, None)


def asked_of(manifest: Manifest, case: PlannedCase) -> Asked:
    return Asked(
        case=case,
        dialect=dialect_named(manifest.dialect),
        device=manifest.device,
        ranks=manifest.ranks,
        measure=manifest.measure,
        warmup=manifest.warmup,
        steps=manifest.steps,
        measures=manifest.measures,
        headline=manifest.headline,
        rules=manifest.rules,
        target=manifest.target,
        require_target=manifest.require_target,
        independent=manifest.independent,
        result=manifest.result,
        on_one_machine="modelarts" in manifest.simulated,
        each_server=manifest.settings.get("single_server") is True,
    )
