"""The manifest of a series of logs: what was measured, over which steps, and where that is from."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from ..judging.result import Judged
from ..logs.dialect import Dialect
from ..logs.digest import Digest
from ..logs.series import Window
from ..run.manifest import Manifest, PlannedCase
from ..run.measures import Measure
from .arrangement import SeriesOfLogs
from .log_folders import AIPERF
from .options import Options

_LONGEST_NAME = 120


def manifest_of(
    series: SeriesOfLogs,
    dialect: Dialect,
    measures: Mapping[str, Measure],
    window: Window,
    options: Options,
    logs: Sequence[Digest],
    judged: Mapping[str, Sequence[Judged]],
    folder: str,
    recognised_by: str,
) -> Manifest:
    key = series.key
    first, last = _usual_window(judged, window)
    facts = {name: value for one in reversed(logs) for name, value in one.facts.items()}
    batch = f"b{key.batch}" if key.batch else None
    made_with = [key.framework, key.hardware, key.model, batch, key.precision]
    words = [Path(folder).name, key.tree, key.dialect, *made_with]
    return Manifest(
        run_id=_name(words),
        workload=key.model or dialect.name,
        title=dialect.title,
        framework=str(facts.get("framework", dialect.title)),
        unit=next(iter(measures.values())).unit,
        measures=measures,
        preset="logs",
        scaling="weak",
        device="devices the logs do not name",
        simulated=[],
        notes=[],
        dialect=dialect.name,
        warmup=first,
        steps=max(last - first, 0),
        settings={"target": facts["target"]} if "target" in facts else {},
        data="as the logs have it",
        launcher="logs",
        runtime="logs",
        baseline=next((case.name for case in series.cases if case == options.baseline), None),
        command=f"logs={folder}",
        started=_started(logs),
        cases=[
            PlannedCase(
                case=case.name,
                nodes=case.nodes,
                devices_per_node=case.devices_per_node,
                world_size=case.world_size,
                batch_per_device=key.batch,
                precision=key.precision or "unknown",
                repeats=len(repeats),
            )
            for case, repeats in series.cases.items()
        ],
        software={},
        hosts=[],
        dlperf_model=key.model,
        logs={
            "folder": folder,
            "files": sum(one.files for one in logs),
            "dialect": dialect.title,
            "recognised_by": recognised_by,
            "profile": options.rules if dialect.name == AIPERF else options.profile,
        },
    )


def _usual_window(judged: Mapping[str, Sequence[Judged]], window: Window) -> tuple[int, int]:
    """What most ok repeats were measured over."""
    windows = Counter(_windows(judged))
    if not windows:
        return window.warmup, window.last or window.warmup
    return windows.most_common(1)[0][0]


def window_remarks(judged: Mapping[str, Sequence[Judged]], window: Window) -> list[str]:
    """Lines cover several steps, and a window can only begin and end where a line does."""
    usual = _usual_window(judged, window)
    others = sorted({one for one in _windows(judged) if one != usual})
    remarks = []
    if _windows(judged) and (usual[0] != window.warmup or (window.last is not None and usual[1] != window.last)):
        asked = f"after step {window.warmup}" + (f" up to step {window.last}" if window.last is not None else "")
        remarks.append(
            f"Measured are the steps {usual[0] + 1} to {usual[1]}: the lines of the logs begin and end there, asked was"
            f" {asked}."
        )
    if others:
        spans = ", ".join(f"{first + 1} to {last}" for first, last in others[:5])
        remarks.append(f"Some repeats were measured over other steps than {usual[0] + 1} to {usual[1]}: {spans}.")
    return remarks


def _windows(judged: Mapping[str, Sequence[Judged]]) -> list[tuple[int, int]]:
    return [
        (int(rank.first), int(rank.last))
        for repeats in judged.values()
        for one in repeats
        for rank in list(one.ranks.values())[:1]
        if rank.steps
    ]


def _started(logs: Sequence[Digest]) -> str:
    """When the first log was finished, by its own word where its lines have dates: a folder has no beginning."""
    finished = [rank.finished for one in logs for rank in one.ranks.values() if rank.finished is not None]
    first = min(finished or [one.modified for one in logs])
    return datetime.fromtimestamp(first, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _name(words: Iterable[str | None]) -> str:
    """Of a folder. What cannot stand in such a name would make two alike, so that a digest tells them apart."""
    text = "-".join(word for word in words if word)
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", text.replace("/", "+")).strip(".-")[:_LONGEST_NAME]
    if plain == text.replace("/", "+") and "+" not in text:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
