"""An experiment of AIPerf as one repeat: its score in GFLOPS, if nothing is missing from it and it keeps the rules."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Sequence

from ..aiperf.experiment import Experiment, read_experiment
from ..aiperf.rules import Profile, failed_rules, find_profile, shown
from ..aiperf.score import Point, Score, score
from ..logs.dialect import Dialect
from ..logs.reading import ExtraTable, Fault, Fold, Reading
from ..logs.series import Window
from .log_folders import AIPERF
from .options import Options

DIALECT = Dialect(name=AIPERF, title="AIPerf (AAH)", kinds=(), fold=Fold, unit="GFLOPS", warmup=0)

_MOST_ROWS = 120
_MOST_PROBLEMS = 200
_NAMED = 3


def read_score(folder: Path, options: Options) -> Reading:
    experiment, profile = read_experiment(folder), find_profile(options.rules)
    found = score(experiment.trainings, experiment.started, profile.grid)
    reading = Reading(Window(0, None))
    reading.tables += _tables(experiment, profile, found)
    fault = _fault(experiment, profile, found, options.precision)
    if fault is not None:
        reading.faults.append(fault)
    elif found.final is not None:
        reading.stated.update(throughput=found.final.gflops, accuracy=found.final.accuracy)
        reading.remarks += [found.reason] if found.reason else []
    return reading


def _fault(experiment: Experiment, profile: Profile, found: Score, precision: str | None) -> Fault | None:
    """What is missing comes first: it would make the score another one, by which no rule can be judged."""
    problems = experiment.problems
    if found.final is None:
        return Fault("no_data", f"There is no score. {found.reason} {' '.join(problems[:_NAMED])}".strip())
    if problems:
        more = f" {len(problems) - _NAMED} more are in the report." if len(problems) > _NAMED else ""
        return Fault("incomplete", f"The score would leave something out. {' '.join(problems[:_NAMED])}{more}")
    failed = failed_rules(profile, found.final, precision)
    if not failed:
        return None
    hint = [] if precision else ["Which one it was, -e precision=fp16 says."]
    return Fault("rule_failed", " ".join([*failed, *hint]))


def _tables(experiment: Experiment, profile: Profile, found: Score) -> list[ExtraTable]:
    tables = []
    titles = [column.title for column in profile.columns]
    if found.final is not None:
        counts = _counts(experiment)
        rows = [[*shown(profile, found.final), *counts.values()]]
        tables.append(ExtraTable(f"Final score by {profile.name}", [*titles, *counts], rows))
        points = _thinned(found.points)
        which = f", {len(points)} of {len(found.points)} points" if len(points) < len(found.points) else ""
        tables.append(
            ExtraTable(f"Score over time by {profile.name}{which}", titles, [shown(profile, point) for point in points])
        )
    if experiment.problems:
        sentences = [[sentence] for sentence in experiment.problems[:_MOST_PROBLEMS]]
        tables.append(ExtraTable("What is missing or odd", [f"{len(experiment.problems)} in all"], sentences))
    return tables


def _counts(experiment: Experiment) -> dict[str, int]:
    trainings = experiment.trainings
    return {
        "Trials": len(experiment.trials),
        "Trainings": len(trainings),
        "Epochs": sum(len(training.epochs) for training in trainings),
    }


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Evenly over the time, with the last."""
    step = math.ceil(len(points) / _MOST_ROWS)
    return points[::-1][::step][::-1]
