"""Programs in place of Slurm's that answer, hang, fail or talk nonsense."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(Path(__file__).parents[2] / "roles/slurm_exporter/files"))
sys.path.insert(0, str(Path(__file__).parents[2] / "roles/monitoring_access/files"))

from slurm_exporter import jobs
from slurm_exporter.__main__ import cache_of_slurm
from slurm_exporter.metrics import Scrape

FOLDERS = sys.path[:2]
ALL = ("nodes", "jobs", "searches", "controllers", "database")
NODES = r"""NodeName=n1 CPUAlloc=1 CPUTot=4 Gres=gpu:8 State=MIXED Partitions=compute
NodeName=n2 CPUAlloc=0 CPUTot=4 Gres=gpu:8 State=DOWN+NOT_RESPONDING Partitions=compute Reason=no "fan" \ é [root@1]
NodeName=n3 CPUAlloc=0 CPUTot=0 State=IDLE+POWERED_DOWN Partitions=cloud
"""
UP = "Slurmctld(primary) at head is UP"
NO_ACCOUNTING = "echo 'You are not running a supported accounting_storage plugin' >&2; exit 1"
PATIENCE = 0.1
HANGS = "sleep 60 & sleep 60"  # a child of its own holds its pipe


def job_line(*cells):
    return "".join(cell.ljust(width) for cell, width in zip(cells, jobs._COLUMNS.values()))


class Waits(threading.Condition):
    """Notes how long each wait may take: None is that of a query until it is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        return super().wait(timeout)


class Slurm:
    """Programs named as Slurm's own, each of which notes its start."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        self.interval = 0.0
        self.limit = 4.0
        self._cache = None
        self._waits = Waits()
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        self.prints("nodes", NODES)
        self.prints("jobs", job_line("compute", "RUNNING", "ann", "None", "100", "100", "130", "cpu=1,gres/gpu=2"))
        self.prints("ping", UP)
        self.does("config", "echo 'PrivateData = none'")
        self.does("sacctmgr", "echo rackmark")
        self.does("sdiag", "echo 'Jobs running: 1'; echo 'DBD Agent queue size: 3'")
        self._program("scontrol", 'case "$*" in *nodes) run nodes;; ping) run ping;; *) run config;; esac')
        self.prints("searches", "7|rackmark:run:2n1g:1|rackmark trials=3 best=0.5")
        self._program("squeue", 'case "$*" in *RUNNING*) run searches;; *) run jobs;; esac')
        for name in ("sacctmgr", "sdiag"):
            self._program(name, f"run {name}")

    def _program(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\nrun() {{ echo $$ >> {self.folder}/$1.pids; . {self.folder}/$1.sh; }}\n{script}\n")
        path.chmod(0o755)

    def does(self, what: str, script: str) -> None:
        new = self.folder / f"{what}.new"
        new.write_text(script + "\n")
        new.rename(self.folder / f"{what}.sh")

    def prints(self, what: str, text: str) -> None:
        (self.folder / f"{what}.txt").write_text(text)
        self.does(what, f"cat {self.folder}/{what}.txt")

    def started(self, what: str) -> list[int]:
        path = self.folder / f"{what}.pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def scrape(self) -> dict[tuple[str, ...], float]:
        if self._cache is None:
            self._cache = cache_of_slurm(self.interval, self.limit, patience=PATIENCE)
            self._cache._condition = self._waits
            self._cache.start()
        text = Scrape(self._cache.views()).text().decode()
        assert all(seconds is None or seconds <= PATIENCE for seconds in self._waits.seconds)
        return {
            (
                sample.name.replace("rackmark_slurm_", ""),
                *(text for _, text in sorted(sample.labels.items())),
            ): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def scrape_until(self, holds):
        deadline = time.monotonic() + 60
        while not holds(metrics := self.scrape()):
            assert time.monotonic() < deadline, metrics
            time.sleep(0.02)
        return metrics
