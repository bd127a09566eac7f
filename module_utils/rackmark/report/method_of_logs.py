"""How numbers that were read from logs of other tools came about, in words."""

from __future__ import annotations

from typing import Mapping

from ..numbers import words
from ..numbers.summary_json import Summary
from ..run.manifest import Manifest
from .method import baseline_in_words, interval_in_words

_AIPERF = "aiperf"


def method_of_logs(manifest: Manifest, summary: Summary) -> Mapping[str, str]:
    """Paragraphs by what they are about."""
    return {
        "Measured": _measured(manifest, summary),
        "Repeats": f"The {summary['unit']} of a case are the median of its {_ok_logs(manifest)} The others are counted"
        f" but have no numbers. Outliers are named and still count. {interval_in_words(summary)}",
        **_energy(summary),
        "Rounding": _rounding(manifest),
        "Baseline": baseline_in_words(manifest, summary),
        "Not known": "Rackmark has not made these runs: it can judge what the logs hold, and cannot know what they"
        " leave out, such as other load on the machines or settings that are not logged.",
    }


def _ok_logs(manifest: Manifest) -> str:
    if manifest.dialect == _AIPERF:
        profile = (manifest.logs or {}).get("profile")
        return (
            "experiments that are ok. An experiment is ok only if nothing is missing from its score and it keeps the"
            f" rules of {profile or 'aiperf, or those of the profile that it names itself'}."
        )
    return "logs that are ok. A log is ok only if it holds the whole window, of every rank."


def _energy(summary: Summary) -> Mapping[str, str]:
    if all(case["energy_j"] is None for case in summary["cases"]):
        return {}
    return {
        "Energy": "What went through all power meters of a training from its run_start to its run_stop, by the mean"
        " power between two readings. Samples per joule are those trained in that time. Of several repeats both are the"
        " median."
    }


def _measured(manifest: Manifest, summary: Summary) -> str:
    if manifest.dialect == _AIPERF:
        return (
            "The GFLOPS are the score of AIPerf: the operations that the graphs of the networks ask for, of all epochs"
            " of all trainings, over the time from the begin of the experiment to the end of its last epoch. The"
            " regulated score is the score times -ln(error)."
        )
    if not manifest.steps:
        return f"The {summary['unit']} are those the logs state: they hold no steps to measure them by."
    first, last = manifest.warmup + 1, manifest.warmup + manifest.steps
    return (
        f"The {summary['unit']} of a repeat are the samples of the steps {first} to {last} over the time they took by"
        f" the log, {words.counted(manifest.steps, 'step')}; where every rank has lines of its own, the time of"
        " the slowest, and where their lines cannot be told apart, their mean."
    )


def _rounding(manifest: Manifest) -> str:
    if (manifest.logs or {}).get("profile") == "dlperf":
        return "As DLPerf does: each repeat to two decimals, and then mean, median and speedup."
    return "None in summary.json."
