"""MLPerf's result of a case: the olympic mean over its repeats, where these are as many as the benchmark asks for."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .time_to_train import RUNS, OlympicMean, olympic_mean

_RUNS_OF: Mapping[str, int] = {
    **dict.fromkeys(("bert", "rnnt", "gnmt", "transformer", "ncf", "minigo", "dlrm_dcnv2", "llama2_70b_lora"), 10),
    **dict.fromkeys(("stable_diffusion", "flux1", "gnn", "rgat", "cosmoflow", "openfold"), 10),
    **dict.fromkeys(("gpt3", "llama31_405b"), 3),
    "unet3d": 40,
}


def olympic_mean_of(benchmark: str, runs: Sequence[Mapping[str, Any]]) -> OlympicMean:
    """`runs` are those of a summary. One that was aborted or did not converge is known to have missed its
    target; of others that are not ok nobody knows."""
    if all(run["time_to_train_s"] is None for run in runs):
        return OlympicMean(None, "No repeat has a time to train.")
    unknown = [str(run["repeat"]) for run in runs if not _is_known(run)]
    if unknown:
        return OlympicMean(None, f"The time to train of repeat {', '.join(unknown)} is not known.")
    mean = olympic_mean([run["time_to_train_s"] for run in runs], _RUNS_OF.get(benchmark, RUNS))
    factor = scaling_of(runs)
    return mean if mean.seconds is None or factor is None else OlympicMean(mean.seconds * factor, None)


def scaling_of(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """The factor of MLPerf's reference convergence points, where it is beside the logs of all runs."""
    factors = {run.get("time_to_train_scaling") for run in runs}
    return factors.pop() if len(factors) == 1 else None


def _is_known(run: Mapping[str, Any]) -> bool:
    return run["time_to_train_s"] is not None or run["state"] == "rule_failed" or run.get("converged") is False
