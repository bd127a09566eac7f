"""What a person reads of a comparison: comparison.html, comparison.md and a table for the terminal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import ascii_uppercase
from typing import Mapping, Sequence

from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..compare.run_differences import not_the_same
from ..compare.side_by_side import CaseComparison, Comparison, RunToCompare
from ..formats.summary_files import json_bytes
from ..numbers import estimates
from ..numbers.sentences import headline
from ..numbers.words import MISSING, aligned, counted, listed, or_missing, quantity, signed, signed_interval
from . import pages
from .canvas import FAINT, INK, OF_VERDICT, blank, png
from .pictures import Picture
from .report import embedded, moment


def comparison_files(comparison: Comparison, runs: Sequence[RunToCompare], templates: Path) -> Mapping[str, bytes]:
    drawn = pictures(comparison)
    content = {
        "title": _title(runs),
        "warning": warning(comparison),
        "headline": verdicts(comparison),
        "runs": _runs(comparison, runs),
        "table": (headings(comparison), rows(comparison)),
        "remarks": remarks(comparison, runs),
        "pictures": drawn,
        "embedded": embedded(drawn),
        "method": METHOD,
        "differences": _differences(comparison),
    }
    return {
        "comparison.json": json_bytes(comparison),
        "comparison.html": pages.html(templates, "comparison.html.j2", content),
        "comparison.md": pages.plain(templates, "comparison.md.j2", content),
        **{picture.file: picture.content for picture in drawn},
    }


METHOD = (
    "The difference is that of the medians over the repeats that are ok, in percent of A. Its 95 % interval comes from"
    " those of both medians, whose widths on logarithms are added as squares: order statistics from"
    f" {estimates.ENOUGH_TO_ORDER} repeats on, Student's t below. Better and worse: the interval is all above or all"
    " below 0. Same: it holds 0, so that the repeats show no difference. Undecided: there are too few repeats for an"
    " interval."
)


def terminal_table(comparison: Comparison) -> list[str]:
    legend = [f"{letter} is {run_id}" for run_id, letter in _letters(comparison).items()]
    cells = rows(comparison)
    return [*legend, "", *(aligned(headings(comparison), cells) if cells else [])]


def headings(comparison: Comparison) -> Sequence[str]:
    unit = comparison["unit"]
    other = ("B",) if _only_two(comparison) else ("run", "run")
    return ("case", *other[:-1], f"A, {unit}", f"{other[-1]}, {unit}", "difference", "95 % interval", "verdict")


def rows(comparison: Comparison) -> list[Sequence[str]]:
    letters = _letters(comparison)
    return [
        (
            _name(case),
            *([] if _only_two(comparison) else [letters[case["run_id"]]]),
            or_missing(case["base_median"], quantity),
            or_missing(case["median"], quantity),
            or_missing(case["difference"], signed),
            or_missing(case["difference_ci95"], signed_interval),
            case["verdict"],
        )
        for case in comparison["cases"]
    ]


def verdicts(comparison: Comparison) -> str:
    """B against A: 2 cases better, 1 case same."""
    sentences = []
    for run_id, letter in list(_letters(comparison).items())[1:]:
        counts = Counter(case["verdict"] for case in comparison["cases"] if case["run_id"] == run_id)
        words = [f"{counted(count, 'case')} {verdict}" for verdict, count in sorted(counts.items())]
        sentences.append(f"{letter} against A: {listed(words) if words else 'no case in common'}.")
    return " ".join(sentences)


def warning(comparison: Comparison) -> str | None:
    return not_the_same(comparison["differences"])


def remarks(comparison: Comparison, runs: Sequence[RunToCompare]) -> list[str]:
    letters = _letters(comparison)
    sentences = [
        f"{letters[run_id]} has {listed(cases)}, which not every run has."
        for run_id, cases in comparison["not_in_common"].items()
    ]
    too_few = [name for case in comparison["cases"] for name in _too_few(case, letters)]
    if too_few:
        sentences.append(f"Undecided, with fewer than two ok repeats: {listed(list(dict.fromkeys(too_few)))}.")
    states = [(letters[run.manifest.run_id], headline(run.summary)) for run in runs if run.summary["state"] != "ok"]
    simulated: dict[str, list[str]] = {}
    for run in runs:
        if run.manifest.simulated:
            simulated.setdefault(listed(run.manifest.simulated), []).append(letters[run.manifest.run_id])
    return [
        *sentences,
        *(f"{letter} is not complete. {words}" for letter, words in states),
        *(f"Simulated in {listed(of_runs)}: {what}." for what, of_runs in simulated.items()),
        *([comparison["not_seen"]] if comparison["not_seen"] else []),
    ]


def _name(case: CaseComparison) -> str:
    """2n8g for the headline, whose unit is that of the table; others bring their own."""
    return case["case"] if case["measure"] is None else f"{case['case']} {case['measure']}, {case['unit']}"


def _too_few(case: CaseComparison, letters: Mapping[str, str]) -> list[str]:
    counts = {"A": case["base_repeats_ok"], letters[case["run_id"]]: case["repeats_ok"]}
    return [f"{_name(case)} of {letter} has {number}" for letter, number in counts.items() if number < 2]


def pictures(comparison: Comparison) -> list[Picture]:
    known = [case for case in comparison["cases"] if case["difference"] is not None]
    if not known:
        return []
    return [
        Picture(
            "difference.png",
            "Difference of each case",
            "Each case against A, with the 95 % interval of the difference. To the right is faster.",
            _forest(comparison, known),
        )
    ]


def _forest(comparison: Comparison, cases: Sequence[CaseComparison]) -> bytes:
    letters = _letters(comparison)
    figure, axes = blank(f"Difference in {comparison['unit']} against A", grid="x", height=1.3 + 0.36 * len(cases))
    axes.axvline(0, color=FAINT, linewidth=1.2)
    reached = [0.01]
    for place, case in enumerate(cases):
        middle = case["difference"] or 0.0
        color = OF_VERDICT[case["verdict"]]
        bounds = case["difference_ci95"] or (middle, middle)
        axes.plot(list(bounds), [place, place], "|-", color=color, linewidth=1.5, markersize=8)
        axes.plot([middle], [place], "o", color=color, markersize=6.5, markeredgecolor="white")
        axes.annotate(
            signed(middle), (middle, place), (0, 6), textcoords="offset points", color=INK, ha="center", fontsize=8.5
        )
        reached += [abs(middle), *map(abs, bounds)]
    names = [_name(case) if _only_two(comparison) else f"{_name(case)} {letters[case['run_id']]}" for case in cases]
    axes.set_yticks(range(len(cases)), names)
    axes.set_ylim(len(cases) - 0.4, -0.7)
    axes.set_xlim(-max(reached) * 1.15, max(reached) * 1.15)
    axes.xaxis.set_major_locator(MaxNLocator(4, symmetric=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:+,.10g} %" if value else "0"))
    return png(figure)


def _title(runs: Sequence[RunToCompare]) -> str:
    return f"{runs[0].manifest.title}: {counted(len(runs), 'run')} compared"


def _runs(comparison: Comparison, runs: Sequence[RunToCompare]) -> Mapping[str, str]:
    letters = _letters(comparison)
    return {
        letters[run.manifest.run_id]: f"{run.manifest.run_id}, started {moment(run.manifest.started)}."
        f" {headline(run.summary)}"
        for run in runs
    }


def _differences(comparison: Comparison) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    letters = _letters(comparison)
    cells = [
        (difference["what"], *(difference["values"].get(run_id, MISSING) for run_id in letters))
        for difference in comparison["differences"]
    ]
    return ["what", *letters.values()], cells


def _only_two(comparison: Comparison) -> bool:
    return len(comparison["runs"]) == 2


def _letters(comparison: Comparison) -> Mapping[str, str]:
    """A short name for each run."""
    return dict(zip(comparison["runs"], ascii_uppercase))
