"""How the numbers of a run came about, in words."""

from __future__ import annotations

from typing import Any, Mapping

from ..run.manifest import Manifest
from . import presentation
from .summary import HIGHEST_PLAUSIBLE_EFFICIENCY, Summary

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
        "Repeats": f"The {summary['unit']} of a case are the median over its repeats that are ok; the 95 % interval is"
        " Student's t about their mean. A repeat is ok only if every rank asked for ended well and logged every step,"
        " and ran with the device, batch and precision asked for. Others are in the count and in no number.",
        "Scaling": _SCALING.get(manifest.scaling, f"{manifest.scaling}."),
        "Baseline": _baseline(manifest, summary),
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


def _baseline(manifest: Manifest, summary: Summary) -> str:
    if summary["baseline"] is None:
        return f"None, because {summary['no_baseline_because']}: there is no speedup and no efficiency."
    sizes = {case.case: case.world_size for case in manifest.cases}
    size = sizes[summary["baseline"]]
    ideal = "the number of devices" if size == 1 else f"how many times as many devices as its {size} a case has"
    return (
        f"Speedup is the median of a case over the median of {summary['baseline']}, with the interval of the ratio;"
        f" efficiency is speedup over {ideal}. More than {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} % of it is flagged."
    )
