"""What a log says of itself against what its path, or the operator, says of it: neither may win without a word."""

from __future__ import annotations

import math
from typing import Mapping, Sequence

from ..logs.digest import Digest, RankDigest
from ..logs.reading import Fault
from ..numbers.words import counted, quantity
from ..run.cases import Case
from .rates import Logged

_NOUNS = {"nodes": "node", "devices_per_node": "device per node", "world_size": "device"}
_PLURALS = {"nodes": "nodes", "devices_per_node": "devices per node", "world_size": "devices"}
# By which a printed rate may differ from that of the steps. Other devices, or another batch, make at least half as much
# again; what is between both is a slow begin in a mean, or evaluations between the lines.
_SAID, _REFUSED = 0.05, 1.5


def path_contradicts(of_path: Mapping[str, object], said: Mapping[str, object]) -> Fault | None:
    """`said` are the facts of the lines that are others in the path."""
    name = next((name for name in _NOUNS if name in said), None)
    if name is None:
        return None
    return Fault("wrong_world_size", f"The path says {_so_many(name, of_path[name])}, the log {said[name]}.")


def case_contradicts(case: Case, one: Digest) -> Fault | None:
    for name in ("nodes", "devices_per_node"):
        said = one.facts.get(name)
        if said and said != getattr(case, name):
            return Fault("wrong_world_size", f"The log is of {_so_many(name, said)}, {case.name} is not.")
    return None


def _so_many(name: str, value: object) -> str:
    return f"{value} {_NOUNS[name] if value == 1 else _PLURALS[name]}"


def batch_contradicts(case: Case, logs: Sequence[Digest], batch: int | None) -> Fault | None:
    total = next((one.facts["global_batch"] for one in logs if one.facts.get("global_batch")), None)
    if batch is None or total is None or total == batch * case.world_size:
        return None
    return Fault(
        "rule_failed",
        f"The log's global batch is {total}, and {batch} on each of the {counted(case.world_size, 'device')} of"
        f" {case.name} would be {batch * case.world_size}: one of them is of another run.",
    )


def rate_contradicts(case: Case, logged: Logged, rate: float) -> Fault | None:
    for rank in logged.measured:
        expected = _samples_per_step(rank, logged)
        if expected is None or rank.printed is None:
            continue
        printed = rank.printed.usual_samples_per_step
        if not 1 / _REFUSED < expected / printed < _REFUSED:
            return Fault(
                "wrong_world_size" if logged.dialect.of_all_ranks else "rule_failed",
                f"The log prints {quantity(rank.printed.rate)} samples/s, which by its times is {quantity(printed)} in"
                f" a step, and {_by_case(case, logged)} would be {quantity(expected)}: the log is of another case or"
                " batch.",
            )
    stated = _stated(logged)
    if stated is not None and not 1 / _REFUSED < rate / stated < _REFUSED:
        return Fault(
            "rule_failed",
            f"The log states {quantity(stated)} {logged.dialect.unit} as its result, and its steps with"
            f" {_by_case(case, logged)} make {quantity(rate)}: the log is of another case or batch.",
        )
    return None


def doubtful_rate(logged: Logged, rate: float) -> str | None:
    """What is to be said after the number of the repeat."""
    shares = [
        rank.printed.samples_per_step / expected
        for rank in logged.measured
        if rank.printed is not None and (expected := _samples_per_step(rank, logged))
    ]
    stated = _stated(logged)
    if shares:
        furthest = max(shares, key=lambda share: abs(share - 1))
        which = "the rate" if logged.dialect.gives_rate else "these"
        return _doubt("prints", furthest, which) if abs(furthest - 1) > _SAID else None
    if stated is not None and abs(stated / rate - 1) > _SAID:
        return _doubt("states", stated / rate, "these")
    return None


def _doubt(says: str, share: float, which_counts: str) -> str:
    return (
        f"{says} a rate of its own that is {abs(share - 1) * 100:.0f} % {'above' if share > 1 else 'below'} what its"
        f" steps and times make: {which_counts} count{'s' if which_counts != 'these' else ''}"
    )


def _stated(logged: Logged) -> float | None:
    """A result that a log states beside the steps that are measured here."""
    if logged.dialect.prefers_stated or not logged.measured:
        return None
    return logged.stated.get("throughput")


def _samples_per_step(rank: RankDigest, logged: Logged) -> float | None:
    if math.isfinite(rank.samples):
        return rank.samples / rank.steps
    if logged.batch is None:
        return None
    return float(logged.batch * (logged.world_size if logged.dialect.of_all_ranks else 1))


def _by_case(case: Case, logged: Logged) -> str:
    return case.name if logged.batch is None else f"{case.name} with a batch of {logged.batch} per device"
