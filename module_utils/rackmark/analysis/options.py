"""What an operator may say about logs that the logs do not say themselves."""

from __future__ import annotations

from dataclasses import dataclass

from ..dialects.dialect import Dialect
from ..dialects.series import Window
from ..run.cases import Case

PROFILES = ("rackmark", "dlperf")


@dataclass(frozen=True)
class Options:
    """None is what was not said. The profile `dlperf` measures and rounds as DLPerf does."""

    warmup: int | None = None
    last: int | None = None
    batch: int | None = None
    case: Case | None = None
    baseline: str | None = None
    profile: str = "rackmark"

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"profile={self.profile} is not known: the profiles are {' and '.join(PROFILES)}.")
        for name, value, least in (("warmup", self.warmup, 0), ("train", self.last, 1), ("batch", self.batch, 1)):
            if value is not None and value < least:
                raise ValueError(f"{name}={value} makes no sense: it takes at least {least}.")
        if self.last is not None and self.last <= (self.warmup or 0):
            raise ValueError(f"train={self.last} is the last step that is measured: it has to be above the warm-up.")

    def window(self, dialect: Dialect) -> Window:
        warmup = dialect.warmup if self.warmup is None else self.warmup
        last = dialect.last if self.last is None and self.profile == "dlperf" else self.last
        return Window(warmup, last)
