"""Writes telemetry as the sampler leaves it, from functions of time for what it would have read."""

from __future__ import annotations

import json
import math
from typing import Any

from unit.run_fixture import STARTED, write_run

SECONDS = 40.0  # a step's; the steps of the fixture: two of three times that, then four measured ones
BEGIN = STARTED + 2 * 3 * SECONDS
END = BEGIN + 4 * SECONDS
COLUMNS = ("utilisation", "memory", "memory_mb", "temperature", "power", "energy", "clock", "memory_clock", "errors")


def steady(_seconds: float) -> float:
    return 300.0


def wave(seconds: float) -> float:
    return 300 + 100 * math.sin(seconds / 7)


def wave_joules(begin: float, end: float) -> float:
    """The integral of `wave`."""
    return 300 * (end - begin) - 700 * (math.cos(end / 7) - math.cos(begin / 7))


def device(watts=steady, counter=False, utilisation=97.0, temperature=60.0, clock=1755.0):
    """A row of a device at so many seconds after the start of the run."""

    def row(seconds):
        joules = wave_joules(0, seconds) + 1e6 if counter else None
        return [utilisation, 25.0, 20480, temperature, watts(seconds), joules, clock, 2619, 0]

    return row


def head(node="node1", devices=0, **more: Any):
    return {
        "schema": "rackmark.telemetry/1",
        "node": node,
        "seconds": 1.0,
        "ms": STARTED * 1000,
        "mono": 500.0,
        "cpus": 2,
        "memory_mb": 24000,
        "devices": [
            {"number": number, "vendor": "nvidia", "name": "H100", "uuid": None, "memory_mb": 81920}
            for number in range(devices)
        ],
        "device_columns": COLUMNS,
        "missing": {"host_w": "The node has no IPMI device."},
        **more,
    }


def sample(seconds, devices=(), ahead=0.0, **more: Any):
    return {
        "ms": round((STARTED + seconds + ahead) * 1000),
        "mono": 500 + seconds,
        "cpu": 50.0,
        "cores": [50.0, 50.0],
        "memory_mb": 2048,
        "net": [int(seconds * 2**20), int(seconds * 2**21)],
        "rdma": None,
        "disk": [0, 0],
        "processors_j": None,
        "host_w": None,
        "devices": [row(seconds) for row in devices],
        **more,
    }


def lines(node="node1", devices=(), until=END - STARTED + 5, step=1.0, without=(), ahead=0.0, end=None, read=None):
    """`without` is a span of seconds in which nothing is sampled; `read` makes more fields from the time."""
    times = [step * number for number in range(int(until / step) + 1)]
    samples = [
        sample(time, devices, ahead, **(read(time) if read else {}))
        for time in times
        if not (without and without[0] < time < without[1])
    ]
    last = {"ms": samples[-1]["ms"] if samples else 0, "end": end}
    return [head(node, len(devices), seconds=step), *samples, last]


def write_lines(folder, node, entries):
    text = "".join(json.dumps(entry) + "\n" for entry in entries)
    (folder / f"telemetry-{node}.jsonl").write_text(text)


def write_preflight(folder, **offsets):
    nodes = {node: {"clock_offset_s": offset} for node, offset in offsets.items()}
    (folder / "preflight.json").write_text(json.dumps({"ok": True, "nodes": nodes}))


def run_with(folder, case="1n1g", **nodes):
    """A run of one repeat, all nodes of which have left these lines."""
    run_dir = write_run(folder, {case: [SECONDS]}, simulated=[])
    repeat = run_dir / "cases" / case / "r1"
    write_preflight(repeat, **dict.fromkeys(nodes, 0.0))
    for node, entries in nodes.items():
        if entries is not None:
            write_lines(repeat, node, entries)
    return run_dir
