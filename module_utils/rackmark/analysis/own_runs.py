"""What our own runs and analyses left in a tree: of a run only the logs of its ranks are logs, of an analysis nothing.

A run that is read this way is measured by its logs alone, as those of other tools are; what became of its jobs is left
to the report of the run.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Any, Mapping, NamedTuple, Sequence

from ..logs.series import Window
from ..run.manifest import SCHEMA

_MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 16 << 20
_RANK_LOG = re.compile(r"cases/[^/]{1,40}/r\d{1,6}/rank-\d{1,6}\.log")
_SHOWN = 3


class OwnRuns(NamedTuple):
    """`files` is what may be a log; `window` what the runs themselves measure, if all of them measure the same."""

    files: Sequence[Path]
    remarks: Sequence[str]
    window: Window | None


def without_own_files(root: Path, files: Sequence[Path]) -> OwnRuns:
    manifests = {path.parent: found for path in files if path.name == _MANIFEST and (found := _manifest(path))}
    if not manifests:
        return OwnRuns(files, [], None)
    analyses = [folder for folder, manifest in manifests.items() if manifest.get("logs")]
    runs = [folder for folder in manifests if folder not in analyses]
    owners = {path: _owner(path, manifests) for path in files}
    kept = [path for path, owner in owners.items() if owner is None or (owner in runs and _is_rank_log(path, owner))]
    if not kept:
        raise ValueError(_no_logs(root, runs, manifests))
    windows = {_window(manifests[folder]) for folder in runs}
    return OwnRuns(kept, [*_about_runs(runs), *_about_analyses(analyses)], windows.pop() if len(windows) == 1 else None)


def _manifest(path: Path) -> Mapping[str, Any] | None:
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= _LARGEST_MANIFEST else None
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("schema") == SCHEMA else None


def _owner(path: Path, folders: Mapping[Path, object]) -> Path | None:
    return next((folder for folder in path.parents if folder in folders), None)


def _is_rank_log(path: Path, run: Path) -> bool:
    return _RANK_LOG.fullmatch(str(PurePosixPath(path.relative_to(run)))) is not None


def _window(manifest: Mapping[str, Any]) -> Window | None:
    warmup, steps = manifest.get("warmup"), manifest.get("steps")
    if type(warmup) is not int or type(steps) is not int or warmup < 0 or steps < 1:
        return None
    return Window(warmup, warmup + steps)


def _about_runs(runs: Sequence[Path]) -> list[str]:
    if not runs:
        return []
    what = f"{_names(runs)} is a run" if len(runs) == 1 else f"{_names(runs)} are runs"
    return [
        f"{what} of Rackmark: only the logs of the ranks are read here, by the steps they hold. What became of the jobs"
        f" is judged by playbooks/report.yml -e run_ids={runs[0].name}."
    ]


def _about_analyses(analyses: Sequence[Path]) -> list[str]:
    if not analyses:
        return []
    what = "is an analysis" if len(analyses) == 1 else "are analyses"
    return [f"{_names(analyses)} {what} of Rackmark and left out."]


def _names(folders: Sequence[Path]) -> str:
    more = f" and {len(folders) - _SHOWN} more" if len(folders) > _SHOWN else ""
    return ", ".join(folder.name for folder in folders[:_SHOWN]) + more


def _no_logs(root: Path, runs: Sequence[Path], manifests: Mapping[Path, Mapping[str, Any]]) -> str:
    if runs:
        return (
            f"{root} holds runs of Rackmark without the log of any rank: playbooks/report.yml"
            f" -e run_ids={runs[0].name} says what became of them."
        )
    logs = next(iter(manifests.values()))["logs"]
    folder = logs.get("folder") if isinstance(logs, dict) else None
    return f"{root} holds what an analysis wrote, and no logs: give the folder that it was made from, {folder}."
