"""An experiment of AIPerf as one repeat: its score in GFLOPS, if nothing is missing from it and it keeps the rules."""

from __future__ import annotations

from pathlib import Path

from ..aiperf.experiment import Experiment
from ..aiperf.result import ExperimentResult, read_result
from ..aiperf.rules import shown
from ..aiperf.score import thinned
from ..logs.dialect import Dialect
from ..logs.reading import ExtraTable, Fault, Fold, Reading
from ..logs.series import Window
from .log_folders import AIPERF
from .options import Options

DIALECT = Dialect(name=AIPERF, title="AIPerf (AAH)", kinds=(), fold=Fold, unit="GFLOPS", warmup=0)

_MOST_ROWS = 120
_MOST_PROBLEMS = 200


def read_score(folder: Path, options: Options) -> Reading:
    result = read_result(folder, options.rules)
    reading = Reading(Window(0, None))
    reading.tables += _tables(result)
    reading.remarks += result.remarks
    record = result.experiment.record
    if record is not None:
        reading.facts.update(nodes=record.slave, devices_per_node=record.devices, precision=record.precision)
    fault = _fault(result, options.precision)
    if fault is not None:
        reading.faults.append(fault)
    elif result.score.final is not None:
        reading.stated.update(throughput=result.score.final.gflops, accuracy=result.score.final.accuracy)
    return reading


def _fault(result: ExperimentResult, precision: str | None) -> Fault | None:
    """What is missing comes first: it would make the score another one, by which no rule can be judged."""
    if result.reason is not None:
        return Fault(result.state, result.reason)
    failed = result.broken_rules(precision)
    if not failed:
        return None
    hint = ["Which one it was, -e precision=fp16 says."] if "precision" in failed and not precision else []
    return Fault("rule_failed", " ".join([*failed.values(), *hint]))


def _tables(result: ExperimentResult) -> list[ExtraTable]:
    tables = []
    found, profile, problems = result.score, result.profile, result.problems
    titles = [column.title for column in profile.columns]
    if found.final is not None:
        counts = _counts(result.experiment)
        rows = [[*shown(profile, found.final), *counts.values()]]
        tables.append(ExtraTable(f"Final score by {profile.name}", [*titles, *counts], rows))
        points = thinned(found.points, _MOST_ROWS)
        which = f", {len(points)} of {len(found.points)} points" if len(points) < len(found.points) else ""
        tables.append(
            ExtraTable(f"Score over time by {profile.name}{which}", titles, [shown(profile, point) for point in points])
        )
    if problems:
        sentences = [[sentence] for sentence in problems[:_MOST_PROBLEMS]]
        tables.append(ExtraTable("What is missing or odd", [f"{len(problems)} in all"], sentences))
    return tables


def _counts(experiment: Experiment) -> dict[str, int]:
    trainings = experiment.trainings
    return {
        "Trials": len(experiment.trials),
        "Trainings": len(trainings),
        "Epochs": sum(len(training.epochs) for training in trainings),
    }
