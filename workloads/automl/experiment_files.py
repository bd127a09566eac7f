"""The files of a trial as AIPerf writes them, which its report script and Rackmark's reader find them by.

trials/<T>/parameter.cfg trial.log                   its place in the sequence; begin and end of each epoch
hyperparameter_epoch/<T>/model.json 0.json 1.json    its network, and its trainings as far as they are
hyperparameter/<sequence>.json                       the best settings, once it has ended by itself
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping

from room import Appended, replace_json

if TYPE_CHECKING:
    from training import Epoch

_Settings = Mapping[str, Any]


def trial_name(seq: int) -> str:
    return f"{seq:05d}"


def log_stamp(seconds: float) -> str:
    return time.strftime("[%m/%d/%Y, %I:%M:%S %p] PRINT", time.gmtime(seconds))


def json_stamp(seconds: float) -> str:
    return time.strftime("%m/%d/%Y, %H:%M:%S", time.gmtime(seconds))


class TrialFiles:
    def __init__(self, experiment: Path, seq: int) -> None:
        name = trial_name(seq)
        self._seq = seq
        self._best = experiment / "hyperparameter" / f"{seq}.json"
        self._trial = experiment / "trials" / name
        self._trainings = experiment / "hyperparameter_epoch" / name
        for folder in (self._best.parent, self._trial, self._trainings):
            folder.mkdir(parents=True, exist_ok=True)
        self._log = Appended(self._trial / "trial.log")

    def begin(self, model: Mapping[str, Any]) -> None:
        replace_json(self._trainings / "model.json", model)
        replace_json(
            self._trial / "parameter.cfg",
            {
                "parameter_id": self._seq,
                "parameter_source": "algorithm",
                "parameters": json.dumps(model),
                "parameter_index": 0,
            },
        )

    def training_begins(self, number: int, hyperparameter: _Settings, now: float) -> TrainingFiles:
        return TrainingFiles(self._log, self._trainings / f"{number}.json", self._seq, number, hyperparameter, now)

    def ended(self, hyperparameter: _Settings, accuracy: float) -> None:
        replace_json(
            self._best, {"get_sequence_id": self._seq, "hyperparameter": hyperparameter, "single_acc": accuracy}
        )


class TrainingFiles:
    """One training of the trial; a report takes its time from these stamps, which are in UTC."""

    def __init__(
        self, log: Appended, path: Path, seq: int, number: int, hyperparameter: _Settings, began: float
    ) -> None:
        self._log, self._path, self._number = log, path, number
        self._best = 0.0
        self._state: dict[str, Any] = {
            "get_sequence_id": seq,
            "hyperparameter": hyperparameter,
            "epoch": 0,
            "single_acc": None,
            "train_time": 0.0,
            "start_date": json_stamp(began),
            "finish_date": None,
        }
        replace_json(path, self._state)

    def epoch_begins(self, number: int, epochs: int, now: float) -> None:
        self._log.write(f"{log_stamp(now)} Epoch {number}/{epochs}\n")

    def epoch_ends(self, epoch: Epoch, now: float) -> None:
        stamp, steps = log_stamp(now), f"{epoch.steps}/{epoch.steps}"
        self._log.write(
            f"{stamp} {steps} done\n"
            f"{stamp} {steps} - loss: {epoch.loss:.4f} - accuracy: {epoch.accuracy:.5f}"
            f" - val_loss: {epoch.val_loss:.4f} - val_accuracy: {epoch.val_accuracy:.5f}\n"
        )
        self._best = max(self._best, epoch.val_accuracy)
        self._state.update(
            epoch=epoch.number,
            single_acc=self._best,
            train_time=self._state["train_time"] + epoch.seconds,
            finish_date=json_stamp(now),
        )
        replace_json(self._path, self._state)

    def ends(self) -> None:
        settings = json.dumps(self._state["hyperparameter"])
        self._log.write(f"HPO-{self._number},hyperparameters:{settings},best_val_acc:{self._best:.5f}\n")
