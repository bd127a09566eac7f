"""The tree of results that FlagPerf's users have scripts for, of a run of its own program.

    flagperf/<case>/round<k>/<host>_noderank<i>/rank<R>.out.log       the log of a rank: the same file as ours
                                                cpu_monitor.log       from our telemetry, in the form of its monitors
                                                mem_monitor.log
                                                pwr_monitor.log
                                                <vendor>_monitor.log

Stamps are in UTC. What was not measured has no line, and where nothing was there is no file.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..flagperf.checkout import BASES
from ..flagperf.driven import CASE, VENDOR
from ..run.manifest import Manifest, PlannedCase
from ..telemetry.sampler_file import Device, NodeTelemetry, read_telemetry

FOLDER = "flagperf"
_OF_NODES = {"flagscale": "rank0.out.log"}  # what FlagPerf calls the log of a process that is one for a node
_OF_OTHER_NODES = "rank0.log.txt"
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_CASE = re.compile(r"[\w.+-]+:[\w.+-]+:[\w.+-]+", re.ASCII)
_SILENT = "N/A N/A N/A N/A N/A"
_LATEST = 1e11  # seconds, which are a year of four digits


class Tree(NamedTuple):
    """By path in the folder of the run: what files hold, and of which file a path is another name."""

    files: Mapping[str, bytes]
    links: Mapping[str, Path]


def flagperf_tree(run_dir: Path, manifest: Manifest) -> Tree:
    """Empty for a run of any other program. Names in its records may be anything that the benchmark user has written
    there, and lead nowhere else."""
    files: dict[str, bytes] = {}
    links: dict[str, Path] = {}
    name, vendor = str(manifest.settings.get(CASE)), str(manifest.settings.get(VENDOR))
    if not _CASE.fullmatch(name) or not _NAME.fullmatch(vendor) or manifest.framework not in BASES:
        return Tree(files, links)
    for case in manifest.cases:
        text = f"{name}:{case.nodes}:{case.devices_per_node}:{case.repeats}"
        for repeat in range(1, case.repeats + 1):
            source = run_dir / "cases" / case.case / f"r{repeat}"
            for number, host in enumerate(_hosts(source)):
                folder = f"{FOLDER}/{text}/round{repeat}/{host}_noderank{number}"
                links.update((f"{folder}/{log}", path) for log, path in _logs(source, manifest, case, number))
                monitors = _monitors(source / f"telemetry-{host}.jsonl", host, vendor)
                files.update((f"{folder}/{file}", text.encode()) for file, text in monitors.items() if text)
    return Tree(files, links)


def keep_links(run_dir: Path, links: Mapping[str, Path]) -> None:
    """Hard links, as programs that search trees pass over symbolic ones; a copy where a file system has none."""
    for name, source in links.items():
        path = run_dir / name
        if path.is_file() and path.samefile(source):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            os.link(source, path)
        except OSError:
            shutil.copyfile(source, path)


def _hosts(repeat: Path) -> Sequence[str]:
    """The nodes of the job in their order, as its end says; none where it never began."""
    for name in ("end.json", "preflight.json"):
        try:
            nodes = [str(node) for node in json.loads((repeat / name).read_text())["nodes"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if nodes and all(map(_NAME.fullmatch, nodes)):
            return nodes
    return []


def _logs(repeat: Path, manifest: Manifest, case: PlannedCase, node: int) -> Iterator[tuple[str, Path]]:
    if BASES[manifest.framework].ranks == "node":
        ranks = {node: _OF_NODES.get(manifest.framework, _OF_OTHER_NODES)}
    else:
        first = node * case.devices_per_node
        ranks = {rank: f"rank{rank}.out.log" for rank in range(first, first + case.devices_per_node)}
    for rank, name in ranks.items():
        path = repeat / f"rank-{rank}.log"
        if path.is_file():
            yield name, path


def _monitors(path: Path, host: str, vendor: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    seen = read_telemetry(path, host, None)
    busy = ((stamp, f"{share / 100:.4g}") for stamp, share in _readings(seen, "cpu"))
    memory = seen.memory_mb
    used = ((stamp, f"{mb / memory:.6g}") for stamp, mb in _readings(seen, "memory_mb")) if memory else ()
    power = ((stamp, f"{watts:.0f}") for stamp, watts in _readings(seen, "host_w"))
    return {
        "cpu_monitor.log": _lines(busy),
        "mem_monitor.log": _lines(used),
        "pwr_monitor.log": _lines(power),
        f"{vendor}_monitor.log": _cards(seen),
    }


def _readings(seen: NodeTelemetry, name: str) -> Iterator[tuple[str, float]]:
    return ((_stamp(time), value) for time, value in seen.series.readings(name) if 0 <= time < _LATEST)


def _lines(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{stamp}\t{value}\n" for stamp, value in rows)


def _cards(seen: NodeTelemetry) -> str:
    """A stamp and a line for each device, and an empty one, for every sample in which a device told anything."""
    rows = []
    for row, time in enumerate(seen.series.times):
        cards = [_card(seen, device, row) for device in seen.devices]
        if 0 <= time < _LATEST and any(card != _SILENT for card in cards):
            rows.append("\n".join([_stamp(time), *cards, "\n"]))
    return "".join(rows)


def _card(seen: NodeTelemetry, device: Device, row: int) -> str:
    """As in `34C 61W 1024MiB 40536MiB 97%`."""

    def told(name: str, unit: str) -> str:
        column = seen.series.columns.get(device.columns.get(name, ""))
        return "N/A" if column is None or math.isnan(column[row]) else f"{column[row]:.0f}{unit}"

    shown = [told("temperature", "C"), told("power", "W"), told("memory_mb", "MiB"), told("utilisation", "%")]
    if set(shown) == {"N/A"}:
        return _SILENT
    total = "N/A" if device.memory_mb is None else f"{device.memory_mb:.0f}MiB"
    return " ".join([*shown[:3], total, shown[3]])


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d-%H:%M:%S")
