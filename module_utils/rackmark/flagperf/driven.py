"""FlagPerf's own programs as a suite: for each benchmark a workload's folder, made of the parts of the checkout."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

import yaml

from ..dialects.flagperf_result import MEASURES
from ..run.measures import Measure
from ..run.suite import SuiteRun
from .as_suite import SETTING, AsSuite, case_text
from .case_entries import OWN_SETTING
from .checkout import BASES, Benchmark, missing_parts, notes_on
from .images import image_name
from .imported import Entry, FlagperfRun, Imported, ImportedCase

PRESET = "flagperf"
CASE = "flagperf"  # the setting that says which case of FlagPerf a run is, without its numbers
VENDOR = "vendor"
_COMMON_PRESETS = ("", "full", "lab", PRESET)
_DIGITS = 10
_OWN = "read by FlagPerf's own program"
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".git")


def driven_suite(imported: Imported, common: SuiteRun, commit: str, driver: Path, dest: Path) -> AsSuite:
    """`driver` is the folder of our own files that start a benchmark, `dest` is for the folders of the workloads.
    Nothing of the checkout is executed here; everything that is missing in it is said at once."""
    if common.asked.get("preset", "") not in _COMMON_PRESETS:
        raise ValueError(
            f"preset={common.asked['preset']} has no use with driver=flagperf: sizes are those of FlagPerf's own files."
        )
    runs = [part for run in imported.runs for part in _alike(_with_data(run, str(common.asked.get("data") or "")))]
    benchmarks = [Benchmark(imported.training, imported.vendor, run.model, _base(run)) for run in runs]
    problems = [*_without_data(runs)]
    for run, benchmark in zip(runs, benchmarks):
        problems += missing_parts(benchmark, run.cases)
    if problems:
        raise ValueError("\n".join(dict.fromkeys(problems)))
    made = [_made(run, benchmark, common, commit, driver, dest) for run, benchmark in zip(runs, benchmarks)]
    notes = [note for benchmark in benchmarks for note in notes_on(benchmark)]
    return AsSuite(made, [_told(entry) for entry in imported.entries], list(dict.fromkeys(notes)))


def _base(run: FlagperfRun) -> str:
    return run.cases[0].framework.partition("_")[0]


def _with_data(run: FlagperfRun, data: str) -> FlagperfRun:
    return replace(run, data=data or run.data)


def _without_data(runs: Sequence[FlagperfRun]) -> list[str]:
    return [
        f"{run.cases[0].text} has no folder of data: CASES names none for it, so give one with -e data=."
        for run in runs
        if not run.data
    ]


def _alike(run: FlagperfRun) -> list[FlagperfRun]:
    """A run has one batch and one precision, and cases of FlagPerf may differ in theirs."""
    grouped: dict[tuple[object, object], list[ImportedCase]] = {}
    for case in run.cases:
        grouped.setdefault((case.settings.batch, case.settings.precision), []).append(case)
    return [replace(run, cases=cases) for cases in grouped.values()]


def _made(run: FlagperfRun, benchmark: Benchmark, common: SuiteRun, commit: str, driver: Path, dest: Path) -> SuiteRun:
    told = {
        "model": benchmark.model,
        "base": benchmark.base,
        "vendor": benchmark.vendor,
        "configs": {case.name: case.config for case in run.cases},
    }
    texts = {
        "drive.json": json.dumps(told, indent=1) + "\n",
        "workload.yml": yaml.safe_dump(declared(run, benchmark, commit), sort_keys=False, width=120),
    }
    cases = (case_text(run.model, benchmark.base, run.hardware, case.request) for case in run.cases)
    folder = _folder(benchmark, texts, driver, dest)
    asked = {"data": run.data, "framework": benchmark.base, "cases": ",".join(cases), "nodes": "", "preset": ""}
    return replace(common, workload=str(folder), asked={**common.asked, **asked})


def declared(run: FlagperfRun, benchmark: Benchmark, commit: str) -> dict[str, Any]:
    """The workload.yml of a benchmark."""
    batch, precision = run.batch, run.precision
    preset: dict[str, Any] = {"repeats": 1, "minutes": 10080, "stalled_after": 3600}
    preset.update({"batch": batch} if batch else {})
    preset.update({"precision": precision} if precision else {})
    case = f"{run.model}:{run.cases[0].framework}:{run.hardware}"
    preset["settings"] = {CASE: case, VENDOR: benchmark.vendor, "commit": commit}
    framework = {
        "program": "drive.py",
        "data_options": "--data {data}",
        "dialect": "flagperf",
        "ranks": BASES[benchmark.base].ranks,
        "meet": "torch",
        "image": image_name(benchmark.vendor, run),  # what playbooks/image.yml builds
    }
    return {
        "name": f"flagperf-{run.model}",
        "title": f"{run.model}, FlagPerf's own program",
        "also_called": {run.model: PRESET},
        "measure": "stated",
        "measures": {measure.name: measure.data() for measure in _measures(benchmark)},
        "headline": "throughput",
        "data": "files",
        "frameworks": {benchmark.base: framework},
        "presets": {PRESET: preset},
    }


def _measures(benchmark: Benchmark) -> Iterable[Measure]:
    """What the text of the program says that it states, so that nothing is missed which it never gives."""
    of_language = BASES[benchmark.base].language_models or benchmark.states("Tokens/p/s")
    yield Measure("throughput", "tokens/s" if of_language else "samples/s", "higher", "stated.throughput")
    if of_language:
        yield from (measure for measure in MEASURES if measure.name in ("tokens_per_s_device", "mfu_flagperf"))
        return
    for name in ("whole", "no_eval"):
        yield Measure(name, "samples/s", "higher", f"stated.{name}")
    yield Measure("time_to_train", "s", "lower", "stated.time_to_train_s")
    yield from (measure for measure in MEASURES if benchmark.states(_name_of_flagperf(measure)))


def _name_of_flagperf(measure: Measure) -> str:
    return {"e2e_s": "e2e_time"}.get(measure.name, measure.name)


def _folder(benchmark: Benchmark, texts: Mapping[str, str], driver: Path, dest: Path) -> Path:
    """Named by its content, so that a checkout that has changed in the meantime does not change a run."""
    copied = {Path("training") / part: benchmark.training / part for part in benchmark.parts}
    files = {path.name: path for path in sorted(driver.iterdir()) if path.is_file()}
    digest = hashlib.sha256(json.dumps(dict(texts)).encode())
    for name, path in (*files.items(), *_all_files(copied)):
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    folder = dest / f"{benchmark.vendor}-{benchmark.model}-{benchmark.base}-{digest.hexdigest()[:_DIGITS]}"
    if folder.is_dir():
        return folder
    made = dest / f".{folder.name}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    for name, text in texts.items():
        (made / name).write_text(text)
    for name, path in files.items():
        shutil.copy2(path, made / name)
    for part, source in copied.items():
        if source.is_dir():
            shutil.copytree(source, made / part, ignore=_NOT_COPIED)
    made.rename(folder)
    return folder


def _all_files(folders: Mapping[Path, Path]) -> Iterable[tuple[str, Path]]:
    for part, source in folders.items():
        for path in sorted(source.rglob("*")):
            if path.is_file() and not {"__pycache__", ".git"} & set(path.parts):
                yield str(part / path.relative_to(source)), path


def _told(entry: Entry) -> Entry:
    """FlagPerf's program reads its settings itself; those that decide over a run are the run's, too."""
    own = entry.new.startswith(SETTING) or entry.new == OWN_SETTING
    return entry._replace(new=_OWN) if own else entry
