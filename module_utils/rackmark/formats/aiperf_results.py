"""results.txt as AIPerf's report.py writes it, with the sentences of failure and its table."""

from __future__ import annotations

from typing import Mapping, Sequence

from ..aiperf.result import ExperimentResult
from ..aiperf.rules import shown

_RULE = "=" * 70
_ROW = "{:^10}\t{:^10}\t{:^10}\t{:^10}"
_PETA = 1e6


def results_txt(result: ExperimentResult, sentences: Sequence[str]) -> bytes:
    """`sentences` say why the test failed; none is a test that succeeded."""
    rows = [shown(result.profile, point) for point in result.score.points]
    unit = unit_of(result)
    lines = [_RULE, *sentences]
    lines += [f"{name} : {value} {unit}" for name, value in final_scores(result).items()]
    lines += [_RULE, _ROW.format(*_titles(result)), "-" * 70, *(_ROW.format(*row) for row in rows), _RULE]
    if unit == "GFLOPS":
        lines += [str(_as_mapping(rows)), "-" * 70]
    return ("\n".join(lines) + "\n").encode()


def unit_of(result: ExperimentResult) -> str:
    return "PFLOPS" if result.profile.columns[2].unit == _PETA else "GFLOPS"


def final_scores(result: ExperimentResult) -> Mapping[str, str]:
    """The last of each column, with its digits."""
    final = result.score.final
    if final is None:
        return {"Final Score": "not known", "Final Regulated Score": "not known"}
    _, _, gflops, regulated = shown(result.profile, final)
    known = {"Final Score": gflops, "Final Regulated Score": regulated if final.regulated is not None else None}
    return {name: "not known" if text is None else str(float(text)) for name, text in known.items()}


def _titles(result: ExperimentResult) -> Sequence[str]:
    time = "Time(min)" if result.profile.columns[0].unit != 1 else "Time(H)"
    return (time, "Error(%)", "Score", "Regulated Score")


def _as_mapping(rows: Sequence[Sequence[str]]) -> Mapping[str, Sequence[str]]:
    time, error, gflops, regulated = (list(column) for column in zip(*rows)) if rows else ([], [], [], [])
    return {"real_time": time, "GFLOPS": gflops, "Error": error, "Score": regulated}
