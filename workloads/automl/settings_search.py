"""With which settings a network is trained: drawn the first time, then suggested by Optuna's TPE from all results."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from rackmark.automl.trials import RUNNING, Trial

if TYPE_CHECKING:
    from parameters import Space

LATEST = 1000  # results; TPE's time grows with them, and older ones add nothing to it
_WORST = 0.0  # accuracy of a training that diverged


def draw(rng: random.Random, space: Space, kernel_size: int) -> dict[str, Any]:
    """`kernel_size` is that of the network, which has it already."""
    return _settings(rng.uniform(*space.dropout_rate), rng.randint(*space.batch_size), kernel_size)


def suggest(trials: Iterable[Trial], space: Space, seed: int, kernel_size: int) -> dict[str, Any]:
    """The same results and the same seed give the same settings."""
    import optuna  # takes a second, which a first training does not need

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {
        "dropout_rate": optuna.distributions.FloatDistribution(*space.dropout_rate),
        "batch_size": optuna.distributions.IntDistribution(*space.batch_size),
    }
    states = {True: optuna.trial.TrialState.RUNNING, False: optuna.trial.TrialState.COMPLETE}
    study.add_trials(
        [
            optuna.trial.create_trial(
                params=parameters, distributions=distributions, value=accuracy, state=states[accuracy is None]
            )
            for parameters, accuracy in _results(trials, space)
        ]
    )
    asked = study.ask(distributions).params
    return _settings(asked["dropout_rate"], asked["batch_size"], kernel_size)


def _settings(dropout_rate: float, batch_size: int, kernel_size: int) -> dict[str, Any]:
    return {"dropout_rate": round(dropout_rate, 6), "kernel_size": kernel_size, "batch_size": batch_size}


def _results(trials: Iterable[Trial], space: Space) -> list[tuple[dict[str, Any], Any]]:
    """Settings with their accuracies, the latest last; None is one that is still at work."""
    found = []
    for trial in sorted(trials, key=lambda trial: (trial.ended or trial.began or 0.0, trial.seq)):
        if trial.state == RUNNING:
            found.append((_inside(trial.hyperparameter, space), None))
        for training in trial.trainings:
            accuracy = training.get("accuracy")
            if accuracy is None and trial.state == "diverged":
                accuracy = _WORST
            if accuracy is not None:
                found.append((_inside(training["hyperparameter"], space), accuracy))
    return [(parameters, accuracy) for parameters, accuracy in found if parameters][-LATEST:]


def _inside(settings: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Empty for settings of another space, of which TPE can learn nothing."""
    rate, batch = settings.get("dropout_rate"), settings.get("batch_size")
    if rate is None or type(batch) is not int:
        return {}
    inside = (
        space.dropout_rate[0] <= rate <= space.dropout_rate[1] and space.batch_size[0] <= batch <= space.batch_size[1]
    )
    return {"dropout_rate": float(rate), "batch_size": batch} if inside else {}
