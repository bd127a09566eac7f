"""What a comparison of runs cannot see: a shift of all repeats of a run is not in the spread of these repeats."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping, Sequence

from ..numbers.summary_json import Summary
from ..run.times import duration_in_words


def not_seen(summaries: Sequence[Summary], hosts: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Of the first run against the others. How far apart the runs were is said where it is known of all."""
    elsewhere = _elsewhere(hosts)
    if alternated(summaries):
        where = f", though {elsewhere[0]}" if elsewhere else ""
        return (
            f"The repeats of these runs alternated{where}: what drifts slowly (heat, load) is in all of them alike, and"
            " what changed from one repeat to the next is in their spread."
        )
    known = ", ".join([*_apart([summary.get("started") for summary in summaries]), *elsewhere])
    return (
        f"These are separate runs{f' ({known})' if known else ''}: their intervals cover the spread within each run,"
        " and a shift between runs (heat, load, other nodes) counts as a difference."
    )


def alternated(summaries: Sequence[Summary]) -> bool:
    """Whether repeats of every case that the runs have in common took turns, by when their jobs began."""
    cases = [{case["case"]: _begins(case) for case in summary["cases"]} for summary in summaries]
    common = set.intersection(*map(set, cases))
    return bool(common) and all(_in_turns([of_run[case] for of_run in cases]) for case in common)


def _begins(case: Mapping[str, Any]) -> list[float | None]:
    return [run.get("began") for run in case["runs"] if run["state"] == "ok"]


def _in_turns(runs: Sequence[Sequence[float | None]]) -> bool:
    """The runs change with every repeat, as long as there are repeats left of each."""
    begins = [(began, number) for number, of_run in enumerate(runs) for began in of_run if began is not None]
    fewest = min(map(len, runs))
    if fewest < 2 or len(begins) < sum(map(len, runs)):
        return False
    order = [number for _, number in sorted(begins)]
    changes = sum(one != following for one, following in zip(order, order[1:]))
    return changes >= len(runs) * fewest - 1


def _apart(started: Sequence[object]) -> list[str]:
    try:
        moments = [datetime.fromisoformat(str(text).replace("Z", "+00:00")) for text in started]
        seconds = (max(moments) - min(moments)).total_seconds()
    except (TypeError, ValueError):  # no date, or one without a time zone among others
        return []
    return [f"{duration_in_words(seconds)} apart"] if seconds else []


def _elsewhere(hosts: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    names = {frozenset(str(host["name"]) for host in of_run) for of_run in hosts}
    return ["on different nodes"] if len(names) > 1 and all(names) else []
