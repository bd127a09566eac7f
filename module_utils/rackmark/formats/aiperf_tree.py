"""What AIPerf's users look for in the folder of an experiment, made at the end of a search, of its history and our
telemetry:

    experiment/graph.txt  train_time  log/nnimanager.log  log/dispatcher.log
               results/results.txt  results/Report_Succeed.html or Report_Failed.html
               device_info/<node>/{time,cpu_info,mem_info,net_info,<device>}.csv
               aiperf-home/{nni,mountdir/nni}/experiments/<id>     links to the experiment

so that `HOME=<experiment>/aiperf-home TZ=UTC python3 report.py --id <id>`, AIPerf's own, reads it.

What is in the folder was written by the benchmark user: it may lack anything, and nothing is written through its links.
"""

from __future__ import annotations

import filecmp
import os
import tempfile
from pathlib import Path
from typing import Iterable, Mapping, NamedTuple, Sequence

from ..aiperf.result import ExperimentResult
from ..files import keep_files
from ..node.repeat_folder import EXPERIMENT
from ..report.aiperf_page import aiperf_page, sentences_of_failure
from .aiperf_device_info import device_info
from .aiperf_files import graph_lines, log_files, train_time
from .aiperf_results import results_txt

_REPORTS = ("Report_Succeed.html", "Report_Failed.html")
_GRAPHS = "graph.txt"
_HOMES = ("nni", "mountdir/nni")


class Written(NamedTuple):
    """`changed` are paths of files that were missing or differed; `remarks` say what could not be written."""

    changed: Sequence[str]
    remarks: Sequence[str]


def write_tree(
    repeat: Path, result: ExperimentResult, state: str, reason: str | None, templates: Path, only_look: bool = False
) -> Written:
    """`state` and `reason` are those that the repeat was judged to have. With `only_look` nothing is written, and
    graph.txt not compared."""
    root = repeat / EXPERIMENT
    if root.is_symlink() or not root.is_dir():
        return Written([], [f"{EXPERIMENT} is no folder in {repeat.name}: AIPerf's files were not written."])
    sentences = sentences_of_failure(result, state, reason)
    name = _REPORTS[1 if sentences else 0]
    made = train_time(result.history)
    files = {
        **({"train_time": made} if made else {}),
        **{f"log/{log}": content for log, content in log_files(result.history).items()},
        "results/results.txt": results_txt(result, sentences),
        f"results/{name}": aiperf_page(result, sentences, templates),
        **{f"device_info/{path}": content for path, content in device_info(repeat).items()},
    }
    links = _links(result)
    taken = [path for path in [*files, *links, _GRAPHS] if not _is_free(root, path)]
    changed = keep_files(root, {path: content for path, content in files.items() if path not in taken}, only_look)
    if not only_look:
        if _GRAPHS not in taken:
            changed += _keep_lines(root / _GRAPHS, graph_lines(root, result.history))
        (other,) = {*_REPORTS} - {name}
        if _is_free(root, f"results/{other}"):
            (root / "results" / other).unlink(missing_ok=True)
        for path, target in links.items():
            if path not in taken:
                _keep_link(root / path, target)
    return Written(changed, [_why_not(path, len(taken)) for path in taken[:1]])


def _links(result: ExperimentResult) -> Mapping[str, str]:
    """They lead upwards to the experiment, wherever it is copied to. Its name was checked as its record was read."""
    record = result.experiment.record
    if record is None:
        return {}
    return {
        f"aiperf-home/{home}/experiments/{record.id}": "/".join([".."] * (2 + home.count("/") + 1)) for home in _HOMES
    }


def _is_free(root: Path, path: str) -> bool:
    """A link or a file in the place itself is replaced."""
    inside = [root / parent for parent in Path(path).parents]
    if any(folder.is_symlink() or (folder.exists() and not folder.is_dir()) for folder in inside):
        return False
    return (root / path).is_symlink() or not (root / path).is_dir()


def _why_not(path: str, count: int) -> str:
    more = f" {count - 1} more of AIPerf's files were not, either." if count > 1 else ""
    return f"{EXPERIMENT}/{path} is inside a link, or something else has its place: it was not written.{more}"


def _keep_link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and os.readlink(path) == target:
        return
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.symlink_to(target)


def _keep_lines(path: Path, lines: Iterable[bytes]) -> list[str]:
    """Line by line: of thousands of large networks they are hundreds of megabytes."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(lines)
        if path.is_file() and not path.is_symlink() and filecmp.cmp(temporary, path, shallow=False):
            return []
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return [str(path)]
