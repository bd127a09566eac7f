"""Reads the folder of an AIPerf experiment: what its trials trained, for how long, with which networks.

    trials/<trial>/trial.log, parameter.cfg             epochs with their accuracies; the trial's place in the sequence
    hyperparameter_epoch/<trial>/model.json, 0.json ... its network; begin and kernel size of each of its trainings
    hyperparameter/<sequence>.json                      there once the trial has ended
    experiment.json                                     of a search of Rackmark's: what was asked for

Nothing that is missing or cannot be read is passed over: it is a sentence in `problems`. In a search of Rackmark's a
trial may have been cut before its first epoch ended: it adds nothing to the score, and may lack any file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from .experiment_record import ExperimentRecord, is_recorded, read_experiment_record
from .flops import Flops, flops_per_image
from .folder import Folder
from .score import IMAGENET, Images, Training
from .trial_log import TrialLog, read_trial_log, stamp_seconds


@dataclass(frozen=True)
class Trial:
    """`sequence` is its place among the trials, `started` when its first training began; None is not known."""

    name: str
    sequence: int | None
    started: float | None
    ended: bool
    trainings: Sequence[Training]


@dataclass(frozen=True)
class Experiment:
    """`record` is that of a search of Rackmark's; `images` of an epoch are None where it cannot be read."""

    name: str
    trials: Sequence[Trial]
    problems: Sequence[str]
    record: ExperimentRecord | None = None
    images: Images | None = IMAGENET

    @property
    def started(self) -> float | None:
        return min((trial.started for trial in self.trials if trial.started is not None), default=None)

    @property
    def trainings(self) -> list[Training]:
        return [training for trial in self.trials for training in trial.trainings]

    @property
    def state(self) -> str:
        """`incomplete` is a score that may be too low or too high: something is missing from it."""
        if not any(training.epochs for training in self.trainings):
            return "no_data"
        return "incomplete" if self.problems else "ok"


def read_experiment(folder: Path) -> Experiment:
    files = Folder(folder.resolve())
    is_own = is_recorded(files)
    record = read_experiment_record(files) if is_own else None
    logged = files.folders("trials")
    if not logged:
        files.problems.append(f"There is no trial in the folder trials of {folder.name}.")
    for name in sorted(set(files.folders("hyperparameter_epoch")) - set(logged)):
        if not is_own:
            files.problems.append(f"Trial {name} has no log: trials/{name} is missing.")
    trials = [_own_trial(files, name) if is_own else _foreign_trial(files, name) for name in logged]
    images = IMAGENET if not is_own else record.images if record else None
    return Experiment(folder.name, sorted(trials, key=_in_sequence), files.problems, record, images)


def _own_trial(files: Folder, name: str) -> Trial:
    about_it = Folder(files.root)
    trial = _trial(about_it, name)
    if any(training.epochs for training in trial.trainings):
        files.problems += about_it.problems
    return trial


def _foreign_trial(files: Folder, name: str) -> Trial:
    trial = _trial(files, name)
    if trial.ended:
        begun = _numbers(files, f"hyperparameter_epoch/{name}")
        for number in sorted(begun - {training.number for training in trial.trainings}):
            files.problems.append(f"Training {number} of trial {name} has no epoch in trials/{name}/trial.log.")
    return trial


def _in_sequence(trial: Trial) -> tuple[bool, int, str]:
    return trial.sequence is None, trial.sequence or 0, trial.name


def _trial(files: Folder, name: str) -> Trial:
    log = _log(files, name)
    sequence = _sequence(files, name)
    ended = sequence is not None and files.has(f"hyperparameter/{sequence}.json")
    trainings = f"hyperparameter_epoch/{name}"
    graph = files.record(f"{trainings}/model.json")
    settings = {number: files.record(f"{trainings}/{number}.json") for number in sorted({0, *log.trainings})}
    return Trial(
        name,
        sequence,
        _begin(files, settings[0], f"{trainings}/0.json"),
        ended,
        [
            Training(name, number, _flops(files, name, number, graph, settings[number]), epochs)
            for number, epochs in sorted(log.trainings.items())
        ],
    )


def _log(files: Folder, name: str) -> TrialLog:
    path = files.file(f"trials/{name}/trial.log")
    log = read_trial_log(path) if path else TrialLog({}, [])
    files.problems += [f"trials/{name}/trial.log: {problem}" for problem in log.problems]
    return log


def _numbers(files: Folder, trainings: str) -> set[int]:
    names = (Path(name) for name in files.entries(trainings))
    return {int(name.stem) for name in names if name.suffix == ".json" and name.stem.isdecimal() and len(name.stem) < 5}


def _sequence(files: Folder, name: str) -> int | None:
    path = f"trials/{name}/parameter.cfg"
    parameters = files.record(path)
    if parameters is None:
        return None
    sequence = parameters.get("parameter_id")
    if type(sequence) is not int or not 0 <= sequence < 1_000_000:
        files.problems.append(f"{path} has no usable parameter_id.")
        return None
    return sequence


def _begin(files: Folder, settings: Mapping[str, Any] | None, path: str) -> float | None:
    if settings is None:
        return None
    date = settings.get("start_date")
    try:
        return stamp_seconds(date if isinstance(date, str) else "")
    except ValueError:
        files.problems.append(f"{path} has the start_date {date!r:.40}, which is not like '11/18/2026, 00:03:07'.")
        return None


def _flops(
    files: Folder, name: str, number: int, graph: Mapping[str, Any] | None, settings: Mapping[str, Any] | None
) -> Flops | None:
    if graph is None:
        return None
    parameters = (settings or {}).get("hyperparameter")
    kernel_size = parameters.get("kernel_size") if isinstance(parameters, dict) else None
    if isinstance(kernel_size, float) and kernel_size.is_integer():
        kernel_size = int(kernel_size)
    try:
        return flops_per_image(graph, kernel_size)
    except ValueError as error:
        files.problems.append(f"The operations of training {number} of trial {name} are not known. {error}")
        return None
