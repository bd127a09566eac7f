"""CASES of test_conf.py: a dict from case strings to data folders, or in 2022 a list of names, each of a dict."""

from __future__ import annotations

import re
from typing import Iterator, Mapping, Sequence

from ..numbers.words import counted
from ..run.cases import CaseRequest
from .config_file import ConfigFile
from .imported import Entry, ImportedCase

_FIELDS = 6
_CONFIG = re.compile(r"config_(?P<hardware>.+)x\d+x\d+")
_OF_CASE: Mapping[str, type] = {
    **dict.fromkeys(("model", "framework", "config", "data_dir_host"), str),
    **dict.fromkeys(("nnodes", "nproc", "repeat"), int),
}
_IN_CONTAINER = "data_dir_container"
_NEW_NAMES = {"data_dir_host": "data", "repeat": "repeats", "nnodes": "nodes", "nproc": "devices per node"}


def listed_cases(conf: ConfigFile, problems: list[str]) -> list[ImportedCase]:
    """Sentences on what is wrong go to `problems`."""
    cases = conf.values.get("CASES")
    if not isinstance(cases, (dict, list)):
        problems.append(f"{conf.at('CASES')}: CASES is no dict from case strings to data folders.")
        return []
    if not cases:
        problems.append(f"{conf.at('CASES')}: CASES is empty: take the # from the cases that are to run.")
    found = []
    for name in cases:
        try:
            found.append(_of_2022(conf, name) if isinstance(cases, list) else _of_string(conf, name, cases[name]))
        except ValueError as error:
            problems.append(str(error))
    return found


def asked_cases(cases: str, conf: ConfigFile, problems: list[str]) -> list[ImportedCase]:
    """Those that the operator names, with the data of those that CASES has, too."""
    listed = {case.text: case for case in listed_cases(conf, [])}
    found = []
    for text in (part.strip() for part in cases.split(",")):
        try:
            found.append(listed.get(text) or _case("-e cases", text, ""))
        except ValueError as error:
            problems.append(str(error))
    return found


def case_entries(conf: ConfigFile, cases: Sequence[ImportedCase]) -> Iterator[Entry]:
    """A row for each case, and of 2022 for each key of it."""
    for case in cases:
        request, of_2022 = case.request, conf.values.get(case.text)
        repeats = counted(request.repeats or 0, "repeat")
        new = f"case {case.name} of {request.model} with {request.framework}, {repeats}, data={case.data}"
        if not isinstance(of_2022, dict):
            yield Entry(case.where, case.text, case.data, new + _ignored(case.text))
            continue
        yield Entry(case.where, case.text, case.config, new)
        for key, value in of_2022.items():
            yield Entry(conf.at(case.text, key), f"{case.text}.{key}", str(value), _new(key))


def _ignored(text: str) -> str:
    rest = ":".join(text.split(":")[_FIELDS:])
    return f"; what follows the repeats ({rest}) is not used, because FlagPerf ignores it, too" if rest else ""


def _new(key: str) -> str:
    if key in _OF_CASE:
        return f"{_NEW_NAMES.get(key, key)} of that case"
    reason = "containers see the data at the path of their host" if key == _IN_CONTAINER else "FlagPerf has no such key"
    return f"not used, because {reason}"


def _of_string(conf: ConfigFile, text: object, data: object) -> ImportedCase:
    where = conf.at("CASES", text)
    if not isinstance(text, str) or not isinstance(data, str):
        raise ValueError(f"{where}: {text!r}: {data!r} is not a case string with the path of its data folder.")
    return _case(where, text, data)


def _case(where: str, text: str, data: str) -> ImportedCase:
    fields = text.split(":")
    request = _request(where, ":".join(fields[:_FIELDS]))
    config = f"config_{request.hardware}x{request.case.nodes}x{request.case.devices_per_node}"
    return ImportedCase(text, request, fields[1], config, data, where)


def _of_2022(conf: ConfigFile, name: object) -> ImportedCase:
    where = conf.at("CASES", name)
    case = conf.values.get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or not isinstance(case, dict):
        raise ValueError(f"{where}: CASES names {name!r}, and there is no dict of that name with its model and data.")
    where = conf.at(name)
    wrong = [key for key, kind in _OF_CASE.items() if type(case.get(key)) is not kind]
    if wrong:
        raise ValueError(f"{where}: {name} has no usable {', '.join(wrong)}.")
    config = str(case["config"])
    named = _CONFIG.fullmatch(config)
    hardware = named["hardware"] if named else config
    size = f"{case['nnodes']}:{case['nproc']}:{case['repeat']}"
    request = _request(where, f"{case['model']}:{case['framework']}:{hardware}:{size}")
    return ImportedCase(name, request, case["framework"], config, case["data_dir_host"], where)


def _request(where: str, text: str) -> CaseRequest:
    try:
        if ":" not in text:
            raise ValueError(f"{text!r} is not a case string of FlagPerf: it has no model and no framework.")
        return CaseRequest.parse(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
