"""Whether the samples/s of an MLPerf run can be believed: everything else that its log says of them has to agree.

Submitters mean different things by an epoch, by `train_samples` and by the end of an interval, so that a rate computed
from these alone was wrong in every third published log.
"""

from __future__ import annotations

from statistics import median
from typing import Mapping, NamedTuple, Sequence

from ..logs.series import Rows

# The time between intervals, which evaluations take, is not in the rate: it may be above that of the whole run.
_LOWEST, _HIGHEST = 0.9, 1.3
_DATA_SETS: Mapping[str, Sequence[int]] = {  # which MLPerf's rules prescribe
    "resnet": (1_281_167,),
    "ssd": (117_266, 1_170_301),
    "maskrcnn": (117_266,),
    "unet3d": (168,),
}
_SAME_DATA = 0.02  # some drop or repeat the samples of an incomplete batch


class Said(NamedTuple):
    """`samples` were trained in the `seconds` from run_start to run_stop; `rates` are those that the log prints."""

    samples: float
    seconds: float
    rates: Sequence[float]


def other_data_set(benchmark: str, train_samples: float) -> str | None:
    known = _DATA_SETS.get(benchmark, ())
    if not known or any(abs(train_samples / size - 1) <= _SAME_DATA for size in known):
        return None
    sizes = " or ".join(f"{size:,}" for size in known)
    return f"train_samples is {train_samples:,.0f}, and the data set of {benchmark} has {sizes} samples."


def contradiction(rows: Rows, said: Said) -> str | None:
    """A sentence on what in the log speaks against the rate that the intervals make."""
    seconds = float(rows.seconds.sum())
    rate = float(rows.samples.sum()) / seconds
    whole = said.samples / said.seconds
    if not _agrees(rate, whole):
        return (
            f"The intervals of the log make {rate:,.1f} samples/s, but {said.samples:,.0f} samples in the"
            f" {said.seconds:,.1f} s from run_start to run_stop are {whole:,.1f}."
        )
    if said.rates and not _agrees(rate, median(said.rates)):
        return (
            f"The intervals of the log make {rate:,.1f} samples/s, but the rates that it prints are"
            f" {median(said.rates):,.1f} (the median of {len(said.rates)})."
        )
    return None


def _agrees(rate: float, other: float) -> bool:
    return _LOWEST * other <= rate <= _HIGHEST * other
