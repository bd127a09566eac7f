"""The pictures of a report: which there are data for, and why the others are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Mapping

from ..numbers.measurements import Measurements
from ..numbers.summary_json import Summary
from . import plots, plots_of_logs


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
    draw: Callable[[], bytes]
    why_not: str | None


def pictures(summary: Summary, measured: Mapping[str, Measurements]) -> tuple[list[Picture], list[str]]:
    """The pictures, and a sentence for each that cannot be drawn."""
    kinds = _kinds(summary, measured)
    drawn = [Picture(kind.file, kind.shows, kind.caption, kind.draw()) for kind in kinds if kind.why_not is None]
    return drawn, [f"No picture of the {_lower(kind.shows)}: {kind.why_not}." for kind in kinds if kind.why_not]


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
            lambda: plots.throughput(summary),
            nothing_ok or no_headline,
        ),
        _Kind(
            "speedup.png",
            "Speedup of each case against the ideal",
            "Speedup with its 95 % interval. Both axes double from line to line.",
            lambda: plots.speedup(summary),
            nothing_to_compare,
        ),
        _Kind(
            "efficiency.png",
            "Efficiency of each case",
            "Speedup over the ideal, with its 95 % interval. On the dashed line nothing would be lost.",
            lambda: plots.efficiency(summary),
            nothing_to_compare,
        ),
        _Kind(
            "steps.png",
            "Time of a step in each case",
            "Box: the middle half of the measured steps of all ranks, with the median (p50). Whiskers: p5 and p95."
            " Dots: the slowest steps. Below a case, where there is room: p50 and p95. The axis does not begin at 0.",
            lambda: plots_of_logs.steps(measured),
            nothing_ok or no_steps,
        ),
        _Kind(
            "ranks.png",
            "Mean step time of every rank",
            "Each case's ranks from left to right; higher is slower. A rank's value is the median over the repeats.",
            lambda: plots_of_logs.ranks(measured),
            nothing_ok or one_rank,
        ),
        _Kind(
            "loss.png",
            "Loss over the steps",
            "The mean over the ranks and the repeats of a case, warm-up included.",
            lambda: plots_of_logs.losses(measured),
            nothing_ok or no_loss,
        ),
    ]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
