"""Pictures of a search over its time: error, score and regulated score, and the trials with their descent."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy import float64
from numpy.typing import NDArray

from ..aiperf.rules import Column, Profile
from ..aiperf.score import Point, thinned
from ..automl.trials import Trial
from .canvas import ACCENT, FAINT, GRID, INK, LIGHT, blank, png

COLORS = (ACCENT, "#c4622d", "#5b7f3b", "#7a5aa6", "#a8862b", "#4d5b68")
MOST_LINES = len(COLORS)
MOST_POINTS = 600  # a picture has no more pixels for them
_CELLS = (480, 260)  # two points in the same cell cannot be told apart

_FAILED = "#c4622d"
Searched = Mapping[str, Sequence[Point]]


def of_column(points: Sequence[Point], profile: Profile, column: Column) -> bytes:
    """One of AIPerf's three pictures."""
    figure, axes = blank(column.title, height=2.6)
    _line(axes, points, profile, column, ACCENT, None)
    axes.set_xlabel(profile.columns[0].title, color=FAINT, fontsize=9)
    return png(figure)


def over_time(searched: Searched, profile: Profile) -> bytes:
    """Error, score and regulated score below each other; a line for each of `searched`, by its name."""
    columns = profile.columns[1:]
    figure = Figure(figsize=(5.0, 0.45 + 1.75 * len(columns)), dpi=190, layout="constrained", facecolor="white")
    for axes, column in zip(figure.subplots(len(columns), 1, sharex=True), columns):
        _style(axes, column.title)
        for color, (name, points) in zip(COLORS, searched.items()):
            _line(axes, points, profile, column, color, name)
    axes.set_xlabel(profile.columns[0].title, color=FAINT, fontsize=9)
    if len(searched) > 1:
        handles = figure.axes[0].get_legend_handles_labels()
        look: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "labelcolor": INK, "handlelength": 1.2}
        figure.legend(*handles, loc="outside upper right", ncols=4, **look)
    return png(figure)


def descent(trials: Sequence[Trial], began: float, profile: Profile, best: Trial | None) -> bytes:
    """Trials where they ended and how well they did, each with a line to its father; the best one's line is dark."""
    time = profile.columns[0]
    figure, axes = blank("Trials and their descent", height=3.6)
    placed = {trial.seq: _place(trial, began, time.unit) for trial in trials if trial.accuracy is not None}
    places = np.array(list(placed.values()))
    lines = [(placed[t.father], placed[t.seq]) for t in trials if t.seq in placed and t.father in placed]
    seen = _distinct_lines(lines, places)
    axes.add_collection(
        LineCollection(list(seen), colors=LIGHT, linewidths=0.6, alpha=0.25 + 0.6 / (1 + len(seen) / 150))
    )
    shown = _distinct(places, places)
    size = max(2.0, min(5.0, 60 / np.sqrt(len(shown))))
    axes.plot(*shown.T, "o", color=ACCENT, markersize=size, markeredgewidth=0, alpha=0.75)
    _failed(axes, trials, began, time.unit)
    _best_line(axes, trials, placed, best)
    axes.set_xlabel(time.title, color=FAINT, fontsize=9)
    axes.set_ylabel("accuracy, %", color=FAINT, fontsize=9)
    axes.margins(0.03)
    return png(figure)


def _place(trial: Trial, began: float, unit: float) -> tuple[float, float]:
    return _hours(trial, began) / unit, 100 * (trial.accuracy or 0.0)


def _hours(trial: Trial, began: float) -> float:
    when = trial.ended if trial.ended is not None else trial.began
    return ((began if when is None else when) - began) / 3600


def _failed(axes: Axes, trials: Sequence[Trial], began: float, unit: float) -> None:
    """Without an accuracy a trial has no height: it is a mark below the others."""
    times = [_hours(trial, began) / unit for trial in trials if trial.accuracy is None]
    if times:
        below = axes.get_xaxis_transform()
        axes.plot(times, [0.012] * len(times), "|", color=_FAILED, markersize=5, transform=below)


def _best_line(
    axes: Axes, trials: Sequence[Trial], placed: Mapping[int, tuple[float, float]], best: Trial | None
) -> None:
    fathers = {trial.seq: trial.father for trial in trials}
    line: list[tuple[float, float]] = []
    seq = best.seq if best else None
    passed: set[int] = set()
    while seq is not None and seq not in passed:
        passed.add(seq)
        line += [placed[seq]] if seq in placed else []
        seq = fathers.get(seq)
    if line:
        axes.plot(*zip(*line), "-o", color=INK, linewidth=1.5, markersize=4)
        text = f"{line[0][1]:.2f} %"
        axes.annotate(text, line[0], (0, 6), textcoords="offset points", ha="center", color=INK, fontsize=9.5)


def _distinct_lines(lines: Sequence[object], places: NDArray[float64]) -> NDArray[float64]:
    return _distinct(np.array(lines, dtype=float).reshape(len(lines), 4), np.hstack([places, places])).reshape(-1, 2, 2)


def _distinct(rows: NDArray[float64], extent: NDArray[float64]) -> NDArray[float64]:
    """One of those that would be drawn at the same place."""
    if not len(rows):
        return rows
    low, high = extent.min(axis=0), extent.max(axis=0)
    wide = np.where(high > low, high - low, 1.0)
    cells = np.round((rows - low) / wide * np.resize(_CELLS, rows.shape[1]))
    return rows[np.unique(cells, axis=0, return_index=True)[1]]


def _line(axes: Axes, points: Sequence[Point], profile: Profile, column: Column, color: str, name: str | None) -> None:
    kept = thinned(points, MOST_POINTS)
    known = [(_value(point, profile.columns[0]), _value(point, column)) for point in kept]
    mark = "." if len(kept) <= 60 else ""
    axes.plot(*zip(*known), marker=mark, markersize=4, color=color, linewidth=1.4, label=name)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.12g}"))


def _value(point: Point, column: Column) -> float:
    number = getattr(point, column.number)
    return float("nan") if number is None else float(number) / column.unit


def _style(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=10, fontweight="bold")
    axes.tick_params(colors=INK, length=0, labelsize=9)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
