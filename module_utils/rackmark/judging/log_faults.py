"""What logs show against a repeat of which nothing else is known: neither what was asked for nor how its job ended."""

from __future__ import annotations

from pathlib import PurePath
from typing import Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.digest import Digest, RankDigest
from ..logs.reading import Fault
from ..logs.series import Window
from ..run.cases import Case
from .contradictions import case_contradicts

NOTHING = "The log holds no step and no result."
_NAMED = 8

Ranks = Mapping["int | None", RankDigest]


def ranks_of(logs: Sequence[Digest]) -> tuple[Ranks, Fault | None]:
    """By the number in the path where every rank has a log of its own; two logs of one rank are no repeat."""
    ranks: dict[int | None, RankDigest] = {}
    paths: dict[int | None, PurePath] = {}
    for one in logs:
        for number, rank in one.ranks.items():
            name = one.facts.get("rank", number) if len(one.ranks) == 1 else number
            if name in ranks:
                return ranks, Fault("incomplete", f"{paths[name]} and {one.path} are both of rank {name}.")
            ranks[name], paths[name] = rank, one.path
    return ranks, None


def fault_of_logs(case: Case, logs: Sequence[Digest], ranks: Ranks, dialect: Dialect, window: Window) -> Fault | None:
    for one in logs:
        if one.faults:
            return one.faults[0]
        said = one.facts.get("world_size")
        if said and said != case.world_size:
            return Fault("wrong_world_size", f"The log is of {said} ranks, {case.name} has {case.world_size}.")
        contradiction = case_contradicts(case, one)
        if contradiction is not None:
            return contradiction
    if dialect.of_all_ranks:
        return _without_first_rank(logs, dialect) or outside_window(ranks, window)
    return _missing_ranks(case, logs, ranks) or outside_window(ranks, window) or unequal_ranks(ranks)


def _without_first_rank(logs: Sequence[Digest], dialect: Dialect) -> Fault | None:
    """Where every rank has a log, the first one's states the result."""
    named = [one.facts.get("rank") for one in logs]
    if dialect.prefers_stated and None not in named and 0 not in named:
        return Fault("no_log", "There is no log of rank 0, which is the one that states the result.")
    return None


def _missing_ranks(case: Case, logs: Sequence[Digest], ranks: Ranks) -> Fault | None:
    """A rank whose lines are not there did work that nobody can count."""
    seen = max([len(ranks), *(int(one.facts.get("ranks_logged", 0)) for one in logs)])
    named = {number for number in ranks if number is not None}
    lacking = [str(number) for number in range(min(case.world_size, len(named) + _NAMED)) if number not in named]
    if seen != case.world_size or (len(named) > 1 and lacking):
        which = f": there is none of rank {', '.join(lacking[:_NAMED])}" if len(named) == seen > 1 else ""
        return Fault("no_log", f"{case.name} has {case.world_size} ranks, the log has lines of {seen}{which}.")
    silent = [number for number, rank in ranks.items() if not rank.end_of_log]
    if silent:
        return Fault("no_data", f"Rank {silent[0]} has no line with a usable duration." if len(ranks) > 1 else NOTHING)
    return None


def unequal_ranks(ranks: Ranks) -> Fault | None:
    """Ranks take the same steps: where one has fewer, lines of it are lost, and its time is not that of the others."""
    fewest, most = (choose(rank.steps for rank in ranks.values()) for choose in (min, max))
    if fewest == most:
        return None
    lacking = next(number for number, rank in ranks.items() if rank.steps == fewest)
    return Fault("incomplete", f"Rank {lacking} has lines of {fewest:.0f} of the {most:.0f} measured steps.")


def outside_window(ranks: Ranks, window: Window) -> Fault | None:
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


def no_throughput(ranks: Ranks, batch: int | None) -> Fault:
    if batch is None and any(rank.steps for rank in ranks.values()):
        return Fault(
            "no_data", "Neither the path nor the log says how many samples a step has: give -e batch= (per device)."
        )
    return Fault("no_data", NOTHING)
