"""What a ping matrix comes to: numbers, what is wrong, and what was not tested."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Collection, Mapping, Sequence

import numpy as np

from ..hostlist import compact
from ..node.device_pings import LOST, REACHED, UNKNOWN
from ..node.ping_order import way
from .matrix import LEFT_OUT, NO_WAY, NOT_TESTED, WAYS, Matrix
from .sentences import sentences

TESTED = (REACHED, LOST, UNKNOWN)
SCHEMA = "rackmark.device-network/1"


def verdict(
    matrix: Matrix, problems: Sequence[str], links_down: Collection[str], silent: Mapping[str, str], minutes: int
) -> dict[str, Any]:
    """`problems` are of addresses; `silent` nodes, with the reason, were to ping and did not report.

    `passed` says that everything that could be tested in the time was reached, that this was enough of each kind for
    every device, and that no address is in doubt.
    """
    faults = [*problems, *(f"{name} sent no pings: {reason}" for name, reason in silent.items())]
    faults += [*sentences(matrix, links_down), *_without_result(matrix), *_too_little(matrix, silent, minutes)]
    counts = matrix.counts()
    return {
        "schema": SCHEMA,
        "passed": not faults and counts["reached"] > 0,
        "pairs": len(matrix.devices) * (len(matrix.devices) - 1),
        **counts,
        "ways": {kind: _way(matrix, kind) for kind in matrix.by_way()},
        "problems": faults,
        "remarks": _remarks(matrix, counts, minutes),
        "devices": [device._asdict() for device in matrix.devices],
    }


def _way(matrix: Matrix, kind: str) -> dict[str, Any]:
    where = matrix.by_way()[kind]
    times = matrix.milliseconds[where & ~np.isnan(matrix.milliseconds)]
    if not times.size:
        return {**matrix.counts(where), "median_ms": None, "longest_ms": None}
    return {**matrix.counts(where), "median_ms": float(np.median(times)), "longest_ms": float(times.max())}


def _without_result(matrix: Matrix) -> list[str]:
    told = []
    for place in np.flatnonzero((matrix.marks == UNKNOWN).any(axis=1)):
        others = np.flatnonzero(matrix.marks[place] == UNKNOWN)
        reason, _ = Counter(matrix.said.get((int(place), int(other)), "") for other in others).most_common(1)[0]
        told.append(f"{matrix.name(int(place))}: no result of {len(others)} pings ({reason}).")
    return told


def _too_little(matrix: Matrix, silent: Collection[str], minutes: int) -> list[str]:
    """A device that had no time for each kind of way was not tested at all in this respect."""
    lacking = []
    for place in np.flatnonzero((matrix.marks == NOT_TESTED).any(axis=1)).tolist():
        if _kinds(matrix, place, [NOT_TESTED]) - _kinds(matrix, place, TESTED):
            lacking.append(matrix.devices[place])
    names = [device.node for device in lacking if device.node not in silent]
    if not names:
        return []
    return [
        f"{len(names)} devices of {compact(names)} had no time for a ping of every kind in {minutes} minutes: give more"
        " with -e minutes=."
    ]


def _kinds(matrix: Matrix, place: int, marks: Sequence[str]) -> set[str]:
    others = np.flatnonzero(np.isin(matrix.marks[place], marks)).tolist()
    return {way(matrix.devices[place], matrix.devices[other]) for other in others}


def _remarks(matrix: Matrix, counts: Mapping[str, int], minutes: int) -> list[str]:
    return [*_sampled(matrix, counts, minutes), *_untested(matrix)]


def _sampled(matrix: Matrix, counts: Mapping[str, int], minutes: int) -> list[str]:
    if not counts["not_tested"]:
        return []
    tested = np.isin(matrix.marks, TESTED)
    done = int(np.count_nonzero(tested))
    if not done:
        return []
    rows = tested.sum(axis=1)
    needed = math.ceil(minutes * (done + counts["not_tested"]) / done)
    return [
        f"A sample: {minutes} minutes were enough for {done:,} pairs, and {counts['not_tested']:,} were not tested."
        f" Each device pinged {int(rows.min())} to {int(rows.max())} others. All pairs take about -e minutes={needed}."
    ]


def _untested(matrix: Matrix) -> list[str]:
    told = []
    no_way, left_out = (int(np.count_nonzero(matrix.marks == mark)) for mark in (NO_WAY, LEFT_OUT))
    if no_way:
        told.append(
            f"{no_way:,} pairs were not tested: their devices are in different networks, and the one to ping has no"
            " gateway."
        )
    if left_out:
        told.append(f"{left_out:,} pairs within nodes were left out, as asked with within_nodes=false.")
    return told


def summary(result: Mapping[str, Any]) -> list[str]:
    """For a terminal."""
    nodes = len({device["node"] for device in result["devices"]})
    of = "1 node" if nodes == 1 else f"{nodes} nodes"
    lines = [f"{len(result['devices'])} devices of {of}, {result['pairs']:,} pairs"]
    for kind, counts in result["ways"].items():
        tested = counts["reached"] + counts["lost"] + counts["no_result"]
        time = "" if counts["median_ms"] is None else f", median {counts['median_ms']:.3f} ms"
        longest = "" if counts["longest_ms"] is None else f", longest {counts['longest_ms']:.3f} ms"
        lines.append(f"{WAYS[kind]}: {counts['reached']:,} of {tested:,} tested pairs reached{time}{longest}")
    return lines


def conclusion(result: Mapping[str, Any]) -> str:
    if result["passed"]:
        return "Passed: every pair that was tested is reached, and no address differs."
    if not result["problems"]:
        return "Failed: no pair was tested."
    return f"Failed: {len(result['problems'])} {'problem' if len(result['problems']) == 1 else 'problems'}."
