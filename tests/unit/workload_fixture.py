"""Declarations of workloads, complete, changed in a place or two."""

from __future__ import annotations

import copy

import pytest
from rackmark.run.workload import workload_from

DIALECTS = {"flagperf": ("throughput", "mfu"), "mindspore": (), "rackmark": None}


PRESET = {
    "batch": 4,
    "precision": "fp32",
    "warmup": 1,
    "steps": 4,
    "repeats": 2,
    "minutes": 5,
    "stalled_after": 60,
    "settings": {"seconds": 0.05},
}


TIMES = {"repeats": 2, "minutes": 5, "stalled_after": 60}


STEPS = {
    "name": "counting",
    "title": "Counting",
    "unit": "samples/s",
    "default_framework": "python",
    "frameworks": {
        "python": {
            "program": "count.py --batch {batch} --seconds {seconds}",
            "dialect": "rackmark",
            "precisions": {"cpu": ["fp32"]},
            "environment": {"package": "", "requirements": {"cpu": []}},
        }
    },
    "presets": {"lab": PRESET, "full": copy.deepcopy(PRESET)},
}


def changed(content=STEPS, **paths):
    """A copy in which the value at each path, as in presets__lab__batch, is another; ... removes it."""
    content = copy.deepcopy(content)
    for path, value in paths.items():
        *folders, name = path.split("__")
        place = content
        for folder in folders:
            place = place.setdefault(folder, {})
        if value is ...:
            del place[name]
        else:
            place[name] = value
    return content


def of_kind(kind, measures=None, **paths):
    measures = {"unit": ...} if measures is None else {"unit": ..., "measures": measures}
    presets = {"lab": {**TIMES, "target": "loss <= 1"} if kind == "target" else TIMES}
    if kind == "target":
        presets = {"lab": {**PRESET, "target": "accuracy >= 0.72"}}
    program = {"frameworks__python__program": "run.sh"}
    return changed(measure=kind, presets=presets, **program, **measures, **paths)


def problems(content):
    with pytest.raises(ValueError) as error:
        workload_from(content, "w/workload.yml", DIALECTS)
    lines = str(error.value).splitlines()
    assert all(line.startswith("w/workload.yml: ") for line in lines)
    return [line[len("w/workload.yml: ") :] for line in lines]
