"""A configuration of FlagPerf as a suite of our own workloads, which take the place of its models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, NamedTuple, Sequence

from ..run.cases import CaseRequest
from ..run.keys import did_you_mean
from ..run.suite import SuiteRun
from .imported import Entry, FlagperfRun, Imported

SETTING = "settings."


class Offer(NamedTuple):
    """What a workload of ours offers: its folder, its frameworks, and the settings of its presets."""

    folder: str
    frameworks: Sequence[str]
    default_framework: str
    settings: Sequence[str]


class AsSuite(NamedTuple):
    """`entries` say of every key what became of it; `notes` are sentences."""

    runs: Sequence[SuiteRun]
    entries: Sequence[Entry]
    notes: Sequence[str]


def offer_of(folder: str, declared: Mapping[str, Any]) -> Offer:
    """`declared` is what workload.yml holds."""
    frameworks = list(declared.get("frameworks", {}))
    presets = declared.get("presets", {}).values()
    settings = {name for preset in presets for name in preset.get("settings", {})}
    return Offer(folder, frameworks, str(declared.get("default_framework", frameworks[0])), sorted(settings))


def as_suite(imported: Imported, offers: Mapping[str, Offer], common: SuiteRun) -> AsSuite:
    """`offers` by the models that they stand for. What `common` says, the command line, comes first; its cases choose
    some of FlagPerf's by their strings."""
    chosen = _chosen(imported.runs, str(common.asked.get("cases") or ""))
    missing = [
        f"{run.cases[0].where}: there is no workload for the model {run.model!r}: {did_you_mean(run.model, offers)}"
        for run in chosen
        if run.model not in offers
    ]
    if missing:
        others = (
            "Choose cases of the others with -e cases=, as they stand in the file, or have FlagPerf's own programs run"
            " with -e driver=flagperf."
        )
        raise ValueError("\n".join([*missing, others]))
    runs = [_run(run, offers[run.model], common) for run in chosen]
    used = {name for run in chosen for name in run.settings if name in offers[run.model].settings}
    left_out = {case.text for run in imported.runs for case in run.cases} - {
        case.text for run in chosen for case in run.cases
    }
    notes = [note for run in chosen for note in (*run.notes, *_other_framework(run, offers[run.model]))]
    return AsSuite(runs, [_told(entry, used, left_out) for entry in imported.entries], list(dict.fromkeys(notes)))


def _chosen(runs: Sequence[FlagperfRun], cases: str) -> Sequence[FlagperfRun]:
    wanted = [text.strip() for text in cases.split(",") if text.strip()]
    if not wanted:
        return runs
    there = {case.text for run in runs for case in run.cases}
    unknown = [text for text in wanted if text not in there]
    if unknown:
        raise ValueError(f"cases={unknown[0]} is not among the cases of FlagPerf's file: {', '.join(sorted(there))}.")
    some = [replace(run, cases=[case for case in run.cases if case.text in wanted]) for run in runs]
    return [run for run in some if run.cases]


def _run(run: FlagperfRun, offer: Offer, common: SuiteRun) -> SuiteRun:
    from_files = {
        "data": run.data,
        "batch": "" if run.batch is None else str(run.batch),
        "precision": run.precision or "",
    }
    asked = {**common.asked, **{name: common.asked.get(name) or value for name, value in from_files.items()}}
    framework = _framework(run, offer)
    cases = ",".join(case_text(run.model, framework, run.hardware, case.request) for case in run.cases)
    settings = {name: value for name, value in run.settings.items() if name in offer.settings}
    return replace(
        common,
        workload=offer.folder,
        asked={**asked, "framework": framework, "cases": cases, "nodes": ""},
        settings={**settings, **common.settings},
    )


def case_text(model: str, framework: str, hardware: str, request: CaseRequest) -> str:
    case = request.case
    return f"{model}:{framework}:{hardware}:{case.nodes}:{case.devices_per_node}:{request.repeats}"


def _framework(run: FlagperfRun, offer: Offer) -> str:
    return run.framework if run.framework in offer.frameworks else offer.default_framework


def _other_framework(run: FlagperfRun, offer: Offer) -> Sequence[str]:
    ours = _framework(run, offer)
    if ours == run.framework:
        return []
    return [
        f"{run.model} runs with {ours} in the place of {run.framework}: {offer.folder} is a program of our own, and its"
        " numbers are not those of FlagPerf's program."
    ]


def _told(entry: Entry, used: set[str], left_out: set[str]) -> Entry:
    """Cases that were not chosen and settings that nobody takes are not used."""
    if entry.key in left_out:
        return entry._replace(new="not used, because cases= does not name it")
    if not entry.new.startswith(SETTING) or entry.new[len(SETTING) :].partition("=")[0] in used:
        return entry
    return entry._replace(new="not used, because the workload that takes the model's place has no such setting")
