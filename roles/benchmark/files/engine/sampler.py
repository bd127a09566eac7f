"""Samples one node for as long as a job is there: its processors, memory, network, disks, devices and power.

    sampler.py [--node NAME]

Runs in the folder of the repeat, by the record there, and writes telemetry-NAME.jsonl in it: a line on what is sampled
and what is missing, with the reason; a line per sample; a `note` when what is missing changes; an `end` with the reason
if there is one. What cannot be read is null. Ends when its standard input closes, on SIGTERM and with its parent.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Sequence

from rackmark.node.ascend_readings import AscendReadings
from rackmark.node.devices import job_devices, number_of
from rackmark.node.host_power import HostPower, ProcessorEnergy
from rackmark.node.host_readings import HostReadings
from rackmark.node.job_record import JobRecord, read_record
from rackmark.node.processes import Events
from rackmark.node.vendors import VENDORS
from sampling import telemetry_file
from telemetry_writer import DiskFullError, TelemetryWriter

SCHEMA = "rackmark.telemetry/1"


class Source(Protocol):
    @property
    def missing(self) -> dict[str, str]: ...

    def head(self) -> dict[str, Any]: ...

    def read(self, now: float) -> dict[str, Any]: ...

    def close(self) -> None: ...


class NoDevices:
    def __init__(self) -> None:
        self.missing = {"devices": "The job uses no accelerators."}

    def head(self) -> dict[str, Any]:
        return {"devices": [], "device_columns": [], "driver": None}

    def read(self, _now: float) -> dict[str, Any]:
        return {"devices": None}

    def close(self) -> None:
        """There is nothing to close."""


class Sampler:
    def __init__(self, record: JobRecord, node: str, writer: TelemetryWriter, root: Path) -> None:
        self._node, self._seconds, self._writer = node, record.telemetry, writer
        self._sources: Sequence[Source] = (
            HostReadings(root),
            ProcessorEnergy(root),
            HostPower(root),
            devices_of(record, root),
        )
        self._missing = self._all_missing()

    def run(self, events: Events) -> None:
        """Samples at fixed times; one that is late leaves out those it has missed. The last one is taken at the end."""
        head = {"schema": SCHEMA, "node": self._node, "seconds": self._seconds, **_now()}
        for source in self._sources:
            head.update(source.head())
        self._writer.write({**head, "missing": self._missing})
        begin, taken = time.monotonic(), 0
        while True:
            self._sample()
            taken = max(taken + 1, int((time.monotonic() - begin) / self._seconds) + 1)
            if told_to_end(events, begin + taken * self._seconds):
                break
        self._sample()
        self._writer.write({"ms": _now()["ms"], "end": None, **own_cost()})

    def close(self) -> None:
        for source in self._sources:
            source.close()

    def _sample(self) -> None:
        now = _now()
        sample: dict[str, Any] = dict(now)
        for source in self._sources:
            sample.update(source.read(now["mono"]))
        missing = self._all_missing()
        if missing != self._missing:
            changed = {
                name: missing.get(name)
                for name in {**self._missing, **missing}
                if missing.get(name) != self._missing.get(name)
            }
            self._writer.write({"ms": now["ms"], "note": changed})
            self._missing = missing
        self._writer.write(sample)

    def _all_missing(self) -> dict[str, str]:
        return {name: reason for source in self._sources for name, reason in source.missing.items()}


def devices_of(record: JobRecord, root: Path) -> Source:
    vendor = record.accelerator
    if vendor not in VENDORS:
        return NoDevices()
    files = job_devices(vendor, root / "dev")[: record.devices_per_node]
    numbers = [number_of(vendor, path) for path in files]
    if vendor == "ascend":
        return AscendReadings(numbers, record.telemetry)
    from rackmark.node.nvidia_readings import NvidiaReadings  # the binding is large, and not on every run's storage

    return NvidiaReadings(numbers)


def told_to_end(events: Events, until: float) -> bool:
    stdin = sys.stdin.fileno()
    while events.stop is None:
        left = until - time.monotonic()
        if left <= 0:
            return False
        if events.wait(left, [stdin]) and not os.read(stdin, 4096):
            return True
    return True


def _now() -> dict[str, Any]:
    return {"ms": round(time.time() * 1000), "mono": round(time.monotonic(), 4)}


def own_cost() -> dict[str, float]:
    """Processor time and the most memory of this program; of tools it has started only the kernel knows."""
    spent = os.times()
    return {
        "cpu_s": round(spent.user + spent.system, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="sampler.py")
    parser.add_argument("--node", default=os.environ.get("SLURMD_NODENAME"))
    parser.add_argument("--root", type=Path, default=Path("/"), help="where proc, sys and dev are")
    options, record = parser.parse_args(), read_record(Path.cwd())
    events = Events()
    with suppress(OSError):  # a rank may be bound to processors that this program should not take from it
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with suppress(DiskFullError):
        writer = TelemetryWriter(telemetry_file(options.node))
        sampler = Sampler(record, options.node, writer, options.root)
        try:
            sampler.run(events)
        finally:
            sampler.close()


if __name__ == "__main__":
    main()
