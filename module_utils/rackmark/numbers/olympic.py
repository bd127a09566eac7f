"""MLPerf's result of a case: the olympic mean over its repeats, where these are as many as the benchmark asks for."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .time_to_train import RUNS, OlympicMean, olympic_mean

_RUNS_OF: Mapping[str, int] = {
    **dict.fromkeys(("bert", "rnnt", "gnmt", "transformer", "ncf", "minigo", "dlrm_dcnv2", "llama2_70b_lora"), 10),
    **dict.fromkeys(("stable_diffusion", "flux1", "gnn", "rgat", "cosmoflow", "openfold"), 10),
    **dict.fromkeys(("gpt3", "llama31_405b"), 3),
}
_OTHER_RULE = "unet3d"  # of 40 runs the four fastest and the four slowest are left out


def olympic_mean_of(benchmark: str, runs: Sequence[Mapping[str, Any]]) -> OlympicMean:
    """`runs` are those of a summary. One that was aborted or did not converge is known to have missed its
    target; of others that are not ok nobody knows."""
    if all(run["time_to_train_s"] is None for run in runs):
        return OlympicMean(None, "No repeat has a time to train.")
    if benchmark == _OTHER_RULE:
        return OlympicMean(None, f"The rule of {benchmark} is another one.")
    unknown = [str(run["repeat"]) for run in runs if not _is_known(run)]
    if unknown:
        return OlympicMean(None, f"The time to train of repeat {', '.join(unknown)} is not known.")
    return olympic_mean([run["time_to_train_s"] for run in runs], _RUNS_OF.get(benchmark, RUNS))


def _is_known(run: Mapping[str, Any]) -> bool:
    return run["time_to_train_s"] is not None or run["state"] == "rule_failed" or run.get("converged") is False
