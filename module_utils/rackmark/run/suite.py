"""Suites: several runs, of different workloads or frameworks, that are started, resumed and stopped as one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Mapping, Sequence

from .cases import CaseRequest
from .keys import Keys, Lines, Problems, did_you_mean, told
from .run_folder import newest_in
from .workload import Model

SCHEMA = "rackmark.suite_record/1"
RECORD = "record.json"
# What an entry may say; what it leaves open is what the command line says for all.
ASKED = (
    *("nodes", "cases", "framework", "preset", "repeats", "batch", "precision", "steps", "warmup", "scaling"),
    *("baseline", "data", "rules", "target", "require_target", "minutes", "stalled_after"),
)


@dataclass(frozen=True)
class SuiteRun:
    """One run of a suite: a workload's folder, and what is asked for. `run_id` is empty until it is begun."""

    workload: str
    asked: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: Sequence[str] = ()
    image: str = ""
    run_id: str = ""


@dataclass(frozen=True)
class Suite:
    """`interleave` says that jobs of its runs take turns."""

    suite_id: str
    started: str
    launcher: str
    runs: Sequence[SuiteRun]
    interleave: bool = False


def suite_runs(content: object, common: SuiteRun, where: str, lines: Lines = dict) -> list[SuiteRun]:
    """`content` is a list of entries, `common` what the command line says for all of them."""
    problems: Problems = []
    if not isinstance(content, (list, tuple)) or not content:
        raise ValueError(f"{where} is not a list of runs: begin each with '- workload: NAME'.")
    runs = [_run(Keys(entry, f"[{number}]", problems), common) for number, entry in enumerate(content, start=1)]
    if problems:
        raise told(problems, where, lines)
    return runs


def pair(workload: str, candidate: Mapping[str, Any], common: SuiteRun) -> list[SuiteRun]:
    """What is asked for, and the same but for what `candidate` says."""
    problems: Problems = []
    runs = [_run(Keys({"workload": workload, **differs}, "candidate", problems), common) for differs in ({}, candidate)]
    if problems:
        raise ValueError(" ".join(problems))
    return runs


def runs_of_cases(cases: str, workloads: Mapping[str, Model], common: SuiteRun) -> list[SuiteRun]:
    """FlagPerf's strings of any models: one run for each workload, framework and, where none is given, preset."""
    grouped: dict[tuple[Model, str], list[str]] = {}
    for text in (part.strip() for part in cases.split(",")):
        request = CaseRequest.parse(text)
        if request.model is None or request.framework is None:
            raise ValueError(
                f"cases={text} names no model: write <model>:<framework>:<hardware>:<nodes>:<devices per"
                " node>:<repeats>, or give the runs with -e suite=."
            )
        if request.model not in workloads:
            raise ValueError(
                f"There is no workload for the model {request.model!r}: {did_you_mean(request.model, workloads)}"
            )
        model = workloads[request.model]
        model = model._replace(preset=common.asked.get("preset") or model.preset)
        grouped.setdefault((model, request.framework), []).append(text)
    return [
        replace(
            common,
            workload=model.folder,
            asked={
                **common.asked,
                "framework": framework,
                "preset": model.preset,
                "cases": ",".join(texts),
                "nodes": "",
            },
        )
        for (model, framework), texts in grouped.items()
    ]


def begun(suite: Suite, place: int, run_id: str) -> Suite:
    """`place` is that of the run in the list, from 0."""
    runs = [replace(run, run_id=run_id) if number == int(place) else run for number, run in enumerate(suite.runs)]
    return replace(suite, runs=runs)


def without_unbegun(suite: Suite, runs_dir: Path) -> Suite:
    """A run has its name before its folder: where a playbook ended in between, there is nothing to be resumed."""
    runs = [
        run if (runs_dir / run.run_id / "manifest.json").is_file() else replace(run, run_id="") for run in suite.runs
    ]
    return replace(suite, runs=runs)


def record_text(suite: Suite) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(suite)}, indent=2, ensure_ascii=False) + "\n"


def read_record(suites: Path, suite_id: str) -> Suite:
    path = suites / suite_id / RECORD
    try:
        content = json.loads(path.read_text())
        if content["schema"] != SCHEMA:
            raise ValueError
        runs = [SuiteRun(**run) for run in content["runs"]]
        interleave = bool(content.get("interleave"))
        return Suite(content["suite_id"], content["started"], content["launcher"], runs, interleave)
    except FileNotFoundError:
        raise ValueError(f"suite_id={suite_id} is not a suite in {suites}: {newest_in(suites, RECORD)}.") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not the record of a suite.") from None


def _run(keys: Keys, common: SuiteRun) -> SuiteRun:
    asked = {name: text for name in ASKED if (text := _value(keys, name))}
    cleared = {"nodes": "", "cases": ""} if asked.keys() & {"nodes", "cases"} else {}
    run = SuiteRun(
        workload=keys.text("workload"),
        asked={**common.asked, **cleared, **asked},
        settings={**common.settings, **keys.values("settings")},
        flags=(*common.flags, *keys.words("flags", ())),
        image=keys.text("image", "") or common.image,
    )
    keys.no_more()
    return run


def _value(keys: Keys, name: str) -> str:
    """A single value, or a list such as cases: [1n1g, 2n1g]."""
    value = keys.raw(name)
    values = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(each, bool) or not isinstance(each, (str, int)) for each in values if value is not None):
        keys.wrong(name, "is not a single text or whole number.")
        return ""
    return "" if value is None else ",".join(map(str, values))
