"""The numbers of a repeat that are in the folder of an experiment, and not in the logs of its ranks."""

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
    return Experiment() if reader is None else reader(folder / EXPERIMENT)


def _aiperf(folder: Path) -> Experiment:
    result = read_result(folder)
    numbers = {
        f"{STATED}{name}": Measured(value, None if value is not None else result.missing.get(name, "It is not known."))
        for name, value in result.values.items()
    }
    said = {rule: result.sentences_for(rule) for rule in result.values}
    fault = None if result.state == "ok" else Fault(result.state, str(result.reason))
    return Experiment(result, numbers, fault, {rule: sentence for rule, sentence in said.items() if sentence})


_READERS: Mapping[str, Callable[[Path], Experiment]] = {"aiperf": _aiperf}
