"""Reads a checkout of FlagPerf as its users have configured it, and says what becomes of every key."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Mapping, Sequence

from ..credentials import hidden_values
from .case_entries import settings_of
from .case_list import asked_cases, case_entries, listed_cases
from .config_file import ConfigFile, read_whole
from .imported import Entry, FlagperfRun, Imported, ImportedCase

_CONFIGS = Path("run_benchmarks/config")
_SIZE = re.compile(r"[1-9]\d*[bkmgBKMG]?")
_RESULTS = "results are in reports/runs, wherever FlagPerf lies"
_CHECKOUT = "the checkout is where -e flagperf= says"
_NOT_USED: Mapping[str, str] = {
    "ACCE_CONTAINER_OPT": "containers get the devices that are found on their node",
    "ACCE_VISIBLE_DEVICE_ENV_NAME": "the vendor that is found on a node says how its devices are made visible",
    "PIP_SOURCE": "pip's own settings on the host that starts the jobs, or the image, say where packages are from",
    "FLAGPERF_PATH": _CHECKOUT,
    "FLAGPERF_PATH_HOST": _CHECKOUT,
    "FLAGPERF_PATH_CONTAINER": "containers see the same paths as their hosts",
    "FLAGPERF_LOG_PATH": _RESULTS,
    "FLAGPERF_LOG_PATH_HOST": _RESULTS,
    "FLAGPERF_LOG_PATH_CONTAINER": _RESULTS,
    "FLAGPERF_LOG_LEVEL": "there is one level, and it never holds the environment of ranks",
    "CLEAR_CACHES": "it takes root on every host",
    "TEST_TYPE": "FlagPerf has one type of test",
    "HOSTS_PORTS": "every job has a port of its own",
    "MASTER_PORT": "every job has a port of its own",
    "SSH_PORT": "the port is that of the inventory or of ssh's own settings",
}


def read_flagperf(checkout: Path, cases: str = "") -> Imported:
    """`checkout` is FlagPerf's folder, or training/ in it. Nothing of it is executed. Where the operator names `cases`,
    these take the place of CASES, which says where the data of some of them is."""
    training = _training(checkout)
    tests, cluster = (read_whole(training / _CONFIGS / name) for name in ("test_conf.py", "cluster_conf.py"))
    problems: list[str] = []
    vendor = _vendor(tests, training, problems)
    hosts = _hosts(cluster, problems)
    _check_shm_size(tests, problems)
    if cases:
        chosen = asked_cases(cases, tests, problems)
        problems += _twice(chosen)
    else:
        chosen = listed_cases(tests, problems)
        problems += [*_twice(chosen), *_without_hosts(chosen, cluster, hosts)]
    if problems:
        raise ValueError("\n".join(problems))
    entries = [*_entries(tests, [] if cases else chosen), *_entries(cluster, [])]
    with_settings = []
    for case in chosen:
        settings, rows = settings_of(training / vendor, case)
        with_settings.append(replace(case, settings=settings))
        entries += rows
    return Imported(training, vendor, _runs(with_settings), list(dict.fromkeys(entries)))


def _training(checkout: Path) -> Path:
    for folder in (checkout, checkout / "training"):
        if (folder / _CONFIGS).is_dir():
            return folder
    raise ValueError(f"{checkout} is no checkout of FlagPerf: it has no training/{_CONFIGS}.")


def _vendor(tests: ConfigFile, training: Path, problems: list[str]) -> str:
    vendor = tests.values.get("VENDOR")
    if isinstance(vendor, str) and re.fullmatch(r"\w[\w.-]*", vendor) and (training / vendor).is_dir():
        return vendor
    problems.append(f"{tests.at('VENDOR')}: VENDOR={vendor!r} is not a folder of {training}, as nvidia is.")
    return ""


def _hosts(cluster: ConfigFile, problems: list[str]) -> Sequence[str]:
    hosts = cluster.values.get("HOSTS")
    if isinstance(hosts, list) and hosts and all(isinstance(host, str) and host for host in hosts):
        return hosts
    problems.append(f"{cluster.at('HOSTS')}: HOSTS={hosts!r} is not a list of host names or addresses.")
    return []


def _check_shm_size(tests: ConfigFile, problems: list[str]) -> None:
    size = tests.values.get("SHM_SIZE")
    if size is not None and not (isinstance(size, str) and _SIZE.fullmatch(size)):
        problems.append(f"{tests.at('SHM_SIZE')}: SHM_SIZE={size!r} is not a size as Docker writes it, as in 32G.")


def _twice(cases: Sequence[ImportedCase]) -> list[str]:
    first: dict[tuple[object, ...], ImportedCase] = {}
    problems = []
    for case in cases:
        other = first.setdefault((_run_of(case), case.name), case)
        if other is not case:
            problems.append(
                f"{case.where}: {case.text} is the same case as {other.text}: say with its repeats how often it runs."
            )
    return problems


def _without_hosts(cases: Sequence[ImportedCase], cluster: ConfigFile, hosts: Sequence[str]) -> list[str]:
    return [
        f"{case.where}: {case.text} takes {case.request.case.nodes} hosts, {cluster.at('HOSTS')} names {len(hosts)}."
        for case in cases
        if hosts and case.request.case.nodes > len(hosts)
    ]


def _entries(conf: ConfigFile, cases: Sequence[ImportedCase]) -> list[Entry]:
    of_cases = {case.text for case in cases if case.text in conf.values}
    rows: list[Entry] = []
    for key, value in conf.values.items():
        if key == "CASES":
            rows += case_entries(conf, cases)
        elif key not in of_cases:
            rows.append(Entry(conf.at(key), key, _shown(value), _new(key, value)))
    return rows


def _new(key: str, value: object) -> str:
    if key == "VENDOR":
        return "the folder with the settings of the cases"
    if key == "HOSTS" and isinstance(value, list):
        hosts = json.dumps({"benchmark_hosts": list(map(str, value))})
        return f"not used, because it belongs on the command line: -e '{hosts}' with launcher=ssh"
    if key == "SHM_SIZE":
        if value is None:
            return "not used, because it is not set"
        given = f"-e benchmark_shm_size={str(value).lower()}"
        return f"not used, because it belongs on the command line: {given} with runtime=docker"
    if isinstance(value, dict):
        return "not used, because CASES does not name it"
    return f"not used, because {_NOT_USED.get(key, 'Rackmark knows no such key of FlagPerf')}"


def _shown(value: object) -> str:
    return hidden_values(str(value))


def _run_of(case: ImportedCase) -> tuple[str | None, str, str | None, str]:
    """Versions of a framework have images of their own."""
    return case.request.model, case.framework, case.request.hardware, case.data


def _runs(cases: Sequence[ImportedCase]) -> list[FlagperfRun]:
    grouped: dict[tuple[object, ...], list[ImportedCase]] = {}
    for case in cases:
        grouped.setdefault(_run_of(case), []).append(case)
    return [
        FlagperfRun(
            model=str(members[0].request.model),
            framework=str(members[0].request.framework),
            hardware=str(members[0].request.hardware),
            data=members[0].data,
            cases=members,
        )
        for members in grouped.values()
    ]
