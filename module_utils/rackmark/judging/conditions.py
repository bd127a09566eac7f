"""The rules that make a result valid, and the target that a training runs to."""

from __future__ import annotations

from typing import Mapping, Sequence

from ..logs.digest import Digest
from ..logs.reading import Evaluation, Fault
from ..run.rules import Condition
from .asked import Asked
from .measured import Measured, good_trials
from .repeat import Repeat
from .words import steps_of


def broken_rule(
    repeat: Repeat, asked: Asked, measures: Mapping[str, Measured], sentences: Mapping[str, str]
) -> Fault | None:
    """`sentences` by the names of rules are what the benchmark itself says where one is broken."""
    for rule in asked.rules:
        value, reason = _value(rule, repeat, asked, measures)
        said = f"{sentences[rule.name]} " if rule.name in sentences else ""
        if value is None:
            return Fault("rule_failed", f"{said}The rule {rule} cannot be judged: {reason}")
        if not rule.holds(value):
            return Fault("rule_failed", f"{said}The rule {rule} does not hold: {rule.name} is {_digits(rule, value)}.")
    return None


def _digits(rule: Condition, value: float | str) -> str:
    """As many as it takes to see that the rule is broken."""
    if isinstance(value, str):
        return value
    texts = (f"{value:.{digits}g}" for digits in range(6, 17))
    return next((text for text in texts if not rule.holds(float(text))), repr(value))


def _value(
    rule: Condition, repeat: Repeat, asked: Asked, measures: Mapping[str, Measured]
) -> tuple[float | str | None, str | None]:
    if rule.name in measures:
        return measures[rule.name]
    if rule.name == "precision":
        return asked.case.precision or None, "The run has no precision."
    if rule.name == "steps":
        return float(min((steps_of(rank) for rank in repeat.ranks), default=0)), None
    if rule.name == "trials":
        return float(good_trials([rank.log for rank in repeat.ranks])), None
    seconds = _seconds(repeat)
    per_unit = 3600 if rule.name == "hours" else 60
    return None if seconds is None else seconds / per_unit, "The job's records do not tell how long it ran."


def _seconds(repeat: Repeat) -> float | None:
    """How long the job ran, by its own clock where it wrote that down, else by Slurm's."""
    for record, begin, end in ((repeat.end, "started", "ended"), (repeat.job, "start", "end")):
        times = [(record or {}).get(name) for name in (begin, end)]
        first, last = (time if isinstance(time, (int, float)) else None for time in times)
        if first is not None and last is not None and last >= first:
            return float(last - first)
    return None


def converged(asked: Asked, logs: Sequence[Digest]) -> bool | None:
    """Whether the target was reached; None where there was none. A program with a target of its own says it itself."""
    if asked.target is None:
        said = [log.stated["converged"] for log in logs if "converged" in log.stated]
        return said[0] != 0 if said else None
    return _stated_time(logs) is not None or _reached(asked.target, logs) is not None


def missed_target(repeat: Repeat, asked: Asked, time: Measured) -> Fault | None:
    """A training that missed its target is a result, if it has done all its steps and the target was not required."""
    logs = [rank.log for rank in repeat.ranks]
    if asked.target is None or converged(asked, logs) is not False:
        return None
    if asked.require_target or asked.measures[asked.headline].source == "time_to_target":
        return Fault("rule_failed", str(time.reason))
    done, most = min(steps_of(rank) for rank in repeat.ranks), asked.warmup + asked.steps
    if done < most and asked.dialect.counts_every_step:
        return Fault("incomplete", f"{time.reason} Only {done} of {most} steps were done.")
    return None


def time_to_target(asked: Asked, logs: Sequence[Digest], doubt_of_clock: str | None) -> Measured:
    """From the begin of the first step to the end of the first evaluation that reached the target; a log that states
    the time by itself is believed."""
    stated = _stated_time(logs)
    if asked.target is None or stated is not None:
        return Measured(stated)
    reached = _reached(asked.target, logs)
    if reached is None:
        return Measured(None, f"The target {asked.target} was not reached: {_best(asked.target, _evaluations(logs))}")
    if doubt_of_clock is not None:
        return Measured(None, doubt_of_clock)
    begins = [rank.begin for log in logs for rank in log.ranks.values() if rank.begin is not None]
    if not begins:
        return Measured(None, "The logs do not tell when the first step began.")
    return Measured(reached.time - min(begins))


def _stated_time(logs: Sequence[Digest]) -> float | None:
    return next((log.stated["time_to_train_s"] for log in logs if "time_to_train_s" in log.stated), None)


def _evaluations(logs: Sequence[Digest]) -> Sequence[Evaluation]:
    return next((log.evaluations for log in logs if log.evaluations), ())


def _reached(target: Condition, logs: Sequence[Digest]) -> Evaluation | None:
    return next((one for one in _evaluations(logs) if _holds(target, one)), None)


def _holds(target: Condition, evaluation: Evaluation) -> bool:
    value = _of(target, evaluation)
    return value is not None and target.holds(value)


def _of(target: Condition, evaluation: Evaluation) -> float | None:
    return evaluation.accuracy if target.name == "accuracy" else evaluation.loss


def _best(target: Condition, evaluations: Sequence[Evaluation]) -> str:
    known = [(value, one.step) for one in evaluations if (value := _of(target, one)) is not None]
    if not known:
        return f"no evaluation logged its {target.name}."
    value, step = max(known) if target.sense == ">=" else min(known)
    return f"the best {target.name} was {value:.6g}, after step {step}."
