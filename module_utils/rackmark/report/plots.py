"""Pictures of a summary: throughput, speedup and efficiency of the cases."""

from __future__ import annotations

import math
from typing import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator, PercentFormatter, StrMethodFormatter

from ..numbers.summary_json import Summary, headline_of, values_of
from ..numbers.words import factor, percent, quantity
from .canvas import ACCENT, FAINT, INK, LIGHT, MANY, NONE_OK, PALE, blank, cases_below, label, none_ok, png, point

APART = 1.5  # cases whose sizes are closer leave no room for the words of both
BESIDE = 0.22  # how far left of the median the single repeats stand, so that neither hides the other


def throughput(summary: Summary) -> bytes:
    cases = summary["cases"]
    figure, axes = blank(f"Throughput, {summary['unit']}")
    cases_below(axes, [f"{case['case']}\n{case['repeats_ok']}/{case['repeats_total']} ok" for case in cases])
    for place, case in enumerate(cases):
        if case["median"] is None:
            none_ok(axes, place, len(cases), f"no {summary['unit']}" if case["repeats_ok"] else NONE_OK)
            continue
        repeats = values_of(case, headline_of(summary))
        axes.bar([place], [case["median"]], width=0.72, color=PALE)
        axes.plot([place - BESIDE] * len(repeats), repeats, "o", color=LIGHT, markersize=4.5, markeredgewidth=0)
        point(axes, place, case["median"], case["ci95"])
        label(axes, place, max(case["median"], *repeats, *(case["ci95"] or ())), quantity(case["median"]), len(cases))
    highest = max(
        [value for case in cases for value in (*values_of(case, headline_of(summary)), *(case["ci95"] or ()))]
    )
    axes.set_ylim(0, highest * 1.14)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    return png(figure)


def speedup(summary: Summary) -> bytes:
    """Both axes double from tick to tick, so that the ideal is a straight line and small cases stay readable."""
    cases = sorted(summary["cases"], key=lambda case: case["world_size"])
    shown = [(case["world_size"], case["speedup"], case["speedup_ci95"]) for case in cases]
    known = [(size, value, bounds) for size, value, bounds in shown if value is not None]
    figure, axes = blank(f"Speedup over {summary['baseline']}", grid="both")
    base = next(case["world_size"] for case in cases if case["case"] == summary["baseline"])
    sizes = [case["world_size"] for case in cases]
    ideal = [size / base for size in sizes]
    axes.plot(sizes, ideal, "--", color=FAINT, linewidth=1.2)
    axes.annotate("ideal", (sizes[-1], ideal[-1]), (-10, 3), textcoords="offset points", color=FAINT, ha="right")
    axes.plot([size for size, _, _ in known], [value for _, value, _ in known], color=ACCENT, linewidth=1.4)
    labelled = 0.0
    for size, value, bounds in known:
        point(axes, size, value, bounds)
        if size < labelled * APART:
            continue
        labelled = size
        beside = (size, min([value, *(bounds or ())]))
        axes.annotate(factor(value), beside, (7, -4), textcoords="offset points", color=INK, va="top", fontsize=9.5)
    reached = [end for _, value, bounds in known for end in (value, *(bounds or ()))]
    _double(axes, sizes, min(*reached, *ideal), max(*reached, *ideal))
    axes.set_xlabel("devices", color=FAINT)
    return png(figure)


def efficiency(summary: Summary) -> bytes:
    cases = summary["cases"]
    figure, axes = blank("Efficiency")
    cases_below(axes, [case["case"] for case in cases])
    axes.axhline(1, linestyle="--", color=FAINT, linewidth=1.2)
    values = []
    for place, case in enumerate(cases):
        if case["efficiency"] is None:
            none_ok(axes, place, len(cases), f"no {summary['unit']}" if case["repeats_ok"] else NONE_OK)
            continue
        bounds = case["efficiency_ci95"]
        point(axes, place, case["efficiency"], bounds)
        label(
            axes, place, min([case["efficiency"], *(bounds or ())]), percent(case["efficiency"]), len(cases), below=True
        )
        values += [case["efficiency"], *(bounds or ())]
    lowest, top = min([*values, 0.95]), max([*values, 1])
    bottom = max(0, math.floor((lowest - (top - lowest) * 0.14) * 10) / 10)  # leaves room for the words below a point
    axes.set_ylim(bottom, top + (top - bottom) * 0.08)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    return png(figure)


def _double(axes: Axes, sizes: Sequence[int], lowest: float, highest: float) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    shown = sizes if len(sizes) <= MANY else _powers(min(sizes), max(sizes))
    axes.set_xticks(shown, [f"{size:g}" for size in shown])
    powers = _powers(lowest, highest)
    axes.set_yticks(powers, [f"{power:g}" for power in powers])
    axes.set_xlim(min(sizes) / 1.18, max(sizes) * 1.5)
    axes.set_ylim(lowest * 0.66, highest * 1.25)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())


def _powers(lowest: float, highest: float) -> list[float]:
    return [2.0**power for power in range(math.floor(math.log2(lowest)), math.ceil(math.log2(highest)) + 1)]
