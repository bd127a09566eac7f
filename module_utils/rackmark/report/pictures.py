"""The pictures of a report: which there are data for, and why the others are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ..numbers.measurements import Measurements
from ..numbers.summary_json import Summary
from .drawing import Draw, draw_all


@dataclass(frozen=True)
class Picture:
    file: str
    shows: str
    caption: str
    content: bytes


@dataclass(frozen=True)
class _Kind:
    file: str
    shows: str
    caption: str
    why_not: str | None


def pictures(summary: Summary, measured: Mapping[str, Measurements]) -> tuple[list[Picture], list[str]]:
    """The pictures, and a sentence for each that cannot be drawn."""
    kinds = _kinds(summary, measured)
    wanted = [kind for kind in kinds if kind.why_not is None]
    draw = _drawings(summary, measured) if wanted else {}
    contents = draw_all([draw[kind.file] for kind in wanted])
    drawn = [Picture(kind.file, kind.shows, kind.caption, content) for kind, content in zip(wanted, contents)]
    return drawn, [f"No picture of the {_lower(kind.shows)}: {kind.why_not}." for kind in kinds if kind.why_not]


def load_plotting() -> None:
    """Takes longer than most logs do to be read: whoever has to wait anyway may have it done."""
    from . import plots, plots_of_logs  # noqa: F401


def _drawings(summary: Summary, measured: Mapping[str, Measurements]) -> Mapping[str, Draw]:
    from . import plots, plots_of_logs

    return {
        "throughput.png": lambda: plots.throughput(summary),
        "speedup.png": lambda: plots.speedup(summary),
        "efficiency.png": lambda: plots.efficiency(summary),
        "steps.png": lambda: plots_of_logs.steps(measured),
        "ranks.png": lambda: plots_of_logs.ranks(measured),
        "loss.png": lambda: plots_of_logs.losses(measured),
    }


def _kinds(summary: Summary, measured: Mapping[str, Measurements]) -> list[_Kind]:
    nothing_ok = None if any(case["repeats_ok"] for case in summary["cases"]) else "no repeat is ok"
    has_headline = any(case["median"] is not None for case in summary["cases"])
    no_headline = None if has_headline else f"no repeat that is ok has {summary['unit']}"
    compared = sum(case["speedup"] is not None for case in summary["cases"])
    alone = None if compared > 1 else "there is no second case to compare with the baseline"
    nothing_to_compare = nothing_ok or summary["no_baseline_because"] or alone
    one_rank = None if any(len(case.ranks) > 1 for case in measured.values()) else "no case has more than one rank"
    no_steps = None if any(case.steps for case in measured.values()) else "the logs hold no single steps"
    no_loss = None if any(case.losses for case in measured.values()) else "the logs hold none"
    return [
        _Kind(
            "throughput.png",
            "Throughput of each case",
            "Dark: the median of a case, and its 95 % interval. Light: its single repeats.",
            nothing_ok or no_headline,
        ),
        _Kind(
            "speedup.png",
            "Speedup of each case against the ideal",
            "Speedup with its 95 % interval. Both axes double from line to line.",
            nothing_to_compare,
        ),
        _Kind(
            "efficiency.png",
            "Efficiency of each case",
            "Speedup over the ideal, with its 95 % interval. On the dashed line nothing would be lost.",
            nothing_to_compare,
        ),
        _Kind(
            "steps.png",
            "Time of a step in each case",
            "Box: the middle half of the measured steps of all ranks, with the median (p50). Whiskers: p5 and p95."
            " Dots: the slowest steps. Below a case, where there is room: p50 and p95. The axis does not begin at 0.",
            nothing_ok or no_steps,
        ),
        _Kind(
            "ranks.png",
            "Mean step time of every rank",
            "Each case's ranks from left to right; higher is slower. A rank's value is the median over the repeats.",
            nothing_ok or one_rank,
        ),
        _Kind(
            "loss.png",
            "Loss over the steps",
            "The mean over the ranks and the repeats of a case, warm-up included.",
            nothing_ok or no_loss,
        ),
    ]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
