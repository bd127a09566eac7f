"""What differs in how runs were made."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple, TypedDict

from ..numbers.words import MISSING, listed, or_missing
from ..run.manifest import Manifest
from .hosts_table import hosts_table

_Run = Tuple[Manifest, Sequence[Mapping[str, Any]]]
_Fact = Tuple[str, bool]
_ABSENT: _Fact = (MISSING, False)


class Difference(TypedDict):
    """`values` by run. A decisive one means that the runs did not measure the same thing."""

    what: str
    values: Mapping[str, str]
    decisive: bool


def differences(runs: Sequence[_Run]) -> list[Difference]:
    """Of the manifests and the hosts of the runs; where their cases differ, only those in common are looked at."""
    shared = set.intersection(*({case.case for case in manifest.cases} for manifest, _ in runs))
    facts = [_facts(manifest, hosts, shared) for manifest, hosts in runs]
    found: list[Difference] = []
    for name in dict.fromkeys(name for of_run in facts for name in of_run):
        values = [of_run.get(name, _ABSENT) for of_run in facts]
        if len({value for value, _ in values}) > 1:
            by_run = {manifest.run_id: value for (manifest, _), (value, _) in zip(runs, values)}
            found.append({"what": name, "values": by_run, "decisive": any(decisive for _, decisive in values)})
    return found


def not_the_same(found: Sequence[Difference]) -> str | None:
    """Numbers of different measurements must not be read as progress."""
    words = [f"{each['what']} ({', '.join(each['values'].values())})" for each in found if each["decisive"]]
    return f"These runs did not measure the same thing: they differ in {listed(words)}." if words else None


def _facts(manifest: Manifest, hosts: Sequence[Mapping[str, Any]], cases: set[str]) -> dict[str, _Fact]:
    """In words, and whether another value makes it another measurement."""
    settings = {name.replace("_", " "): (str(value), True) for name, value in manifest.settings.items()}
    software = {f"software: {name}": (or_missing(version, str), False) for name, version in manifest.software.items()}
    return {
        "workload": (manifest.workload, True),
        "data": (manifest.data, True),
        "batch per device": (_of_cases(manifest, "batch_per_device", cases), True),
        "precision": (_of_cases(manifest, "precision", cases), True),
        **settings,
        "scaling": (manifest.scaling, True),
        "framework": (manifest.framework, False),
        "code": ((manifest.code_digest or MISSING)[:12], False),
        "device": (manifest.device, False),
        "preset": (manifest.preset, False),
        "warm-up steps": (str(manifest.warmup), False),
        "measured steps": (str(manifest.steps), False),
        "launcher": (manifest.launcher, False),
        "runtime": (manifest.runtime, False),
        "simulated": (listed(manifest.simulated) if manifest.simulated else "nothing", False),
        **software,
        **_machines(hosts),
    }


def _machines(hosts: Sequence[Mapping[str, Any]]) -> dict[str, _Fact]:
    (_, *headings), rows = hosts_table(hosts)
    names = {"hosts": (listed([row[0] for row in rows]), False)} if rows else {}
    columns = zip(headings, list(zip(*rows))[1:])
    return {**names, **{f"hosts: {heading}": ("; ".join(dict.fromkeys(cells)), False) for heading, cells in columns}}


def _of_cases(manifest: Manifest, name: str, cases: set[str]) -> str:
    """One value where all cases have the same."""
    values = {case.case: str(getattr(case, name)) for case in manifest.cases if case.case in cases}
    distinct = list(dict.fromkeys(values.values()))
    return distinct[0] if len(distinct) == 1 else ", ".join(f"{value} in {case}" for case, value in values.items())
