"""MLPerf's result: the olympic mean, scaled where the submission came with a factor for it.

A system that converged in fewer epochs than MLPerf's reference convergence points (RCP) allow has its time lengthened.
How much is in a scaling.json beside the logs; to compute it takes the reference points themselves.
"""

from __future__ import annotations

from typing import Sequence

from ..numbers.summary_json import CaseSummary, Summary
from ..numbers.words import listed
from ..run.manifest import Manifest

_MLPERF = "mlperf"


def score_remarks(manifest: Manifest, summary: Summary) -> list[str]:
    if manifest.dialect != _MLPERF:
        return []
    scored = [case for case in summary["cases"] if case["time_to_train_olympic_s"] is not None]
    by_factor: dict[float | None, list[CaseSummary]] = {}
    for case in scored:
        by_factor.setdefault(case["time_to_train_scaling"], []).append(case)
    return [_remark(factor, [case["case"] for case in cases]) for factor, cases in by_factor.items()]


def _remark(factor: float | None, cases: Sequence[str]) -> str:
    of_cases = f"The olympic mean of {listed(list(cases))} is"
    if factor is None:
        return f"{of_cases} unscaled: there is no scaling.json beside the logs, and MLPerf's result may be longer."
    return f"{of_cases} MLPerf's result, {factor:.6g} times that of the logs, as the scaling.json beside them says."
