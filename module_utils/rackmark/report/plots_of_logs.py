"""Pictures of what the logs hold: the ranks beside each other, the times of the steps, the loss."""

from __future__ import annotations

from typing import Mapping, Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from ..numbers.estimates import median, quantile
from ..numbers.measurements import Measurements
from ..numbers.words import duration
from .canvas import ACCENT, FAINT, INK, LIGHT, MANY, PALE, blank, cases_below, none_ok, png, words

SMALLEST_SCALE = 0.01  # 1 %: what is closer together than this is noise, and is drawn as such
WIDE = 8  # step times further apart than this share a picture only on a logarithmic axis
SLOWEST = 40  # dots for single steps; more of them would be one blot
BAND = 0.76  # the share of its place that a case uses


def ranks(measured: Mapping[str, Measurements]) -> bytes:
    """Against the middle rank of the case: cases differ from each other by more than their ranks do."""
    figure, axes = blank("Step time of every rank, against the middle rank")
    cases_below(axes, list(measured))
    axes.axhline(0, color=FAINT, linewidth=1)
    furthest = SMALLEST_SCALE
    for place, case in enumerate(measured.values()):
        if len(case.ranks) < 2:
            none_ok(axes, place, len(measured), "one rank" if case.ranks else "no repeat is ok")
            continue
        middle = median(case.ranks) or 1
        off = [seconds / middle - 1 for seconds in case.ranks]
        across = [place + BAND * (number / (len(off) - 1) - 0.5) for number in range(len(off))]
        axes.vlines(across, 0, off, color=LIGHT, linewidth=1)
        axes.plot(across, off, "o", color=ACCENT, markersize=4 if len(off) <= 8 else 2.5, markeredgewidth=0)
        furthest = max(furthest, *map(abs, off))
        _name_the_slowest(axes, across, off)
    axes.set_ylim(-furthest * 1.3, furthest * 1.3)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:+.3g} %" if value else "0"))
    return png(figure)


def _name_the_slowest(axes: Axes, across: Sequence[float], off: Sequence[float]) -> None:
    slowest = max(range(len(off)), key=off.__getitem__)
    if off[slowest] > SMALLEST_SCALE:
        place = (across[slowest], off[slowest])
        axes.annotate(
            f"rank {slowest}", place, (0, 5), textcoords="offset points", color=INK, ha="center", fontsize=8.5
        )


def steps(measured: Mapping[str, Measurements]) -> bytes:
    """Box: the middle half. Whiskers: p5 to p95. Dots: the steps beyond, the slowest of them when there are many."""
    figure, axes = blank("Time of a step")
    cases_below(axes, [_with_quantiles(name, case, len(measured)) for name, case in measured.items()])
    seen: list[float] = []
    for place, case in enumerate(measured.values()):
        if not case.steps:
            none_ok(axes, place, len(measured))
            continue
        p5, p25, p50, p75, p95 = (quantile(case.steps, share) or 0 for share in (0.05, 0.25, 0.5, 0.75, 0.95))
        slow = sorted(step for step in case.steps if step > p95)[-SLOWEST:]
        axes.plot([place] * len(slow), slow, "o", color=LIGHT, markersize=3, markeredgewidth=0)
        axes.vlines([place], p5, p95, color=ACCENT, linewidth=1.4)
        axes.hlines([p5, p95], place - 0.1, place + 0.1, color=ACCENT, linewidth=1.4)
        axes.bar([place], [p75 - p25], bottom=p25, width=0.46, color=PALE, edgecolor=ACCENT, linewidth=1.2, zorder=3)
        axes.hlines([p50], place - 0.23, place + 0.23, color=ACCENT, linewidth=2.2, zorder=4)
        seen += [p5, p95, *slow]
    _time_axis(axes, min(seen), max(seen))
    return png(figure)


def _with_quantiles(name: str, case: Measurements, cases: int) -> str:
    if cases > MANY or not case.steps:
        return name
    return "\n".join([name, *(duration(quantile(case.steps, share) or 0) for share in (0.5, 0.95))])


def _time_axis(axes: Axes, lowest: float, highest: float) -> None:
    """Not from zero: how wide the distributions are is what is to be seen."""
    if highest > WIDE * lowest:
        axes.set_yscale("log")
        axes.set_ylim(lowest * 0.8, highest * 1.25)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        margin = (highest - lowest) * 0.08 or lowest * 0.1
        axes.set_ylim(max(0, lowest - margin), highest + margin)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(seconds: float) -> str:
    if seconds == 0:
        return "0"
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms"


def losses(measured: Mapping[str, Measurements]) -> bytes:
    figure, axes = blank("Loss")
    known = {name: case.losses for name, case in measured.items() if case.losses}
    shades = [colormaps["viridis"](0.85 * number / max(1, len(known) - 1)) for number in range(len(known))]
    for (name, curve), shade in zip(known.items(), shades):
        few = "o-" if len(curve) <= 20 else "-"
        axes.plot(*zip(*curve), few, markersize=3.5, color=shade, linewidth=1.5, label=name)
    axes.legend(frameon=False, fontsize=words(len(known)), labelcolor=INK, ncols=1 if len(known) <= 4 else 2)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))
    axes.set_xlabel("step", color=FAINT)
    return png(figure)
