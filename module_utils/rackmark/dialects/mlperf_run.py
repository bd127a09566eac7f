"""One MLPerf training run: from run_start to run_stop, with the intervals in which it trained.

What an interval trained is said in one of three ways. Newer benchmarks count the samples at the begin and the end of
every block. Of the older ones some train whole epochs, with lines for every epoch or only for blocks of them; others
call an epoch whatever they have trained, so that theirs tell nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple

import numpy as np

from ..logs.json_records import mapping, number, positive
from ..logs.series import Rows, rows
from .mlperf_rate import Said, contradiction, other_data_set

WHOLE_EPOCHS = frozenset({"resnet", "ssd", "maskrcnn", "unet3d", "rnnt"})
_MOST_INTERVALS = 100_000
_MOST_RATES = 10_000
_RATES = ("throughput", "imgs_sec")
_NOT_SAID = "The log does not say how many samples were trained when: it has no throughput."


class Interval(NamedTuple):
    """`trained` is a number of epochs or of samples."""

    begin_ms: float
    end_ms: float
    trained: float


class Trained(NamedTuple):
    """Without rows there is a reason."""

    rows: Rows | None
    reason: str | None


@dataclass
class _Block:
    """Of epochs, from `first` on. `epochs` is what it was to have, `begins` how often it was said to begin."""

    first: float
    epochs: float | None
    begin_ms: float
    end_ms: float = math.nan
    begins: int = 1


class Run:
    """`status` is what it ended with; `accuracy` is the last that was evaluated."""

    def __init__(self, started_ms: float) -> None:
        self.started_ms = started_ms
        self.stopped_ms: float | None = None
        self.status: str | None = None
        self.accuracy: float | None = None
        self._epochs: list[Interval] = []
        self._blocks: list[Interval] = []
        self._counted: list[Interval] = []
        self._epoch: tuple[float | None, float] | None = None
        self._block: _Block | None = None
        self._ended: _Block | None = None
        self._evaluated: float | None = None
        self._counting: tuple[float, float] | None = None
        self._first_epoch: float | None = None
        self._rates: list[float] = []

    @property
    def seconds(self) -> float | None:
        return None if self.stopped_ms is None else (self.stopped_ms - self.started_ms) / 1000

    @property
    def has_trained(self) -> bool:
        return bool(self._epochs or self._blocks or self._counted)

    def take(self, key: str, time_ms: float, value: object, metadata: Mapping[str, Any]) -> None:
        epoch = number(metadata.get("epoch_num"))
        if key == "epoch_start":
            self._note_first(epoch)
            if self._epoch is None or self._epoch[0] != epoch:
                self._epoch = epoch, time_ms
        elif key == "epoch_stop":
            if self._epoch is not None and self._epoch[0] == epoch:
                _add(self._epochs, self._epoch[1], time_ms, 1)
                self._epoch = None
        elif key == "block_start":
            self._begin_block(time_ms, metadata)
        elif key == "block_stop":
            self._end_block(time_ms, metadata)
        elif key == "eval_accuracy":
            self.accuracy = number(value)
            self._evaluated = epoch
            if epoch is not None:
                self._settle_evaluated(epoch)
        elif key == "throughput":
            self.take_rate(value)
        elif key == "tracked_stats":
            self.take_rate(next((found for name in _RATES if (found := mapping(value).get(name)) is not None), None))

    def take_rate(self, value: object) -> None:
        """Some write a number as a text."""
        try:
            rate = positive(float(value) if isinstance(value, str) else value)
        except ValueError:
            return
        if rate is not None and len(self._rates) < _MOST_RATES:
            self._rates.append(rate)

    def _note_first(self, epoch: float | None) -> None:
        if self._first_epoch is None:
            self._first_epoch = epoch

    def _begin_block(self, time_ms: float, metadata: Mapping[str, Any]) -> None:
        samples, first = number(metadata.get("samples_count")), number(metadata.get("first_epoch_num"))
        if samples is not None and (self._counting is None or self._counting[0] != samples):
            self._counting = samples, time_ms
        if first is None:
            return
        self._note_first(first)
        self._settle_block(first)
        if self._block is not None and self._block.first == first:
            self._block.begins += 1
        else:
            self._block = _Block(first, number(metadata.get("epoch_count")), time_ms)

    def _end_block(self, time_ms: float, metadata: Mapping[str, Any]) -> None:
        samples = number(metadata.get("samples_count"))
        if samples is not None and self._counting is not None:
            _add(self._counted, self._counting[1], time_ms, samples - self._counting[0])
            self._counting = None
        if self._block is None or self._block.first != number(metadata.get("first_epoch_num")):
            return
        self._block.end_ms = time_ms
        self._ended, self._block = self._block, None
        if self._evaluated is not None:
            self._settle_evaluated(self._evaluated)

    def _settle_evaluated(self, epoch: float) -> None:
        """An evaluation after an epoch that the block does not have counts something else, such as samples."""
        block = self._ended
        if block is not None and (block.begins > 1 or block.epochs is None or epoch < block.first + block.epochs):
            self._settle_block(epoch + 1)

    def _settle_block(self, after: float) -> None:
        """`after` is the first epoch that is not in the block that has ended: some say anew with every epoch that the
        block begins, with an epoch count of one."""
        block = self._ended
        if block is not None and after > block.first:
            _add(self._blocks, block.begin_ms, block.end_ms, after - block.first)
            self._ended = None

    def trained(self, benchmark: str, values: Mapping[str, float]) -> Trained:
        """In steps of the global batch, if all that the log says agrees."""
        batch, epoch_samples = values.get("global_batch_size"), values.get("train_samples")
        if batch is None or not self.seconds:
            return Trained(None, _NOT_SAID)
        if self._counted:
            return self._believed([_as_rows(self._counted, 1, batch)], self.seconds)
        if benchmark not in WHOLE_EPOCHS or epoch_samples is None:
            return Trained(None, _NOT_SAID)
        if self._ended is not None and self._ended.begins == 1 and self._ended.epochs is not None:
            self._settle_block(self._ended.first + self._ended.epochs)
        candidates = [found for found in (self._epochs, self._blocks) if found]
        if not candidates:
            return Trained(None, _NOT_SAID)
        if self._first_epoch is not None and self._first_epoch > 1:
            return Trained(None, f"The first epoch is called {self._first_epoch:.0f}: these numbers count no epochs.")
        odd = other_data_set(benchmark, epoch_samples)
        if odd is not None:
            return Trained(None, odd)
        return self._believed([_as_rows(found, epoch_samples, batch) for found in candidates], self.seconds)

    def _believed(self, candidates: list[Rows], seconds: float) -> Trained:
        """Of large systems the epochs may end before the devices are done with them; blocks wait for the evaluation."""
        said = Said(max(float(one.samples.sum()) for one in candidates), seconds, self._rates)
        reasons = []
        for one in candidates:
            reason = contradiction(one, said)
            if reason is None:
                return Trained(one, None)
            reasons.append(reason)
        return Trained(None, reasons[0])


def _add(intervals: list[Interval], begin_ms: float, end_ms: float, trained: float) -> None:
    if end_ms > begin_ms and trained > 0 and len(intervals) < _MOST_INTERVALS:
        intervals.append(Interval(begin_ms, end_ms, trained))


def _as_rows(intervals: list[Interval], samples_of_each: float, batch: float) -> Rows:
    begin, end, trained = np.array(intervals).T
    samples = trained * samples_of_each
    steps = samples / batch
    return rows(np.cumsum(steps), steps, (end - begin) / 1000, samples, time=end / 1000)
