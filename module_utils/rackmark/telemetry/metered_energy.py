"""How much energy went through a meter in a window of time, from its readings of power or from its counter.

Between two readings the power is taken as their mean, so an interval that the window cuts counts with the share of its
energy that lies inside, and the energies of two windows side by side add up to that of both. Readings may come in any
order; those of the same time count as one, with their mean. What no reading speaks for is never counted as 0 J: little
of it is stated in `remarks`, more leaves no number.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import Iterable, Mapping, NamedTuple, Sequence, Tuple

GAP = 5  # median intervals: a longer time between two readings is one in which the meter was not read
MOST_IN_GAPS = 0.05  # of the window; a gap counts with the mean power of its two ends
MOST_AT_ENDS = 0.01  # of the window; what lies before the first reading or behind the last is not counted
MOST_APART = 0.05  # of the window: further apart, it would be chance whether the ends of a window are near a reading
MOST_HELD = 1.5  # median intervals at each end, so that an answer may be late
_SECOND = 1_000_000  # times are whole microseconds, so that no digit of a small difference of them is lost
_HALF_HOUR = 1800 * _SECOND
_FURTHEST_ZONES = 52  # half hours
_LARGEST_WATTS = 1e9
_LATEST = 1e11

_Pair = Tuple[float, float]


@dataclass(frozen=True)
class Energy:
    """`reason` says why there is no number, `remarks` what the number leaves out or takes for granted."""

    joules: float | None
    reason: str | None = None
    remarks: tuple[str, ...] = ()


class _Interval(NamedTuple):
    begin: int
    end: int
    watts: float

    @property
    def length(self) -> int:
        return self.end - self.begin


def energy(readings: Iterable[_Pair], window: _Pair) -> Energy:
    """`readings` are times with watts, `window` begin and end; all times in seconds."""
    begin, end = (round(time * _SECOND) for time in window)
    intervals = _intervals(readings)
    reason = _why_none(intervals, begin, end)
    if reason:
        return Energy(None, reason)
    joules = math.fsum(one.watts * one.length for one in _inside(intervals, begin, end)) / _SECOND
    return Energy(joules, None, _remarks(intervals, begin, end))


def seldom_read_energy(readings: Iterable[_Pair], window: _Pair) -> Energy:
    """Of a meter that is read every few seconds, so that windows begin and end between two of its readings.

    Where all windows of a length have an energy, or none: at each end the nearest reading stands for the time without.
    """
    points = _points(readings)
    begin, end = (round(time * _SECOND) for time in window)
    if len(points) < 2 or begin >= end or points[-1][0] <= begin or points[0][0] >= end:
        return energy(_readings(points), window)
    apart = median(next_one[0] - one[0] for one, next_one in zip(points, points[1:]))
    if apart > MOST_APART * (end - begin):
        rarely = f"{_seconds(apart)} apart: more than {100 * MOST_APART:g} % of the window's {_seconds(end - begin)}"
        return Energy(None, f"The readings are {rarely}.")
    (first, first_watts), (last, last_watts) = points[0], points[-1]
    before, after = max(0, first - begin), max(0, end - last)
    if max(before, after) > MOST_HELD * apart:
        return energy(_readings(points), window)
    held = [*([(begin, first_watts)] if before else []), *points, *([(end, last_watts)] if after else [])]
    found = energy(_readings(held), window)
    if found.joules is None or not before + after:
        return found
    remark = f"For {_of(before + after, end - begin)}, at its ends, the nearest reading stands."
    return Energy(found.joules, None, (remark, *found.remarks))


def counted_energy(readings: Iterable[_Pair], window: _Pair) -> Energy:
    """`readings` are times with joules of a counter that only grows, which goes on counting while nobody reads it.

    They come in the order in which they were taken. Of a clock that was put back, the times that it showed before
    count. Between two readings the counter is taken to grow evenly, which matters at the ends of the window alone.
    """
    begin, end = (round(time * _SECOND) for time in window)
    taken = [(round(time * _SECOND), joules) for time, joules in readings if abs(time) <= _LATEST]
    if any(one[1] > next_one[1] for one, next_one in zip(taken, taken[1:])):
        return Energy(None, "The counter began anew.")
    points: list[tuple[int, float]] = []
    for point in taken:
        if not points or point[0] > points[-1][0]:
            points.append(point)
    intervals = [
        _Interval(one[0], next_one[0], (next_one[1] - one[1]) / (next_one[0] - one[0]) * _SECOND)
        for one, next_one in zip(points, points[1:])
    ]
    at_edges = [one for one in intervals if one.begin < begin < one.end or one.begin < end < one.end]
    reason = _why_none(intervals, begin, end, at_edges)
    if reason:
        return Energy(None, reason)
    joules = math.fsum(one.watts * one.length for one in _inside(intervals, begin, end)) / _SECOND
    return Energy(joules, None, _remarks(intervals, begin, end, at_edges))


def no_overlap(readings: _Pair, window: _Pair) -> str | None:
    """A sentence if the first and the last reading have nothing in common with the window."""
    first, last, begin, end = (round(time * _SECOND) for time in (*readings, *window))
    return _how_far_off(first, last, begin, end) if last <= begin or first >= end else None


def total(energies: Mapping[str, Energy]) -> Energy:
    """Of all meters, by their names. A sum without one of them would not be that of the system."""
    known = [one.joules for one in energies.values() if one.joules is not None]
    missing = [f"{name}: {one.reason}" for name, one in energies.items() if one.joules is None]
    if missing or not known:
        return Energy(None, " ".join(missing) or "There is no meter.")
    remarks = (f"{name}: {text}" for name, one in energies.items() for text in one.remarks)
    return Energy(math.fsum(known), None, tuple(remarks))


def _readings(points: Iterable[tuple[int, float]]) -> list[_Pair]:
    return [(time / _SECOND, watts) for time, watts in points]


def _intervals(readings: Iterable[_Pair]) -> list[_Interval]:
    """With the mean power of both ends."""
    points = _points(readings)
    return [_Interval(one[0], next_one[0], (one[1] + next_one[1]) / 2) for one, next_one in zip(points, points[1:])]


def _points(readings: Iterable[_Pair]) -> list[tuple[int, float]]:
    """In order; what no meter can have read is no reading."""
    by_time: dict[int, list[float]] = defaultdict(list)
    for time, watts in readings:
        if 0 <= watts <= _LARGEST_WATTS and abs(time) <= _LATEST:
            by_time[round(time * _SECOND)].append(watts)
    return [(time, fmean(by_time[time])) for time in sorted(by_time)]


def _why_none(
    intervals: Sequence[_Interval], begin: int, end: int, guessed: Sequence[_Interval] | None = None
) -> str | None:
    """`guessed` are the intervals in which a gap matters, all of them if nothing is said."""
    if end <= begin:
        return "The window has no length."
    if not intervals:
        return "There are fewer than two readings of different times."
    first, last = intervals[0].begin, intervals[-1].end
    if last <= begin or first >= end:
        return _how_far_off(first, last, begin, end)
    whole = end - begin
    at_ends, in_gaps = _at_ends(first, last, begin, end), _in_gaps(intervals, begin, end, guessed)
    if at_ends > MOST_AT_ENDS * whole:
        return f"The readings cover only {_of(whole - at_ends, whole)}."
    if in_gaps > MOST_IN_GAPS * whole:
        return f"The meter was not read for {_of(in_gaps, whole)}."
    return None


def _remarks(
    intervals: Sequence[_Interval], begin: int, end: int, guessed: Sequence[_Interval] | None = None
) -> tuple[str, ...]:
    whole = end - begin
    at_ends = _at_ends(intervals[0].begin, intervals[-1].end, begin, end)
    in_gaps = _in_gaps(intervals, begin, end, guessed)
    remarks = []
    if at_ends:
        remarks.append(f"{_of(at_ends, whole)} have no reading and are not counted.")
    if in_gaps:
        remarks.append(f"The meter was not read for {_of(in_gaps, whole)}: the mean of both ends stands for them.")
    return tuple(remarks)


def _at_ends(first: int, last: int, begin: int, end: int) -> int:
    return max(0, first - begin) + max(0, end - last)


def _in_gaps(intervals: Sequence[_Interval], begin: int, end: int, guessed: Sequence[_Interval] | None = None) -> int:
    longest = GAP * median(one.length for one in intervals)
    gaps = [one for one in (intervals if guessed is None else guessed) if one.length > longest]
    return sum(one.length for one in _inside(gaps, begin, end))


def _inside(intervals: Iterable[_Interval], begin: int, end: int) -> list[_Interval]:
    return [
        _Interval(max(one.begin, begin), min(one.end, end), one.watts)
        for one in intervals
        if one.begin < end and one.end > begin
    ]


def _how_far_off(first: int, last: int, begin: int, end: int) -> str:
    """With the shift that would mend it, if it is one by which clocks and time zones differ."""
    off = begin - last if last <= begin else first - end
    side = "end {} before the window begins" if last <= begin else "begin {} after the window ends"
    sentence = f"The readings {side.format(_duration(off))}."
    ways = [sign * half_hours * _HALF_HOUR for half_hours in range(1, _FURTHEST_ZONES + 1) for sign in (1, -1)]
    for way in sorted(ways, key=lambda way: (way % (2 * _HALF_HOUR) != 0, abs(way))):
        if _at_ends(first + way, last + way, begin, end) <= MOST_AT_ENDS * (end - begin):
            hours = f"{abs(way) / (2 * _HALF_HOUR):g} h {'later' if way > 0 else 'earlier'}"
            return f"{sentence} {hours} they would cover it: the clock or the time zone of the meter looks wrong."
    return sentence


def _of(part: int, whole: int) -> str:
    return f"{_seconds(part)} of the window's {_seconds(whole)}"


def _seconds(microseconds: float) -> str:
    return f"{microseconds / _SECOND:.1f} s"


def _duration(microseconds: int) -> str:
    seconds = round(microseconds / _SECOND)
    if seconds < 60:
        return f"{microseconds / _SECOND:.1f} s"
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{value} {unit}" for value, unit in parts if value)
