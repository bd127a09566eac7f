"""Samples one node for as long as a job is there: its processors, memory, network, disks, devices and power.

    sampler.py --seconds S --node NAME --accelerator nvidia|ascend|none --ranks G

Writes telemetry-NAME.jsonl in the folder it is started in: a line on what is sampled and what is missing, with the
reason; a line per sample; a `note` when what is missing changes; an `end` with the reason if there is one. What cannot
be read is null. Ends when its standard input closes, on SIGTERM and with its parent.
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

from ascend_readings import AscendReadings
from devices import FILE_PREFIX, job_devices
from host_power import HostPower, ProcessorEnergy
from host_readings import HostReadings
from processes import Events
from sampling import telemetry_file
from telemetry_writer import DiskFullError, TelemetryWriter

SCHEMA = "rackmark.telemetry/1"


class Source(Protocol):
    missing: dict[str, str]

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
    def __init__(self, options: argparse.Namespace, writer: TelemetryWriter) -> None:
        self._options, self._writer = options, writer
        host = HostReadings(options.root)
        self._sources: Sequence[Source] = (
            host,
            ProcessorEnergy(options.root),
            HostPower(options.root),
            devices_of(options),
        )
        self._missing = self._all_missing()

    def run(self, events: Events) -> None:
        """Samples at fixed times; one that is late leaves out those it has missed. The last one is taken at the end."""
        head = {"schema": SCHEMA, "node": self._options.node, "seconds": self._options.seconds, **_now()}
        for source in self._sources:
            head.update(source.head())
        self._writer.write({**head, "missing": self._missing})
        begin, taken = time.monotonic(), 0
        while True:
            self._sample()
            taken = max(taken + 1, int((time.monotonic() - begin) / self._options.seconds) + 1)
            if told_to_end(events, begin + taken * self._options.seconds):
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


def devices_of(options: argparse.Namespace) -> Source:
    if options.accelerator == "none":
        return NoDevices()
    prefix = len(FILE_PREFIX[options.accelerator])
    files = job_devices(options.accelerator, options.root / "dev")[: options.ranks]
    numbers = [int(path.name[prefix:]) for path in files]
    if options.accelerator == "ascend":
        return AscendReadings(numbers, options.seconds)
    from nvidia_readings import NvidiaReadings  # the binding is large, and not on every run's storage

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
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--accelerator", choices=["nvidia", "ascend", "none"], required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--root", type=Path, default=Path("/"), help="where proc, sys and dev are")
    options = parser.parse_args()
    events = Events()
    with suppress(OSError):  # a rank may be bound to processors that this program should not take from it
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with suppress(DiskFullError):
        writer = TelemetryWriter(telemetry_file(options.node))
        sampler = Sampler(options, writer)
        try:
            sampler.run(events)
        finally:
            sampler.close()


if __name__ == "__main__":
    main()
