"""What a FlagPerf training states at its end: the FINISHED record, or the lines of a language model.

FlagPerf has three throughputs: `pure_compute` counts the time of the training steps alone, `no_eval` leaves out the
evaluations, `raw` is from the begin of the training to its end. The throughput is the first of these that is there.
A training ends with the evaluation that reaches the target, so that its time is the time to the target.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Mapping

from ..flagperf.nominal import mfu_flagperf
from ..logs.json_records import number, positive
from ..logs.reading import Fault
from ..run.measures import Measure

_ENDINGS = {"throughput": "_pure_compute", "no_eval": "_no_eval", "whole": "_raw"}
_TIMES = {
    "throughput": ("pure_training_computing_time",),
    "no_eval": ("train_no_eval_time",),
    "whole": ("raw_train_time", "train_time"),
}
_PER_SECOND = re.compile(r"training_(sequences|images|tokens|samples)_per_second")
_UNITS = {"sequences": "sequences/s", "tokens": "tokens/s"}
_SAME = 1e-6
_AS_STATED = "as stated"  # benchmarks state fractions or percent under the same names
_FINAL = {
    **dict.fromkeys(("acc1", "acc5", "acc", "accuracy", "mlm_accuracy", "ppl_accuracy", "auc", "nuv"), "higher"),
    **dict.fromkeys(("mAP", "map_bbox", "map_segm"), "higher"),
}
MEASURES = (
    Measure("tokens_per_s_device", "tokens/s", "higher", "stated.tokens_per_s_device"),
    Measure("mfu_flagperf", "of the peak", "higher", "stated.mfu_flagperf"),
    *(Measure(f"final_{name}", _AS_STATED, better, f"stated.final_{name}") for name, better in _FINAL.items()),
    Measure("converged", "1 or 0", "higher", "stated.converged"),
    Measure("e2e_s", "s", "lower", "stated.e2e_s"),
)


@dataclass
class Result:
    stated: dict[str, float] = field(default_factory=dict)
    unit: str | None = None
    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def finished(
    value: Mapping[str, Any], trained_samples: float | None, seconds: float = math.nan, target: str | None = None
) -> Result:
    """`trained_samples` is what the last step counted, if that was the end of the training; `seconds` is how long it
    took by the stamps of its records, nan where these do not tell."""
    result = Result()
    samples = positive(value.get("num_trained_samples")) or positive(value.get("train_samples")) or trained_samples
    _take_whole(value, samples, result)
    for name in ("no_eval", "throughput"):
        rate = _rate(value, name) or _samples_over_time(value, name, samples)
        if rate is not None:
            result.stated[name] = rate
    _choose_throughput(result)
    _take_others(value, result)
    _take_target(value, seconds, target, result)
    return result


def _take_whole(value: Mapping[str, Any], samples: float | None, result: Result) -> None:
    """training_..._per_second counts every step's global batch, num_trained_samples is counted by the benchmark: some
    have not yet added the last step when they write it."""
    rates = {"the stated raw one": _rate(value, "whole")}
    for key, rate in value.items():
        match = _PER_SECOND.fullmatch(key)
        if match:
            rates[key] = positive(rate)
            result.unit = _UNITS.get(match[1])
    rates["num_trained_samples over the training time"] = _samples_over_time(value, "whole", samples)
    known = {name: rate for name, rate in rates.items() if rate is not None}
    if not known:
        return
    (used, whole), *others = known.items()
    result.stated["whole"] = whole
    for other, rate in others:
        if abs(rate / whole - 1) > _SAME:
            result.remarks.append(
                f"The throughput of the whole training is {used}, {whole:.7g}; {other} gives {rate:.7g}."
            )


def _rate(value: Mapping[str, Any], name: str) -> float | None:
    """As in `throughput(ips)_raw`, which some benchmarks misspell."""
    for key, rate in value.items():
        if key.startswith("throu") and key.endswith(_ENDINGS[name]):
            return positive(rate)
    return None


def _samples_over_time(value: Mapping[str, Any], name: str, samples: float | None) -> float | None:
    seconds = _seconds(value, name)
    return samples / seconds if samples and seconds else None


def _seconds(value: Mapping[str, Any], name: str) -> float | None:
    times = [positive(value.get(time)) for time in _TIMES[name]]
    return next((time for time in times if time is not None), None)


def _choose_throughput(result: Result) -> None:
    stated = result.stated
    rates = [stated[name] for name in ("whole", "no_eval", "throughput") if name in stated]
    if rates != sorted(rates):
        result.remarks.append(
            "The throughputs contradict each other: less time counted has to give more, but they are"
            f" {', '.join(f'{rate:.7g}' for rate in rates)}."
        )
    if "throughput" in stated or not rates:
        return
    without = "without" if "no_eval" in stated else "with"
    stated["throughput"] = rates[-1]
    result.remarks.append(f"The throughput is of the training {without} its evaluations: no other is stated.")


def _take_others(value: Mapping[str, Any], result: Result) -> None:
    for name, key in (("e2e_s", "e2e_time"), ("loss", "final_loss")):
        found = number(value.get(key))
        if found is not None:
            result.stated[name] = found
    accuracy = _accuracy(value)
    if accuracy is not None:
        result.stated["accuracy"] = accuracy
    for name in _FINAL:
        found = number(value.get(f"final_{name}"))
        if found is not None:
            result.stated[f"final_{name}"] = found


def _take_target(value: Mapping[str, Any], seconds: float, target: str | None, result: Result) -> None:
    converged = value.get("converged")
    if not isinstance(converged, bool):
        return
    result.stated["converged"] = float(converged)
    if not converged:
        of = f"{target}; " if target else ""
        result.remarks.append(
            f"The training did not reach its target ({of}converged is false), so there is no time to it."
        )
        return
    time = _seconds(value, "whole") or positive(seconds)
    if time is not None:
        result.stated["time_to_train_s"] = time


def _accuracy(value: Mapping[str, Any]) -> float | None:
    """Benchmarks state fractions or percent under the same names: what is above 1 is percent. Less than one percent,
    as a training that did not converge may have it, cannot be told from a fraction where acc1 is known as percent."""
    final = [key for key in value if key.startswith("final_")]
    names = [key for key in final if "acc" in key and not key.endswith("acc5")]
    names += [key for key in final if "map" in key.lower()]
    for key in names:
        found = number(value[key])
        if found is None or not 0 <= found <= 100:
            continue
        if found <= 1 and key.endswith("acc1") and value.get("converged") is not True:
            return None
        return found / 100 if found > 1 else found
    return None


def language_model(lines: Mapping[str, float], facts: Mapping[str, Any]) -> Result:
    """`lines` by the name of their kind; `facts` may hold the model and the number of devices, as the path says."""
    result = Result(unit="tokens/s")
    whole = positive(lines.get("tokens"))
    if whole is None:
        result.faults.append(Fault("no_data", "The log states no tokens per second above zero."))
        return result
    step_seconds = positive(lines.get("fact_step_seconds"))
    if step_seconds is not None:
        whole /= step_seconds
        result.remarks.append("What the log calls tokens per second are those of one step: divided by its time.")
    result.stated["throughput"] = whole
    _take_mfu(lines, whole, facts, result)
    return result


def _take_mfu(lines: Mapping[str, float], whole: float, facts: Mapping[str, Any], result: Result) -> None:
    """Some benchmarks divide by the devices of a node and multiply by the nodes, which is wrong on several nodes. Where
    most parameters are not trained, a token takes 2 operations per parameter, a third."""
    mfu, of_device = positive(lines.get("fact_mfu")), positive(lines.get("tokens_of_device"))
    devices = facts.get("nodes", 0) * facts.get("devices_per_node", 0)
    share = whole / devices if devices else of_device
    if share is None:
        return
    result.stated["tokens_per_s_device"] = share
    if of_device is not None and abs(of_device / share - 1) > 1e-3:
        mfu = mfu * share / of_device if mfu else None
        result.remarks.append(
            f"The log states {of_device:.6g} tokens per second and device, {whole:.6g} on {devices} devices are"
            f" {share:.6g}: the MFU is corrected by that."
        )
    tflops, model, framework = positive(lines.get("tflops")), facts.get("model"), facts.get("framework")
    computed = None if tflops is None else mfu_flagperf(share, str(model), str(framework), tflops * 1e12)
    if mfu is not None and computed is not None and min(abs(computed / mfu - 1), abs(computed / mfu / 3 - 1)) > 0.01:
        result.remarks.append(f"The MFU is stated as {mfu:.4g}; from parameters and theory it is {computed:.4g}.")
    found = mfu if mfu is not None else computed
    if found is not None:
        result.stated["mfu_flagperf"] = found
