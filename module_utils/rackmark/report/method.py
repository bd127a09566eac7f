"""How the numbers of a run came about, in words."""

from __future__ import annotations

from typing import Any, Mapping

from ..numbers import estimates, words
from ..numbers.summary import HIGHEST_PLAUSIBLE_EFFICIENCY
from ..numbers.summary_json import Summary, headline_of, values_of
from ..run.manifest import Manifest
from ..run.measures import STATED, TRIALS, Measure
from ..run.queues import TRAITS

_SCALING = {
    "weak": "Weak: every device gets the same batch, so the work of a step grows with the number of devices.",
    "strong": "Strong: the work of a step stays the same and is divided among the devices, so the batch per device"
    " shrinks. Speedup is the ratio of throughputs here, too.",
}
_RUNTIMES = {
    "venv": "in a Python environment on the shared storage",
    "docker": "in containers",
    "cloud": "in an image that the cloud has",
}


def _launched(launcher: str) -> str:
    return TRAITS[launcher].launched if launcher in TRAITS else launcher


def method(manifest: Manifest, summary: Summary) -> Mapping[str, str]:
    """Paragraphs by what they are about."""
    return {
        "Training": f"{manifest.framework} on {manifest.device}, preset {manifest.preset}"
        f"{_settings(manifest.settings)}{_data(manifest)}.",
        "Launched": f"{_launched(manifest.launcher)}, {_RUNTIMES.get(manifest.runtime, manifest.runtime)}.",
        **_measured(manifest, summary["unit"]),
        "Repeats": f"The {summary['unit']} of a case are the median of its ok repeats."
        f" {interval_in_words(summary)} {_VALID[manifest.measure]} The other repeats are counted but have no numbers."
        " Outliers are named and still count.",
        "Scaling": _SCALING.get(manifest.scaling, f"{manifest.scaling}."),
        "Baseline": baseline_in_words(manifest, summary),
        "Simulated": simulated(summary) or "Nothing.",
    }


def _measured(manifest: Manifest, unit: str) -> Mapping[str, str]:
    warmup = words.counted(manifest.warmup, "warm-up step")
    steps = words.counted(manifest.steps, "step")
    if manifest.headline != "throughput" or manifest.measure in ("stated", "search"):
        views = {"Measured": f"The headline is {manifest.headline}: {_source(manifest.measures[manifest.headline])}."}
    elif manifest.measure == "target":
        views = {
            "Measured": f"The {unit} of a repeat are the samples that all ranks processed after {warmup},"
            " divided by the time of the slowest rank for these steps, until the target was reached:"
            f" {manifest.target}."
        }
    else:
        views = {
            "Measured": f"The {unit} of a repeat are the samples that all ranks processed in {steps}, divided by the"
            f" time of the slowest rank for these steps. The {warmup} before are excluded."
        }
    if manifest.measure in ("steps", "target"):
        views["Other views"] = (
            "Whole: the samples of all steps, warm-up included, divided by the time from the start of the first step to"
            " the last record, evaluations and checkpoints included. Without evaluation: the same without that time."
        )
    others = [one for name, one in manifest.measures.items() if name != manifest.headline]
    if others:
        views["Measures"] = " ".join(f"{one.name}: {_source(one)}." for one in others)
    if manifest.rules:
        profile = f" (profile {manifest.rules_profile})" if manifest.rules_profile else ""
        views["Rules"] = f"A repeat counts only with {words.listed([str(rule) for rule in manifest.rules])}{profile}."
    return views


_VALID = {
    "steps": "A repeat is ok only if every requested rank ended well, logged every step, and ran with the requested"
    " device, batch and precision.",
    "target": "A repeat is ok only if every requested rank ended well, at the target or after all steps, with the"
    " requested device, batch and precision. One that missed its target is flagged and has no time to target.",
    "stated": "A repeat is ok only if every requested process ended well and the headline was stated.",
    "search": "A repeat is ok only if every requested process ended well and the headline could be computed.",
}
_OVER = {"max": "largest", "min": "smallest", "sum": "sum of all", "mean": "mean of all", "median": "median of all"}


def _source(measure: Measure) -> str:
    """In words, with the unit and which way is better."""
    meaning = f" ({measure.means})" if measure.means else ""
    better = f"in {measure.unit}, {measure.better} is better{meaning}"
    if measure.source.startswith(STATED):
        which = "as" if measure.over == "first" else f"the {_OVER[measure.over]}"
        return f"{which} the program states {measure.word}, {better}"
    if measure.source.startswith(TRIALS) and measure.source != "trials.failed":
        return f"the {_OVER.get(measure.over, measure.over)} {measure.word} of the trials that are ok, {better}"
    return f"{measure.source.replace('_', ' ').replace('.', ' ')}, {better}"


def simulated(summary: Summary) -> str | None:
    if not summary["simulated"]:
        return None
    what = words.listed(summary["simulated"])
    return f"Simulated in this run: {what}. The numbers show that the measurement works, not what hardware can do."


def _settings(settings: Mapping[str, Any]) -> str:
    words = [f"{name.replace('_', ' ')} {value}" for name, value in settings.items()]
    return f" ({', '.join(words)})" if words else ""


def _data(manifest: Manifest) -> str:
    if manifest.data_kind == "none":
        return ""
    return "; synthetic data" if manifest.data == "synthetic" else f"; data: {manifest.data}"


_INTERVALS = {
    estimates.ORDER_STATISTICS: "order statistics (from one of the ordered repeats to another)",
    estimates.STUDENT: f"Student's t on the logarithms, with fewer than {estimates.ENOUGH_TO_ORDER} repeats",
}


def interval_in_words(summary: Summary) -> str:
    """How the intervals of this run came about, with the cases where there are two ways."""
    cases: dict[str, list[str]] = {}
    for case in summary["cases"]:
        way = estimates.interval_method(len(values_of(case, headline_of(summary))))
        if way is not None:
            cases.setdefault(_INTERVALS[way], []).append(case["case"])
    if not cases:
        return "There is no 95 % interval: it takes at least two repeats."
    ways = [way if len(cases) == 1 else f"{way} ({', '.join(names)})" for way, names in cases.items()]
    return f"The 95 % interval of the median is by {' and by '.join(ways)}."


def baseline_in_words(manifest: Manifest, summary: Summary) -> str:
    if summary["baseline"] is None:
        return f"None, because {summary['no_baseline_because']}: there is no speedup and no efficiency."
    sizes = {case.case: case.world_size for case in manifest.cases}
    size = sizes[summary["baseline"]]
    ideal = "the number of devices" if size == 1 else f"the number of devices relative to its {size}"
    return (
        f"Speedup is the median of a case divided by the median of {summary['baseline']}; its interval comes from"
        f" the uncertainty of both. Efficiency is speedup divided by {ideal}. More than"
        f" {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} % of it is flagged."
    )
