"""What comes of FlagPerf's configuration: runs of ours, and for every key of the files what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from ..run.cases import CaseRequest


class Entry(NamedTuple):
    """A row of the table from old to new; `new` begins with "not used, because" where nothing comes of the key."""

    where: str
    key: str
    old: str
    new: str


class CaseSettings(NamedTuple):
    """From the case's own file; None is what it leaves to the benchmark."""

    batch: int | None = None
    precision: str | None = None
    others: Mapping[str, object] = {}


@dataclass(frozen=True)
class ImportedCase:
    """`text` is what the file calls it, `framework` the whole name, as in pytorch_1.8, `config` the name of the file
    with its settings."""

    text: str
    request: CaseRequest
    framework: str
    config: str
    data: str
    where: str
    settings: CaseSettings = field(default_factory=CaseSettings)

    @property
    def name(self) -> str:
        return self.request.case.name


@dataclass(frozen=True)
class FlagperfRun:
    """Cases of one model and framework, on the same hardware and data: a run has one of each. `framework` is the base
    of the name."""

    model: str
    framework: str
    hardware: str
    data: str
    cases: Sequence[ImportedCase]

    @property
    def batch(self) -> int | None:
        return self.cases[0].settings.batch if "batch" not in self._differing else None

    @property
    def precision(self) -> str | None:
        return self.cases[0].settings.precision if "precision" not in self._differing else None

    @property
    def settings(self) -> Mapping[str, object]:
        """Those that all cases share."""
        found = self.cases[0].settings.others
        return {name: value for name, value in found.items() if name not in self._differing}

    @property
    def notes(self) -> Sequence[str]:
        """On what a run has once, and its cases have each for themselves."""
        return [
            f"{self.model} with {self.framework}: its cases differ in {name} ({', '.join(values)}), and a run has one:"
            " give it on the command line, or run the cases one by one."
            for name, values in self._differing.items()
        ]

    @property
    def _differing(self) -> Mapping[str, Sequence[str]]:
        """By name: each case with its value."""
        of_cases = [
            {"batch": one.settings.batch, "precision": one.settings.precision, **one.settings.others}
            for one in self.cases
        ]
        names = list(dict.fromkeys(name for values in of_cases for name in values))
        return {
            name: [f"{case.name} {values.get(name, 'none')}" for case, values in zip(self.cases, of_cases)]
            for name in names
            if any(values.get(name) != of_cases[0].get(name) for values in of_cases)
        }


@dataclass(frozen=True)
class Imported:
    """`training` is the folder of that name in the checkout."""

    training: Path
    vendor: str
    runs: Sequence[FlagperfRun]
    entries: Sequence[Entry]
