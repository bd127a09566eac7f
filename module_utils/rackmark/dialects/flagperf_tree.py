"""Where FlagPerf puts the logs of its ranks: <case>/round<k>/<host>_noderank<i>/rank<R>.out.log."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, Mapping

from ..run.cases import CaseRequest

_NODE = re.compile(r"(?P<host>.{1,200})_noderank(?P<node>\d{1,5})")
_ROUND = re.compile(r"round(\d{1,6})")
_RANK_FILE = re.compile(r"rank(\d{1,6})\.(?:out\.log|log\.txt)")
_NODE_FILE = re.compile(r"noderank\d{1,5}\.out\.log")
_OLD_CASE = re.compile(
    r"(?P<model>.{1,80}?)_(?P<framework>TORCH|PADDLE|TF2?|TENSORFLOW2?|MINDSPORE)_(?:.{1,80}_)?"
    r"(?P<hardware>[^_]{1,80})_(?P<nodes>[1-9]\d{0,4})X(?P<devices>[1-9]\d{0,4})"
)
_FRAMEWORKS = {"TORCH": "pytorch", "TF": "tensorflow2", "TF2": "tensorflow2"}


def place(path: PurePath) -> Mapping[str, Any]:
    """R counts over all nodes with some of its launchers, on each node with others."""
    parts = path.parts
    node, round_ = (_NODE.fullmatch(parts[-2]), _ROUND.fullmatch(parts[-3])) if len(parts) > 3 else (None, None)
    if node is None or round_ is None:
        return {}
    facts = {**_case(parts[-4]), "host": node["host"], "repeat": int(round_[1])}
    file, devices = _RANK_FILE.fullmatch(parts[-1]), facts.get("devices_per_node")
    if file is None and _NODE_FILE.fullmatch(parts[-1]) is None:
        return facts
    number_in_name, first = int(file[1]) if file else 0, int(node["node"]) * (devices or 0)
    if devices or node["node"] == "0":
        facts["rank"] = number_in_name if number_in_name >= (devices or 0) else first + number_in_name
    return facts


def _case(name: str) -> dict[str, Any]:
    old = _OLD_CASE.fullmatch(name)
    if old is not None:
        return {
            "model": old["model"].lower(),
            "framework": _FRAMEWORKS.get(old["framework"], old["framework"].lower()),
            "hardware": old["hardware"],
            "nodes": int(old["nodes"]),
            "devices_per_node": int(old["devices"]),
        }
    try:
        request = CaseRequest.parse(name)
    except ValueError:
        return {}
    named = {"model": request.model, "framework": request.framework, "hardware": request.hardware}
    return {
        **{key: value for key, value in named.items() if value is not None},
        "nodes": request.case.nodes,
        "devices_per_node": request.case.devices_per_node,
    }
