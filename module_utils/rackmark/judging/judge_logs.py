"""Gives a repeat of which there are only logs its state and its numbers, as `judge` does for our own runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.digest import Digest, RankDigest
from ..logs.reading import Fault
from ..logs.series import Window
from ..run.cases import Case
from ..run.measures import Measure
from .contradictions import batch_contradicts, doubtful_rate, rate_contradicts
from .log_faults import fault_of_logs, no_throughput, ranks_of
from .measured import Measured, measured
from .rates import Logged, last_loss, throughput, window_samples
from .result import Judged, Result

_SCALING = "time_to_train_scaling"


def judge_logs(
    case: Case,
    number: int,
    logs: Sequence[Digest],
    dialect: Dialect,
    window: Window,
    batch: int | None,
    measures: Mapping[str, Measure],
) -> Judged:
    ranks, twice = ranks_of(logs)
    logged = Logged(case.world_size, dialect, batch, logs, ranks)
    stated = logged.stated
    fault = twice or fault_of_logs(case, logs, ranks, dialect, window) or batch_contradicts(case, logs, batch)
    rate = None
    if fault is None:
        rate = throughput(logged)
        if rate is not None and not 0 < rate < math.inf:
            fault = Fault("no_data", f"The durations in the log cannot be: they make {rate:g} {dialect.unit}.")
        elif rate is None and "time_to_train_s" not in stated and not _states_others(dialect, stated):
            fault = no_throughput(ranks, batch)
        elif rate is not None:
            fault = rate_contradicts(case, logged, rate)
        fault = fault or _died(logs, window)
    finished = max((rank.finished for rank in ranks.values() if rank.finished is not None), default=None)
    why = next((one.unstated["throughput"] for one in logs if "throughput" in one.unstated), None)
    found = {name: measured(one, {"throughput": Measured(rate, why)}, logs) for name, one in measures.items()}
    bare = Result(
        case=case.name,
        repeat=number,
        state="ok",
        reason=None,
        time_to_train_scaling=next((one.facts[_SCALING] for one in logs if _SCALING in one.facts), None),
        ranks_seen=len(ranks),
        finished=finished,
        measures={name: one.value for name, one in found.items()},
        missing={name: one.reason for name, one in found.items() if one.reason is not None},
    )
    if fault is not None:
        return Judged(bare.failed(fault.state, _with_cause(fault, logs)))
    doubt = None if rate is None else doubtful_rate(logged, rate)
    energy_j = stated.get("energy_j")
    result = replace(
        bare,
        throughput=rate,
        whole=stated.get("whole"),
        no_eval=stated.get("no_eval"),
        loss=last_loss(logged),
        accuracy=stated.get("accuracy"),
        time_to_train_s=stated.get("time_to_train_s"),
        converged=bool(stated["converged"]) if "converged" in stated else None,
        energy_j=energy_j,
        samples_per_j=_samples_per_joule(rate, energy_j, logged),
        doubts=[*([] if doubt is None else [doubt]), *_last_words(logs)],
    )
    in_seconds = {name: _in_seconds(rank, case, dialect, batch) for name, rank in ranks.items()}
    return Judged(result, in_seconds, logs, window_samples(logged))


def _states_others(dialect: Dialect, stated: Mapping[str, float]) -> bool:
    return dialect.measures_alone and any(measure.word in stated for measure in dialect.measures)


def _died(logs: Sequence[Digest], window: Window) -> Fault | None:
    """A part of a training that died may be measured, if somebody says which."""
    for one in logs:
        end = one.ending
        if end is not None and end.line is not None and end.progress is not None and window.last is None:
            return Fault(
                "incomplete",
                f"The training died after {end.progress} planned, with this line: {end.line!r}. Measure what it did"
                " before with -e train=.",
            )
    return None


def _last_words(logs: Sequence[Digest]) -> list[str]:
    """Of the first rank that has some."""
    for one in logs:
        if one.ending is not None and one.ending.line is not None:
            return [f"ends with a line that tells of a death: {one.ending.line!r}"]
    progress = next((one.ending.progress for one in logs if one.ending is not None), None)
    return [] if progress is None else [f"ends after {progress} planned"]


def _in_seconds(rank: RankDigest, case: Case, dialect: Dialect, batch: int | None) -> RankDigest:
    """Where lines tell samples per second, only the batch says how long a step took."""
    if not dialect.gives_rate:
        return rank
    of_all = dialect.of_all_ranks and not dialect.rate_of_one_device
    samples = None if batch is None else batch * (case.world_size if of_all else 1)
    return replace(rank, step_seconds=[seconds * samples for seconds in rank.step_seconds] if samples else [])


def _samples_per_joule(rate: float | None, energy_j: float | None, logged: Logged) -> float | None:
    """The energy is that of the whole training, so its samples are known only if all of it is in the window."""
    measured, dialect = logged.measured, logged.dialect
    is_whole = all(rank.first <= 0 and rank.last == rank.end_of_log for rank in measured)
    is_measured = bool(measured) and not dialect.gives_rate and not dialect.prefers_stated
    if rate is None or not energy_j or not is_whole or not is_measured:
        return None
    return rate * max(rank.seconds for rank in measured) / energy_j


def _with_cause(fault: Fault, logs: Sequence[Digest]) -> str:
    cause = next((one.cause for one in logs if one.cause), None)
    explained = (
        cause is None
        or cause in fault.reason
        or fault.state not in ("launch_failed", "incomplete", "no_data", "no_log")
    )
    return fault.reason if explained else f"{fault.reason} The log says: {cause}"
