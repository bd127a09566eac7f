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
import os
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..flagperf.checkout import BASES
from ..flagperf.driven import CASE, VENDOR
from ..run.manifest import Manifest, PlannedCase

FOLDER = "flagperf"
_OF_NODES = {"flagscale": "rank0.out.log"}  # what FlagPerf calls the log of a process that is one for a node
_OF_OTHER_NODES = "rank0.log.txt"


class Tree(NamedTuple):
    """By path in the folder of the run: what files hold, and of which file a path is another name."""

    files: Mapping[str, bytes]
    links: Mapping[str, Path]


def flagperf_tree(run_dir: Path, manifest: Manifest) -> Tree:
    """Empty for a run of any other program."""
    files: dict[str, bytes] = {}
    links: dict[str, Path] = {}
    name = manifest.settings.get(CASE)
    if not isinstance(name, str):
        return Tree(files, links)
    for case in manifest.cases:
        text = f"{name}:{case.nodes}:{case.devices_per_node}:{case.repeats}"
        for repeat in range(1, case.repeats + 1):
            source = run_dir / "cases" / case.case / f"r{repeat}"
            for number, host in enumerate(_hosts(source)):
                folder = f"{FOLDER}/{text}/round{repeat}/{host}_noderank{number}"
                links.update((f"{folder}/{log}", path) for log, path in _logs(source, manifest, case, number))
                monitors = _monitors(source / f"telemetry-{host}.jsonl", str(manifest.settings.get(VENDOR)))
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
            nodes = json.loads((repeat / name).read_text())["nodes"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if nodes:
            return [str(node).replace("/", "_") for node in nodes]
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


def _monitors(telemetry: Path, vendor: str) -> dict[str, str]:
    entries = list(_entries(telemetry))
    head = entries[0] if entries else {}
    samples = [(_stamp(entry["ms"]), entry) for entry in entries if "cpu" in entry and _is_number(entry.get("ms"))]
    memory, columns = head.get("memory_mb"), head.get("device_columns") or []
    busy = ((stamp, one["cpu"] / 100) for stamp, one in samples if _is_number(one["cpu"]))
    used = ((stamp, one["memory_mb"] / memory) for stamp, one in samples if memory and _is_number(one.get("memory_mb")))
    power = ((stamp, one["host_w"]) for stamp, one in samples if _is_number(one.get("host_w")))
    sizes = [device.get("memory_mb") for device in head.get("devices") or []]
    cards = (
        "\n".join(
            [stamp, *(_device(dict(zip(columns, row or ())), size) for row, size in zip(one["devices"], sizes)), "\n"]
        )
        for stamp, one in samples
        if one.get("devices")
    )
    return {
        "cpu_monitor.log": "".join(f"{stamp}\t{share:.4g}\n" for stamp, share in busy),
        "mem_monitor.log": "".join(f"{stamp}\t{share:.6g}\n" for stamp, share in used),
        "pwr_monitor.log": "".join(f"{stamp}\t{watts:.0f}\n" for stamp, watts in power),
        f"{vendor}_monitor.log": "".join(cards),
    }


def _entries(telemetry: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with telemetry.open(errors="replace") as file:
            yield from _objects(file)
    except OSError:
        return


def _objects(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The last line of a sampler that was killed may be torn."""
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _device(row: Mapping[str, object], size: object) -> str:
    """As in `34C 61W 1024MiB 40536MiB 97%`."""
    shown = (
        (row.get("temperature"), "C"),
        (row.get("power"), "W"),
        (row.get("memory_mb"), "MiB"),
        (size, "MiB"),
        (row.get("utilisation"), "%"),
    )
    return " ".join(f"{value:.0f}{unit}" if _is_number(value) else "N/A" for value, unit in shown)


def _stamp(milliseconds: float) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).strftime("%Y-%m-%d-%H:%M:%S")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
