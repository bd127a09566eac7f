"""How every picture of a report looks."""

from __future__ import annotations

import io
from typing import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#1d2733"
FAINT = "#6b7783"
GRID = "#e7ebef"
ACCENT = "#0b6e99"
LIGHT = "#8cc3da"
PALE = "#dcebf2"
OF_VERDICT = {"better": "#1d7a46", "worse": "#b3261e", "same": FAINT, "undecided": FAINT}
NONE_OK = "no repeat is ok"
FEW = 4  # more cases than this leave no room for words beside each other
MANY = 7  # more cases than this need smaller words


def blank(title: str, grid: str = "y", height: float = 3.4) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.0, height), dpi=190, layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", color=INK, fontsize=11.5, fontweight="bold", pad=10)
    axes.tick_params(colors=INK, length=0, labelsize=10)
    axes.grid(axis=grid, color=GRID, linewidth=1)  # type: ignore[arg-type]  # "x", "y" or "both"
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    return figure, axes


def cases_below(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_xticks(range(len(labels)), labels, fontsize=words(len(labels)))
    axes.set_xlim(-0.6, len(labels) - 0.4)


def words(cases: int) -> float:
    """The size of the words that stand at every case."""
    return 9.5 if cases <= MANY else 7.5


def point(axes: Axes, x: float, y: float, bounds: Sequence[float] | None) -> None:
    if bounds is not None:
        axes.plot([x, x], list(bounds), color=ACCENT, linewidth=1.5)
        axes.plot([x, x], list(bounds), "_", color=ACCENT, markersize=9, markeredgewidth=1.5)
    axes.plot([x], [y], "o", color=ACCENT, markersize=6.5, markeredgecolor="white", markeredgewidth=1)


def label(axes: Axes, x: float, y: float, text: str, cases: int, below: bool = False) -> None:
    axes.annotate(
        *(text, (x, y), (0, -8 if below else 7)),
        textcoords="offset points",
        color=INK,
        ha="center",
        va="top" if below else "bottom",
        fontsize=words(cases),
    )


def none_ok(axes: Axes, x: float, cases: int, why: str = NONE_OK) -> None:
    """A case without a number keeps its place."""
    axes.text(
        *(x, 0.04, why),
        transform=axes.get_xaxis_transform(),
        rotation=90 if cases > FEW else 0,
        color=FAINT,
        ha="center",
        va="bottom",
        fontsize=8.5,
    )


def png(figure: Figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()
