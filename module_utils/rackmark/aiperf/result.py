"""What a search for networks is worth: AIPerf's score and Rackmark's numbers beside it, rules, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Sequence

from ..automl.progress import shares
from ..automl.trials import FAILED, LOST
from ..automl.trials import Trial as SearchTrial
from ..judging.node_clocks import clock_offsets
from .clocks import clock_problems
from .experiment import Experiment, read_experiment
from .folder import Folder
from .rules import PROFILES, Profile, broken_rules, find_profile, sentence_of_aiperf
from .score import Score, score
from .search_history import SearchHistory, read_search_history

NO_HISTORY = "The search left no history."
_DEFAULT = "aiperf"
_MOST_NAMED = 5


@dataclass(frozen=True)
class ExperimentResult:
    """`values` are numbers by name: score and regulated in GFLOPS, accuracy and shares in percent, hours, counts. Of
    those that are None, `missing` says why. `problems` are sentences on what would make the score another one,
    `remarks` on what is to be known of it."""

    experiment: Experiment
    profile: Profile
    score: Score
    history: SearchHistory
    values: Mapping[str, float | None]
    missing: Mapping[str, str]
    problems: Sequence[str]
    remarks: Sequence[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        if self.experiment.state == "no_data":
            return "no_data"
        return "incomplete" if self.problems or self.score.final is None else "ok"

    @property
    def reason(self) -> str | None:
        """Why it is not ok."""
        problems = self.problems
        if self.score.final is None:
            return f"There is no score. {self.score.reason} {' '.join(problems[:3])}".strip()
        if not problems:
            return None
        more = f" {len(problems) - 3} more are in the report." if len(problems) > 3 else ""
        what = "would leave something out" if self.experiment.record is None else "cannot be relied upon"
        return f"The score {what}. {' '.join(problems[:3])}{more}"

    @property
    def best(self) -> SearchTrial | None:
        """The trial that measured the best accuracy, the first of several."""
        return _best(self.history.trials)

    def broken_rules(self, precision: str | None = None) -> dict[str, str]:
        """Sentences by the name of the rule of the profile; `precision` is that of an experiment that does not say."""
        record = self.experiment.record
        known = record.precision if record and record.precision else precision
        return broken_rules(self.profile, self.score.final, known, self.values["hours"])

    def sentences_for(self, rule: str) -> str | None:
        """What AIPerf's report says where this rule is not kept; None is a rule that it says nothing of."""
        return sentence_of_aiperf(rule)


def read_result(folder: Path, profile: str | None = None) -> ExperimentResult:
    """`folder` is that of the experiment. `profile` is that of one that does not name its own; of a search of
    Rackmark's, the records of its job are in the folder above."""
    experiment = read_experiment(folder)
    problems, record = list(experiment.problems), experiment.record
    files = Folder(folder.resolve(), problems)
    history = read_search_history(files, record) if record else SearchHistory()
    chosen = profile or (record.profile if record else _DEFAULT)
    if chosen not in PROFILES:
        problems.append(f"The experiment asks for the profile {chosen}: the known ones are {', '.join(PROFILES)}.")
        chosen = _DEFAULT
    found = _score(experiment, find_profile(chosen))
    began, ended = _span(experiment, history)
    seconds = ended - began if began is not None and ended is not None else 0.0
    if record:
        problems += _disagreements(experiment, history)
        problems += clock_problems(experiment, history, clock_offsets(folder.parent), seconds)
    values, missing = _values(found, experiment, history, seconds)
    remarks = [*([found.reason] if found.final and found.reason else []), *history.remarks]
    return ExperimentResult(experiment, find_profile(chosen), found, history, values, missing, problems, remarks)


def _score(experiment: Experiment, profile: Profile) -> Score:
    if experiment.images is None:
        return Score([], "It is not known how many images an epoch has.")
    return score(experiment.trainings, experiment.started, profile.grid, experiment.images)


def _span(experiment: Experiment, history: SearchHistory) -> tuple[float | None, float | None]:
    """From the begin of its first trial to its last record, or to its last epoch."""
    ends = [epoch.ended for training in experiment.trainings for epoch in training.epochs]
    if history.last is None:
        return experiment.started, max(ends, default=None)
    known = (history.attempts[0].began, experiment.started)
    starts = [time for time in known if time is not None] or [history.attempts[0].first]
    return min(starts), max([history.last, *ends])


def _best(trials: Sequence[SearchTrial]) -> SearchTrial | None:
    measured = [trial for trial in trials if trial.accuracy is not None]
    return max(measured, key=lambda trial: (trial.accuracy or 0.0, -trial.seq), default=None)


def _disagreements(experiment: Experiment, history: SearchHistory) -> list[str]:
    """A trial that was cut may have finished an epoch that its worker did not hear of."""
    logged = {trial.sequence: sum(len(training.epochs) for training in trial.trainings) for trial in experiment.trials}
    found = [
        f"Trial {trial.seq:05d} finished {trial.epochs} epochs by the history, and {logged.get(trial.seq, 0)} by its"
        " trial.log."
        for trial in history.trials
        if trial.epochs > logged.get(trial.seq, 0) or (trial.state == "ok" and trial.epochs < logged.get(trial.seq, 0))
    ]
    more = [f"{len(found) - _MOST_NAMED} more trials differ so."] if len(found) > _MOST_NAMED else []
    return [*found[:_MOST_NAMED], *more]


def _values(
    found: Score, experiment: Experiment, history: SearchHistory, seconds: float
) -> tuple[dict[str, float | None], dict[str, str]]:
    final, trials = found.final, history.trials
    values: dict[str, float | None] = {
        "score": final.gflops if final else None,
        "regulated": final.regulated if final else None,
        "accuracy": round(100 * final.accuracy, 9) if final else None,
        "hours": seconds / 3600 if seconds > 0 else None,
        "epochs": float(sum(len(training.epochs) for training in experiment.trainings)),
    }
    missing = {name: found.reason or "There is no score." for name, value in values.items() if value is None}
    best = _best(trials)
    node_time = shares(trials, 0.0, history.searched, experiment.record.slave if experiment.record else 1)
    of_history: dict[str, float | None] = {
        "trials": float(sum(trial.state == "ok" for trial in trials)),
        "trials_failed": float(sum(trial.state in FAILED and trial.state != LOST for trial in trials)),
        "trials_lost": float(sum(trial.state == LOST for trial in trials)),
        "images_per_second": node_time.images_per_second,
        "training_share": node_time.training,
        "waiting_share": node_time.waiting,
        "best_layers": best.layers if best else None,
        "best_params": best.params if best else None,
        "best_flops": best.flops.evaluation if best and best.flops else None,
    }
    if not trials:
        of_history = dict.fromkeys(of_history)
    why = NO_HISTORY if not history.records else "No trial has begun." if not trials else "No trial measured any."
    missing.update((name, why) for name, value in of_history.items() if value is None)
    return {**values, **of_history}, missing
