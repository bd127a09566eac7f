"""What an operator may say about logs that the logs do not say themselves."""

from __future__ import annotations

from dataclasses import dataclass

from ..aiperf import rules
from ..logs.dialect import Dialect
from ..logs.series import Window
from ..run.cases import Case

PROFILES = ("rackmark", "dlperf", *rules.PROFILES)
_OWN = "rackmark"


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
