"""How the numbers of a run came about, in words."""

from __future__ import annotations

from typing import Any, Mapping

from ..run.manifest import Manifest
from . import presentation, statistics
from .summary import HIGHEST_PLAUSIBLE_EFFICIENCY, Summary, throughputs

_SCALING = {
    "weak": "Weak: every device gets the same batch, so the work of a step grows with the number of devices.",
    "strong": "Strong: the work of a step stays the same and is divided among the devices, so the batch per device"
    " shrinks. Speedup is the ratio of throughputs here, too.",
}
_LAUNCHERS = {
    "slurm": "By Slurm, every repeat as an exclusive job",
    "ssh": "Over SSH, one repeat after the other",
    "local": "As plain processes on the machine that ran the playbook",
}
_RUNTIMES = {"venv": "in a Python environment on the shared storage", "docker": "in containers"}


def method(manifest: Manifest, summary: Summary) -> Mapping[str, str]:
    """Paragraphs by what they are about."""
    warmup = presentation.counted(manifest.warmup, "warm-up step")
    steps = presentation.counted(manifest.steps, "step")
    return {
        "Training": f"{manifest.framework} on {manifest.device}, preset {manifest.preset}"
        f"{_settings(manifest.settings)}; {_data(manifest.data)}.",
        "Launched": f"{_LAUNCHERS.get(manifest.launcher, manifest.launcher)},"
        f" {_RUNTIMES.get(manifest.runtime, manifest.runtime)}.",
        "Measured": f"The {summary['unit']} of a repeat are the samples that all ranks processed in {steps} over the"
        f" time of the slowest rank for these steps. The {warmup} before are left out.",
        "Other views": "Whole: all steps, warm-up included, over the time from the first step's begin to the last"
        " record, with evaluations and checkpoints. Without evaluation: the same, less the time of evaluations.",
        "Repeats": f"The {summary['unit']} of a case are the median over its repeats that are ok."
        f" {interval_in_words(summary)} A repeat is ok only if every rank asked for ended well and logged every step,"
        " and ran with the device, batch and precision asked for. Others are in the count and in no number."
        " Outliers are named, and stay in every number.",
        "Scaling": _SCALING.get(manifest.scaling, f"{manifest.scaling}."),
        "Baseline": baseline_in_words(manifest, summary),
        "Simulated": simulated(summary) or "Nothing.",
    }


def simulated(summary: Summary) -> str | None:
    if not summary["simulated"]:
        return None
    what = presentation.listed(summary["simulated"])
    return f"Simulated in this run: {what}. The numbers show that the measurement works, not what hardware can do."


def _settings(settings: Mapping[str, Any]) -> str:
    words = [f"{name.replace('_', ' ')} {value}" for name, value in settings.items()]
    return f" ({', '.join(words)})" if words else ""


def _data(data: str) -> str:
    return "synthetic data" if data == "synthetic" else f"data: {data}"


_INTERVALS = {
    statistics.BOOTSTRAP: f"bootstrap ({statistics.RESAMPLES:,} draws with a fixed seed)",
    statistics.STUDENT: "Student's t on the logarithms, for want of"
    f" {statistics.ENOUGH_TO_RESAMPLE} repeats to draw from",
}


def interval_in_words(summary: Summary) -> str:
    """How the intervals of this run came about, with the cases where there are two ways."""
    cases: dict[str, list[str]] = {}
    for case in summary["cases"]:
        way = statistics.interval_method(len(throughputs(case)))
        if way is not None:
            cases.setdefault(_INTERVALS[way], []).append(case["case"])
    if not cases:
        return "There is no 95 % interval: it takes two repeats."
    ways = [way if len(cases) == 1 else f"{way} ({', '.join(names)})" for way, names in cases.items()]
    return f"The 95 % interval of the median is by {' and by '.join(ways)}."


def baseline_in_words(manifest: Manifest, summary: Summary) -> str:
    if summary["baseline"] is None:
        return f"None, because {summary['no_baseline_because']}: there is no speedup and no efficiency."
    sizes = {case.case: case.world_size for case in manifest.cases}
    size = sizes[summary["baseline"]]
    ideal = "the number of devices" if size == 1 else f"how many times as many devices as its {size} a case has"
    return (
        f"Speedup is the median of a case over the median of {summary['baseline']}, its interval comes from the"
        f" uncertainty of both; efficiency is speedup over {ideal}. More than"
        f" {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} % of it is flagged."
    )
