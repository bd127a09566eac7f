"""Training jobs of the stand-in: the boot file really runs, as a process for each card of each worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rackmark.node.processes import die_with_parent, end_groups

from .bucket import Bucket

DEVICES = {"modelarts.kat1.xlarge": 1, "modelarts.kat1.2xlarge": 2, "modelarts.kat1.4xlarge": 4}
DEVICES["modelarts.kat1.8xlarge"] = 8
DEVICES_OF_A_POOL = 8
ENDED = ("Completed", "Failed", "Terminated", "Abnormal")
SECONDS_TO_END = 10
# ModelArts gives what ma-pre-start.sh sets to the boot file.
START = 'cd code && if [ -f ma-pre-start.sh ]; then . ./ma-pre-start.sh; fi; cd .. && exec "$@"'


@dataclass
class World:
    """What all jobs share, and what a test may order: keys of orders.json, looked at whenever they matter."""

    folder: Path
    bucket: Bucket
    pace: float
    """Seconds of each phase before Running."""
    hour: float
    """Seconds of an hour of auto_stop."""

    def order(self, name: str) -> Any:
        try:
            return json.loads((self.folder / "orders.json").read_text()).get(name)
        except FileNotFoundError:
            return None


@dataclass
class Job:
    world: World
    body: dict[str, Any]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    phase: str = "Creating"
    created: float = field(default_factory=time.time)
    started: float | None = None
    ended: float | None = None
    statuses: list[dict[str, Any]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def folder(self) -> Path:
        return self.world.folder / "jobs" / self.id

    @property
    def workers(self) -> list[str]:
        return [f"worker-{number}" for number in range(self.body["spec"]["resource"].get("node_count", 1))]

    def log(self, worker: str) -> Path:
        return self.folder / "log" / f"modelarts-job-{self.id}-{worker}.log"

    def shown(self) -> dict[str, Any]:
        phase = (self.world.order("phase") or self.phase) if self.phase == "Running" else self.phase
        duration = (self.ended or time.time()) - self.started if self.started else 0
        return {
            "kind": "job",
            "metadata": {"id": self.id, "create_time": int(self.created * 1000), **self.body["metadata"]},
            "status": {
                "phase": phase,
                "secondary_phase": phase,
                "duration": int(duration * 1000),
                "start_time": int(self.started * 1000) if self.started else 0,
                "tasks": self.workers,
                "task_statuses": self.statuses,
            },
            "algorithm": self.body["algorithm"],
            "spec": self.body["spec"],
        }

    def run(self) -> None:
        try:
            phase = self._run()
        except Exception as problem:
            self._say(f"[ModelArts Service Log]{problem}")
            phase = "Failed"
        self.ended, self.phase = time.time(), phase

    def _run(self) -> str:
        for phase in ("Creating", "Pending"):
            self.phase = phase
            while not self.stop.wait(self.world.pace) and self.world.order("hold") == phase:
                pass
            if self.stop.is_set():
                return "Terminated"
        self._prepare()
        self.started, self.phase = time.time(), "Running"
        processes = [(worker, process) for number, worker in enumerate(self.workers) for process in self._start(number)]
        phase = self._wait(processes)
        end_groups([process for _, process in processes], SECONDS_TO_END)
        for worker in self.workers:
            codes = [process.returncode for name, process in processes if name == worker]
            worst = next((code for code in codes if code > 0), next((code for code in codes if code), 0))
            status = 128 - worst if worst < 0 else worst
            self.statuses.append({"task": worker, "exit_code": status, "message": "" if not status else "see its log"})
        self._upload()
        return phase

    def _prepare(self) -> None:
        algorithm = self.body["algorithm"]
        self.log("x").parent.mkdir(parents=True)
        for worker in self.workers:
            self.world.bucket.download(algorithm["code_dir"], self.folder / worker / "code")
            for each in algorithm.get("inputs", []):
                target = self.folder / worker / "inputs" / f"{each['name']}_0"
                target.mkdir(parents=True)
                self.world.bucket.download(each["remote"]["obs"]["obs_url"], target)
            for each in algorithm.get("outputs", []):
                (self.folder / worker / "outputs" / f"{each['name']}_0").mkdir(parents=True)
            (self.folder / worker / "rank_table.json").write_text(json.dumps(self._rank_table()))

    @property
    def _devices(self) -> int:
        return DEVICES.get(self.body["spec"]["resource"].get("flavor_id"), DEVICES_OF_A_POOL)

    def _rank_table(self) -> dict[str, Any]:
        servers = []
        for number, worker in enumerate(self.workers):
            devices = [
                {
                    "device_id": str(card),
                    "device_ip": f"29.{number}.0.{card + 1}",
                    "rank_id": str(number * self._devices + card),
                }
                for card in range(self._devices)
            ]
            servers.append(
                {"server_id": f"10.0.0.{number + 1}", "device": devices, "host_nic_ip": "reserve", "pod": worker}
            )
        return {"version": "1.0", "server_count": str(len(servers)), "server_list": servers, "status": "completed"}

    def _start(self, number: int) -> list[subprocess.Popen[bytes]]:
        worker, algorithm = self.workers[number], self.body["algorithm"]
        folder = self.folder / worker
        boot = algorithm["boot_file"].removeprefix(algorithm["code_dir"])
        words = [sys.executable, "-u", str(folder / "code" / boot)]
        words += [f"--{each['name']}={each['value']}" for each in algorithm.get("parameters", [])]
        words += [f"--{each['name']}={folder}/inputs/{each['name']}_0" for each in algorithm.get("inputs", [])]
        words += [f"--{each['name']}={folder}/outputs/{each['name']}_0" for each in algorithm.get("outputs", [])]
        known = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "MA_JOB_DIR": str(folder),
            "MA_NUM_HOSTS": str(len(self.workers)),
            "MA_NUM_GPUS": str(self._devices),
            "VC_TASK_INDEX": str(number),
            "VC_WORKER_NUM": str(len(self.workers)),
            "VC_WORKER_HOSTS": ",".join("127.0.0.1" for _ in self.workers),
            "RANK_TABLE_FILE": str(folder / "rank_table.json"),
            "RANK_SIZE": str(len(self.workers) * self._devices),
            **algorithm.get("environments", {}),
        }
        started = []
        with self.log(worker).open("ab") as log:
            for card in range(self._devices):
                own = {
                    "RANK_ID": str(number * self._devices + card),
                    "ASCEND_DEVICE_ID": str(card),
                    "DEVICE_ID": str(card),
                }
                started.append(
                    subprocess.Popen(
                        ["bash", "-c", START, "boot", *words],
                        cwd=folder,
                        env={**known, **own},
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                        preexec_fn=die_with_parent(),
                    )
                )
        return started

    def _wait(self, processes: list[tuple[str, subprocess.Popen[bytes]]]) -> str:
        """Until all have ended, or one has failed, or the job is ended by somebody."""
        limit = self.body["spec"].get("auto_stop") or {}
        seconds = (
            limit.get("duration", 0)
            * self.world.hour
            * {"HOURS": 1, "MINUTES": 1 / 60}[limit.get("time_unit", "HOURS")]
        )
        begun = time.monotonic()
        while not self.stop.wait(0.05):
            codes = [process.poll() for _, process in processes]
            if any(codes):
                return "Failed"
            if all(code == 0 for code in codes):
                return "Completed"
            if self.world.order("abnormal"):
                return "Abnormal"
            if (broken := self.world.order("break_worker")) is not None:
                for worker, process in processes:
                    if worker == f"worker-{broken}" and process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL)
            if limit and time.monotonic() - begun > seconds:
                break
        return "Terminated"

    def _upload(self) -> None:
        for worker in self.workers:
            for each in self.body["algorithm"].get("outputs", []):
                self.world.bucket.upload(
                    self.folder / worker / "outputs" / f"{each['name']}_0", each["remote"]["obs"]["obs_url"]
                )
        exported = self.body["spec"].get("log_export_path") or {}
        if exported.get("obs_url"):
            self.world.bucket.upload(self.log("x").parent, exported["obs_url"])

    def _say(self, line: str) -> None:
        self.log("x").parent.mkdir(parents=True, exist_ok=True)
        with self.log(self.workers[0]).open("a") as log:
            log.write(f"{line}\n")
