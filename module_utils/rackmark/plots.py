"""The pictures of a report, as PNG bytes: throughput per case, and speedup against the ideal."""

from __future__ import annotations

import io
from typing import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from .presentation import factor, percent, quantity
from .summary import CaseSummary, Summary

INK = "#1d2733"
FAINT = "#8a96a3"
GRID = "#e7ebef"
ACCENT = "#0b6e99"
SINGLE_REPEAT = "#8cc3da"
BESIDE = 0.13  # how far left of the median the single repeats stand, so that neither hides the other


def throughput_plot(summary: Summary) -> bytes:
    cases = summary["cases"]
    figure, axes = _blank(f"Throughput, {summary['unit']}")
    for place, case in enumerate(cases):
        if case["median"] is None:
            axes.annotate("no repeat\nis ok", (place, 0), (0, 8), textcoords="offset points", color=FAINT, ha="center")
            continue
        repeats = [run["throughput"] for run in case["runs"] if run["throughput"] is not None]
        beside = [place - BESIDE] * len(repeats)
        axes.plot(beside, repeats, "o", color=SINGLE_REPEAT, markersize=5, markeredgewidth=0)
        _point(axes, place, case["median"], case["ci95"])
        _label(axes, place, case["median"], quantity(case["median"]), va="center")
    ticks = [f"{case['case']}\n{case['repeats_ok']} of {case['repeats_total']}" for case in cases]
    axes.set_xticks(range(len(cases)), ticks)
    axes.set_xlim(-0.6, len(cases) - 0.4)
    highest = _highest(cases)
    axes.set_ylim(0, highest * 1.15 if highest else 1)
    if not highest:
        axes.set_yticks([])
    return _png(figure)


def speedup_plot(summary: Summary) -> bytes:
    """Both axes double from tick to tick, so that the ideal is a straight line and small cases stay readable."""
    cases = sorted(summary["cases"], key=lambda case: case["world_size"])
    shown = [(case, case["speedup"]) for case in cases if case["speedup"] is not None]
    if not shown:
        figure, axes = _blank("Speedup")
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no speedup: nothing to compare with", transform=axes.transAxes, color=FAINT, ha="center")
        return _png(figure)
    figure, axes = _blank(f"Speedup over {summary['baseline']}, efficiency")
    sizes = [case["world_size"] for case in cases]
    largest = max(*sizes, 2)
    axes.plot([1, largest], [1, largest], "--", color=FAINT, linewidth=1.2)
    axes.annotate("ideal", (largest, largest), (-8, 2), textcoords="offset points", color=FAINT, ha="right")
    speedups = [speedup for _, speedup in shown]
    axes.plot([case["world_size"] for case, _ in shown], speedups, color=ACCENT, linewidth=1.4)
    for case, speedup in shown:
        _point(axes, case["world_size"], speedup, case["speedup_ci95"])
        label = f"{factor(speedup)}\n{percent(speedup / case['world_size'])}"
        _label(axes, case["world_size"], speedup, label, va="top")
    _double(axes, sizes, largest)
    axes.set_ylim(min(speedups) * 0.55, max(largest, *speedups) * 1.25)
    axes.set_xlabel("devices", color=FAINT)
    return _png(figure)


def _double(axes: Axes, sizes: Sequence[int], largest: int) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    powers = [2**power for power in range(largest.bit_length())]
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_yticks(powers, [str(power) for power in powers])
    axes.set_xlim(0.85, largest * 1.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())


def _blank(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.0, 3.6), dpi=200, layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", color=INK, fontsize=12, fontweight="bold", pad=10)
    axes.tick_params(colors=INK, length=0, labelsize=10.5)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    return figure, axes


def _point(axes: Axes, x: float, y: float, bounds: Sequence[float] | None) -> None:
    if bounds is not None:
        axes.errorbar(x, y, [[y - bounds[0]], [bounds[1] - y]], color=ACCENT, capsize=5, linewidth=1.4)
    axes.plot([x], [y], "o", color=ACCENT, markersize=6.5, markeredgecolor="white", markeredgewidth=1)


def _label(axes: Axes, x: float, y: float, text: str, va: str) -> None:
    axes.annotate(text, (x, y), (9, 0 if va == "center" else -3), textcoords="offset points", color=INK, va=va)


def _highest(cases: Sequence[CaseSummary]) -> float:
    values = [run["throughput"] for case in cases for run in case["runs"] if run["throughput"] is not None]
    bounds = [case["ci95"][1] for case in cases if case["ci95"]]
    return max([*values, *bounds], default=0)


def _png(figure: Figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()
