"""What an operator may say about logs that the logs do not say themselves."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Iterable

from ..aiperf import rules
from ..logs.dialect import Dialect
from ..logs.series import Window
from ..run.cases import Case
from ..run.keys import did_you_mean

PROFILES = ("rackmark", "dlperf", *rules.PROFILES)
NAMES = ("logs", "dialect", "warmup", "train", "batch", "case", "baseline", "precision", "profile", "out")
_OWN = "rackmark"
_PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "amp", "mixed", "half")


def refuse_other_names(typed: Iterable[str]) -> None:
    """Ansible passes a variable that nobody reads over without a word."""
    for name in typed:
        if name not in NAMES and not name.startswith("ansible_"):
            raise ValueError(f"analyze.yml reads no variable {name}: {did_you_mean(name, NAMES)}")


@dataclass(frozen=True)
class Options:
    """None is what was not said. The profile `dlperf` measures and rounds as DLPerf does; those of AIPerf are about its
    experiments. `precision` is that of logs that do not name theirs, `own_window` what our own runs among the logs
    measure.
    """

    warmup: int | None = None
    last: int | None = None
    batch: int | None = None
    case: Case | None = None
    precision: str | None = None
    baseline: Case | None = None
    profile: str = "rackmark"
    own_window: Window | None = None

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"profile={self.profile} is not known: the profiles are {', '.join(PROFILES)}.")
        close = difflib.get_close_matches(self.precision or "", _PRECISIONS, n=1, cutoff=0.74)
        if close and self.precision not in _PRECISIONS:
            raise ValueError(f"precision={self.precision} is not known: did you mean {close[0]}?")
        for name, value, least in (("warmup", self.warmup, 0), ("train", self.last, 1), ("batch", self.batch, 1)):
            if value is not None and value < least:
                raise ValueError(f"{name}={value} makes no sense: it takes at least {least}.")
        if self.last is not None and self.last <= (self.warmup or 0):
            raise ValueError(f"train={self.last} is the last step that is measured: it has to be above the warm-up.")

    @property
    def rules(self) -> str | None:
        """The profile by which experiments of AIPerf are judged; None is the one that each of them names, or aiperf."""
        return self.profile if self.profile in rules.PROFILES else None

    def window(self, dialect: Dialect) -> Window:
        if self.own_window is not None and dialect.name == _OWN and self.warmup is self.last is None:
            return self.own_window
        warmup = dialect.warmup if self.warmup is None else self.warmup
        last = dialect.last if self.last is None and self.profile == "dlperf" else self.last
        if last is not None and last <= warmup:
            raise ValueError(
                f"Nothing would be measured in logs of {dialect.name}: the warm-up takes {warmup} steps, the last to be"
                f" measured is {last}. Choose with -e warmup= and -e train=."
            )
        return Window(warmup, last)
