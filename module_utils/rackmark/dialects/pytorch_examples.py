"""PyTorch's ImageNet example, in its older and newer spellings.

    Epoch: [0][10/5005]     Time 0.345 (0.400)      Data 0.000 (0.012)      Loss 6.9828 (6.9828)    Prec@1 0.781 (0.781)
    Epoch: [0][  10/5005]   Time  0.345 ( 0.400)    Data  0.000 ( 0.012)    Loss 6.9828e+00 (6.9828e+00)    Acc@1 ...

The time is that of the last step, in brackets the mean of all steps of the epoch. Where every step has a line the
first counts, as for DLPerf; otherwise the steps in between are only in the mean, so the mean times its steps counts.
All processes of a node write to one log without naming themselves: their times for a step are averaged, as they wait
for each other. DLPerf counts lines instead: its default window, 20 to 120 of the lines whose number is above 5, is
the steps 27 to 126 of one process.
"""

from __future__ import annotations

import numpy as np

from ..logs.arrays import Array
from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.matching import Found
from ..logs.reading import Fault, Fold, Reading
from ..logs.series import Series, Window, rows

_EPOCH_BEGIN, _STEP = "Epoch: [{epoch:int}][", "{step:int}/{total:int}]{_}Time{_}{seconds:float} ("
KINDS = (
    kind("step", _EPOCH_BEGIN + _STEP + "{_}{mean:float})"),
    kind("padded step", _EPOCH_BEGIN + "{_}" + _STEP + "{_}{mean:float})"),
    kind("long step", _EPOCH_BEGIN + _STEP + "{mean:float})"),
    kind("long padded step", _EPOCH_BEGIN + "{_}" + _STEP + "{mean:float})"),
    kind("fact loss", "Loss {loss:float}"),
    kind("fact model", "=> creating model '{model:word}"),
    kind("accuracy", "*{_}Acc@1 {top1:float}"),
    kind("older accuracy", "*{_}Prec@1 {top1:float}"),
)
_STEPS = tuple(one.name for one in KINDS if one.name.endswith("step"))
_LONGEST = 1e7  # seconds that a step may take
_EPOCH, _INDEX, _TOTAL, _SECONDS, _MEAN_SECONDS, _LOSS = range(6)


class ExamplesFold(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._ranks: dict[int | None, _Steps] = {}

    def take(self, found: Found, rank: int | None) -> None:
        for name in ("accuracy", "older accuracy"):
            if name in found and np.isfinite(found[name].fields["top1"][-1]):
                self.reading.stated["accuracy"] = float(found[name].fields["top1"][-1]) / 100
        if "fact model" in found:
            self.note({"model": found["fact model"].fields["model"][0].decode(errors="replace").strip("'")})
        if any(name in found for name in _STEPS):
            if rank not in self._ranks:
                self._ranks[rank] = _Steps(self.reading.of_rank(rank))
            self._ranks[rank].take(_lines(found))

    def finish(self) -> Reading:
        for steps in self._ranks.values():
            steps.settle(last=True)
            self.reading.faults += steps.faults
        facts = self.reading.facts
        devices = facts.get("world_size") or facts.get("nodes", 0) * facts.get("devices_per_node", 0)
        lines = max((steps.lines_of_a_step for steps in self._ranks.values()), default=0)
        if 0 < devices < lines and not self.reading.faults:
            reason = f"A step has {lines} lines, and the number of devices is {devices}"
            self.reading.faults.append(Fault("incomplete", f"{reason}: the log holds more than one training."))
        return self.reading


def _lines(found: Found) -> Array:
    """A row per line, in order; the loss is what the next loss is, if that comes before the next line."""
    parts = [
        np.column_stack([table.at, *(table.fields[name] for name in ("epoch", "step", "total", "seconds", "mean"))])
        for table in (found[name] for name in _STEPS if name in found)
    ]
    lines = np.vstack(parts)
    lines = lines[np.argsort(lines[:, 0], kind="stable")]
    if "fact loss" not in found:
        return np.column_stack([lines[:, 1:], np.full(len(lines), np.nan)])
    losses = found["fact loss"].fields["loss"]
    following = np.searchsorted(found["fact loss"].at, lines[:, 0])
    belongs = np.append(found["fact loss"].at, np.inf)[following] < np.append(lines[1:, 0], np.inf)
    loss = np.append(np.where(np.isnan(losses), np.inf, losses), np.nan)[following]
    return np.column_stack([lines[:, 1:], np.where(belongs, loss, np.nan)])


class _Steps:
    """The steps of one log, each with the mean of what the processes wrote."""

    ENOUGH = 1 << 15
    LATE = 100  # lines: processes write in blocks of 8 kB, so one may be that much behind the others

    def __init__(self, series: Series) -> None:
        self.faults: list[Fault] = []
        self.lines_of_a_step = 0
        self._series = series
        self._waiting: list[Array] = []
        self._first_epoch: float | None = None
        self._every = 1.0
        self._from_one = False
        self._settled = self._furthest = -1.0
        self._epoch = -1.0
        self._count = self._total_seconds = 0.0  # of the epoch, up to where intervals are known

    def take(self, lines: Array) -> None:
        times = lines[:, [_SECONDS, _MEAN_SECONDS]]
        self._waiting.append(lines[((times > 0) & (times < _LONGEST)).all(1)])
        if sum(map(len, self._waiting)) >= self.ENOUGH:
            self.settle(last=False)

    def settle(self, last: bool) -> None:
        lines = np.vstack(self._waiting)
        if not len(lines):
            return
        if self._first_epoch is None:
            self._look_at_numbers(lines)
        number = (lines[:, _EPOCH] - self._first_epoch) * lines[:, _TOTAL] + lines[:, _INDEX]
        self._look_for_restart(number)
        ready = number > self._settled
        if not last:
            ready &= number < number.max() - self.LATE * self._every
        self._waiting = [lines[~ready & (number > self._settled)]]
        if ready.any():
            self._settled = float(number[ready].max())
            self.lines_of_a_step = max(self.lines_of_a_step, int(np.unique(number[ready], return_counts=True)[1].max()))
            self._add(*_averaged(number[ready], lines[ready]))

    def _look_at_numbers(self, lines: Array) -> None:
        """Newer versions count from one: with a line for every step no number is zero, else none divides."""
        self._first_epoch = float(lines[:, _EPOCH].min())
        of_first = np.unique(lines[lines[:, _EPOCH] == self._first_epoch, _INDEX])
        if len(of_first) > 1:
            self._every = float(np.median(np.diff(of_first)))
        lowest = of_first[0]
        self._from_one = bool(lowest % self._every == 1 if self._every > 1 else lowest == 1)

    def _look_for_restart(self, number: Array) -> None:
        before = np.maximum.accumulate(np.append(self._furthest, number))
        self._furthest = float(before[-1])
        late = np.flatnonzero((number <= self._settled) | (number < before[:-1] - self.LATE * self._every))
        if len(late) and not self.faults:
            after, step = before[late[0]], number[late[0]]
            reason = f"After step {after:.0f} comes step {step:.0f}: the log holds more than one training."
            self.faults.append(Fault("incomplete", reason))

    def _add(self, number: Array, steps: Array) -> None:
        shift = 0 if self._from_one else 1
        if self._every == 1:
            self._series.add(rows(number + shift, np.ones(len(number)), steps[:, _SECONDS], loss=steps[:, _LOSS]))
            return
        for epoch in np.unique(steps[:, _EPOCH]):
            of_epoch = steps[:, _EPOCH] == epoch
            self._add_means(epoch, number[of_epoch] + shift, steps[of_epoch, _INDEX] + shift, steps[of_epoch])

    def _add_means(self, epoch: float, number: Array, count: Array, steps: Array) -> None:
        """The time of all steps of the epoch so far, from one line to one a tenth further: the mean is printed with
        three digits, so that between lines side by side little would be left of it but its rounding."""
        seconds = steps[:, _MEAN_SECONDS] * count
        if epoch != self._epoch:
            self._epoch, self._count, self._total_seconds = epoch, 0.0, 0.0
        far = np.floor(np.log(np.maximum(np.append(self._count, count), 1)) / np.log(1.1))
        ends = (np.diff(far) > 0) | np.isinf(steps[:, _LOSS]) | (number == number[-1])
        count, seconds = count[ends], seconds[ends]
        taken = np.diff(count, prepend=self._count), np.diff(seconds, prepend=self._total_seconds)
        self._count, self._total_seconds = float(count[-1]), float(seconds[-1])
        good = (taken[0] > 0) & (taken[1] > 0)
        self._series.add(rows(number[ends], *taken, loss=steps[ends, _LOSS]).pick(good))


def _averaged(number: Array, lines: Array) -> tuple[Array, Array]:
    """One row per step; a loss that is not known of one process is that of the others."""
    unique, place = np.unique(number, return_inverse=True)
    processes = np.bincount(place)
    columns = [np.bincount(place, weights=lines[:, column]) / processes for column in range(_LOSS)]
    known = ~np.isnan(lines[:, _LOSS])
    with np.errstate(invalid="ignore"):
        loss = np.bincount(place[known], lines[known, _LOSS], len(unique)) / np.bincount(
            place[known], minlength=len(unique)
        )
    return unique, np.column_stack([*columns, loss])


DIALECTS = (
    Dialect(
        name="pytorch-examples",
        title="PyTorch's ImageNet example",
        kinds=KINDS,
        fold=ExamplesFold,
        warmup=26,
        last=126,
    ),
)
