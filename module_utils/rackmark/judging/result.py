"""What came of one repeat: a state with a reason, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Mapping, Sequence

from ..aiperf.result import ExperimentResult
from ..logs.digest import Digest, RankDigest


@dataclass(frozen=True)
class Result:
    """Rates are samples per second of all ranks: in the measured window, of the whole training, and of that without
    the time of evaluations. They are null, as loss, accuracy and measures are, unless the state is `ok`.

    `time_to_train_s` is what a training took to reach what was asked for; `time_to_train_scaling` is the
    factor by which MLPerf lengthens the result of such runs; `converged` says whether it did, and is None
    where that is not known or nothing was to be reached. `energy_j` went through meters from its begin
    to its end, in our own runs while steps were measured, and `samples_per_j` were trained per joule in that time.
    `energy_of` says what was metered, as far as that is known. The job began at `began`, and `e2e_s` later it ended;
    `attempts_counted` are those whose work is in the numbers, `device_memory_mb` is what the fullest device had in use
    of `device_memory_total_mb`. `measures` are the numbers that the workload declares, `missing` says of those that are
    null why. `doubts` are what speaks against an ok repeat, in words that follow its number."""

    case: str
    repeat: int
    state: str
    reason: str | None
    throughput: float | None = None
    whole: float | None = None
    no_eval: float | None = None
    loss: float | None = None
    accuracy: float | None = None
    time_to_train_s: float | None = None
    time_to_train_scaling: float | None = None
    converged: bool | None = None
    energy_j: float | None = None
    samples_per_j: float | None = None
    ranks_seen: int = 0
    attempts: int = 1
    attempts_counted: int = 1
    job_id: int | str | None = None
    nodes: str | None = None
    finished: float | None = None
    energy_of: str | None = None
    began: float | None = None
    e2e_s: float | None = None
    device_memory_mb: float | None = None
    device_memory_total_mb: float | None = None
    measures: Mapping[str, float | None] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    doubts: Sequence[str] = ()

    def failed(self, state: str, reason: str) -> Result:
        """The same without its numbers."""
        return replace(
            self,
            state=state,
            reason=reason,
            throughput=None,
            whole=None,
            no_eval=None,
            loss=None,
            accuracy=None,
            time_to_train_s=None,
            e2e_s=None,
            converged=False if self.converged is False and state == "rule_failed" else None,
            measures=dict.fromkeys(self.measures),
            missing=dict.fromkeys(self.measures, f"The repeat is {state}."),
        )


@dataclass(frozen=True)
class Judged:
    """`ranks` are those of an ok repeat, and of others as far as they logged; `samples` is what the measured window
    holds of all of them together, as far as logs tell. `experiment` is what the numbers of a search are from."""

    result: Result
    ranks: Mapping[int | None, RankDigest] = field(default_factory=dict)
    logs: Sequence[Digest] = ()
    samples: float | None = None
    experiment: ExperimentResult | None = None
