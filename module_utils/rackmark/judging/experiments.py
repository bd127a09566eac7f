"""The numbers of a repeat that are in files of their own, and not in the logs of its ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Mapping

from ..aiperf.result import ExperimentResult, read_result
from ..logs.reading import Fault
from ..node.repeat_folder import EXPERIMENT
from ..run.measures import STATED
from .asked import Asked
from .measured import Measured
from .rank_files import read_training


@dataclass(frozen=True)
class Experiment:
    """`numbers` by the names that measures have for them, `sentences` by the names of rules: what the benchmark itself
    says where one is broken. `result` is all that was read."""

    result: ExperimentResult | None = None
    numbers: Mapping[str, Measured] = field(default_factory=dict)
    fault: Fault | None = None
    sentences: Mapping[str, str] = field(default_factory=dict)


def read_experiment_of(folder: Path, asked: Asked) -> Experiment:
    """Nothing where the numbers are in the logs."""
    reader = _READERS.get(asked.result)
    return Experiment() if reader is None else reader(folder, asked)


def _aiperf(folder: Path, _asked: Asked) -> Experiment:
    result = read_result(folder / EXPERIMENT)
    numbers = {
        f"{STATED}{name}": Measured(value, None if value is not None else result.missing.get(name, "It is not known."))
        for name, value in result.values.items()
    }
    said = {rule: result.sentences_for(rule) for rule in result.values}
    fault = None if result.state == "ok" else Fault(result.state, str(result.reason))
    return Experiment(result, numbers, fault, {rule: sentence for rule, sentence in said.items() if sentence})


def _ais_bench(folder: Path, asked: Asked) -> Experiment:
    reading = read_training(folder, asked)
    if reading.faults:
        return Experiment(fault=reading.faults[0])
    stated = {name: Measured(value) for name, value in reading.stated.items()}
    stated.setdefault("accuracy", Measured(None, " ".join(reading.remarks) or "No accuracy is stated."))
    return Experiment(numbers={**stated, **{f"{STATED}{name}": value for name, value in stated.items()}})


_READERS: Mapping[str, Callable[[Path, Asked], Experiment]] = {"aiperf": _aiperf, "ais-bench": _ais_bench}
