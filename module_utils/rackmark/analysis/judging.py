"""Says what one repeat's logs are worth, as `judging` does for our own runs: a number, or a state and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Mapping, Sequence

from ..dialects.dialect import Dialect
from ..dialects.reading import Fault
from ..dialects.series import Window
from ..judging.judge import Result
from ..run.cases import Case
from .arrangement import Repeat
from .digest import RankDigest

_NAMED = 8
_NOTHING = "The log holds no step and no result."


@dataclass(frozen=True)
class JudgedLogs:
    result: Result
    ranks: Sequence[RankDigest]


def judge_logs(case: Case, repeat: Repeat, dialect: Dialect, window: Window, batch: int | None) -> JudgedLogs:
    ranks, twice = _ranks(repeat)
    stated = {name: value for one in reversed(repeat.logs) for name, value in one.stated.items()}
    fault = twice or _fault(case, repeat, ranks, dialect, window)
    throughput = None
    if fault is None:
        throughput = _throughput(case, ranks, dialect, batch, stated)
        if throughput is not None and not 0 < throughput < math.inf:
            fault = Fault("no_data", f"The durations in the log cannot be: they make {throughput:g} {dialect.unit}.")
        elif throughput is None and "time_to_train_s" not in stated:
            fault = _no_throughput(ranks, batch)
    good = fault is None
    energy_j = stated.get("energy_j") if good else None
    result = Result(
        case=case.name,
        repeat=repeat.number,
        state=fault.state if fault else "ok",
        reason=_with_cause(fault, repeat) if fault else None,
        throughput=throughput if good else None,
        whole=stated.get("whole") if good else None,
        no_eval=stated.get("no_eval") if good else None,
        loss=_loss(ranks, stated) if good else None,
        accuracy=stated.get("accuracy") if good else None,
        time_to_train_s=stated.get("time_to_train_s") if good else None,
        energy_j=energy_j,
        samples_per_j=_samples_per_joule(throughput, energy_j, ranks, dialect),
        ranks_seen=len(ranks),
        attempts=1,
        job_id=None,
        nodes=None,
        finished=max((rank.finished for rank in ranks.values() if rank.finished is not None), default=None),
    )
    return JudgedLogs(result, [_in_seconds(rank, case, dialect, batch) for rank in ranks.values()] if good else [])


def _in_seconds(rank: RankDigest, case: Case, dialect: Dialect, batch: int | None) -> RankDigest:
    """Where lines tell samples per second, only the batch says how long a step took."""
    if not dialect.gives_rate:
        return rank
    samples = None if batch is None else batch * (case.world_size if dialect.of_all_ranks else 1)
    return replace(rank, step_seconds=[seconds * samples for seconds in rank.step_seconds] if samples else [])


def _loss(ranks: Mapping[int | None, RankDigest], stated: Mapping[str, float]) -> float | None:
    last = [rank.losses[-1][1] for rank in ranks.values() if rank.losses]
    return stated.get("loss", math.fsum(last) / len(last) if last else None)


def _ranks(repeat: Repeat) -> tuple[Mapping[int | None, RankDigest], Fault | None]:
    """By the number in the path where every rank has a log of its own; two logs of one rank are no repeat."""
    ranks: dict[int | None, RankDigest] = {}
    paths: dict[int | None, PurePath] = {}
    for one in repeat.logs:
        for number, rank in one.ranks.items():
            name = one.facts.get("rank", number) if len(one.ranks) == 1 else number
            if name in ranks:
                return ranks, Fault("incomplete", f"{paths[name]} and {one.path} are both of rank {name}.")
            ranks[name], paths[name] = rank, one.path
    return ranks, None


def _fault(
    case: Case, repeat: Repeat, ranks: Mapping[int | None, RankDigest], dialect: Dialect, window: Window
) -> Fault | None:
    for one in repeat.logs:
        if one.faults:
            return one.faults[0]
        said = one.facts.get("world_size")
        if said and said != case.world_size:
            return Fault("wrong_world_size", f"The log is of {said} ranks, {case.name} has {case.world_size}.")
    if dialect.of_all_ranks:
        return _without_first_rank(repeat, dialect) or _outside_window(ranks, window)
    return _missing_ranks(case, repeat, ranks) or _outside_window(ranks, window) or _unequal_ranks(ranks)


def _without_first_rank(repeat: Repeat, dialect: Dialect) -> Fault | None:
    """Where every rank has a log, the first one's states the result."""
    named = [one.facts.get("rank") for one in repeat.logs]
    if dialect.prefers_stated and None not in named and 0 not in named:
        return Fault("no_log", "There is no log of rank 0, which is the one that states the result.")
    return None


def _missing_ranks(case: Case, repeat: Repeat, ranks: Mapping[int | None, RankDigest]) -> Fault | None:
    """A rank whose lines are not there did work that nobody can count."""
    seen = max([len(ranks), *(int(one.facts.get("ranks_logged", 0)) for one in repeat.logs)])
    named = {number for number in ranks if number is not None}
    lacking = [str(number) for number in range(min(case.world_size, len(named) + _NAMED)) if number not in named]
    if seen != case.world_size or (len(named) > 1 and lacking):
        which = f": there is none of rank {', '.join(lacking[:_NAMED])}" if len(named) == seen > 1 else ""
        return Fault("no_log", f"{case.name} has {case.world_size} ranks, the log has lines of {seen}{which}.")
    silent = [number for number, rank in ranks.items() if not rank.end_of_log]
    if silent:
        return Fault("no_data", f"Rank {silent[0]} has no line with a usable duration." if len(ranks) > 1 else _NOTHING)
    return None


def _unequal_ranks(ranks: Mapping[int | None, RankDigest]) -> Fault | None:
    """Ranks take the same steps: where one has fewer, lines of it are lost, and its time is not that of the others."""
    fewest, most = (choose(rank.steps for rank in ranks.values()) for choose in (min, max))
    if fewest == most:
        return None
    lacking = next(number for number, rank in ranks.items() if rank.steps == fewest)
    return Fault("incomplete", f"Rank {lacking} has lines of {fewest:.0f} of the {most:.0f} measured steps.")


def _outside_window(ranks: Mapping[int | None, RankDigest], window: Window) -> Fault | None:
    logged = [rank for rank in ranks.values() if rank.end_of_log]
    if not logged:
        return None
    ends = min(rank.end_of_log for rank in logged)
    if window.last is not None and ends < window.last:
        return Fault("incomplete", f"The log ends with step {ends:.0f}, to be measured was up to step {window.last}.")
    if not all(rank.steps for rank in logged):
        return Fault(
            "incomplete",
            f"The log ends with step {ends:.0f} and holds nothing measured after the warm-up of {window.warmup} steps:"
            " choose a shorter one with -e warmup=.",
        )
    if len({(rank.first, rank.last) for rank in logged}) > 1:
        spans = sorted({f"{rank.first + 1:.0f} to {rank.last:.0f}" for rank in logged})
        return Fault("incomplete", f"One rank's log has the steps {spans[0]}, another's the steps {spans[1]}.")
    return None


def _throughput(
    case: Case,
    ranks: Mapping[int | None, RankDigest],
    dialect: Dialect,
    batch: int | None,
    stated: Mapping[str, float],
) -> float | None:
    if dialect.prefers_stated and "throughput" in stated:
        return stated["throughput"]
    logged = [rank for rank in ranks.values() if rank.steps]
    if not logged:
        return stated.get("throughput")
    if dialect.gives_rate:
        rates = [rank.steps / rank.seconds for rank in logged]
        return rates[0] if dialect.of_all_ranks else math.fsum(rates)
    samples = [count for count in (_samples(rank, batch) for rank in logged) if count is not None]
    if len(samples) < len(logged):
        return None
    if dialect.of_all_ranks:
        scale = 1 if math.isfinite(logged[0].samples) else case.world_size
        return samples[0] * scale / logged[0].seconds
    every = case.world_size if list(ranks) == [None] else 1  # lines of ranks that cannot be told apart are as of one
    return every * math.fsum(samples) / max(rank.seconds for rank in logged)


def _samples_per_joule(
    throughput: float | None,
    energy_j: float | None,
    ranks: Mapping[int | None, RankDigest],
    dialect: Dialect,
) -> float | None:
    """The energy is that of the whole training, so its samples are known only if all of it is in the window."""
    logged = [rank for rank in ranks.values() if rank.steps]
    is_whole = all(rank.first <= 0 and rank.last == rank.end_of_log for rank in logged)
    is_measured = bool(logged) and not dialect.gives_rate and not dialect.prefers_stated
    if throughput is None or not energy_j or not is_whole or not is_measured:
        return None
    return throughput * max(rank.seconds for rank in logged) / energy_j


def _samples(rank: RankDigest, batch: int | None) -> float | None:
    if math.isfinite(rank.samples):
        return rank.samples
    return rank.steps * batch if batch is not None else None


def _no_throughput(ranks: Mapping[int | None, RankDigest], batch: int | None) -> Fault:
    if batch is None and any(rank.steps for rank in ranks.values()):
        return Fault(
            "no_data", "Neither the path nor the log says how many samples a step has: give -e batch= (per device)."
        )
    return Fault("no_data", _NOTHING)


def _with_cause(fault: Fault, repeat: Repeat) -> str:
    cause = next((one.cause for one in repeat.logs if one.cause), None)
    explained = cause is None or fault.state not in ("incomplete", "no_data", "no_log")
    return fault.reason if explained else f"{fault.reason} The log says: {cause}"
