"""Driving runs in a ModelArts that stands in on loopback."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from lab.local_runs import ROOT, Runs, wait_for

PATIENCE = 200  # seconds that a playbook may take on a busy machine
TOLD = ROOT / "tests/workloads/told"


class CloudRuns(Runs):
    """`told` says what the training does in each case."""

    playbook, seconds_to_run = "run_modelarts.yml", PATIENCE

    def __init__(self, folder, servers, told=None, **variables):
        super().__init__(folder)
        self.servers, self.variables = servers, variables
        self.keys = {"HUAWEICLOUD_SDK_AK": servers.access_key, "HUAWEICLOUD_SDK_SK": servers.secret_key}
        if told is not None:
            self.code = folder / "code"
            shutil.copytree(TOLD, self.code, dirs_exist_ok=True)
            (self.code / "told.json").write_text(json.dumps(told))
            self.variables = {"modelarts_code": str(self.code), "modelarts_boot": "train.py", **variables}

    def command(self, playbook, **variables):
        """A run that was begun is named alone: what it was told is in its record."""
        given = {"benchmark_dir": str(self.folder / "shared"), "benchmark_runs_dir": str(self.results)}
        if "run_id" not in variables:
            servers = self.servers
            given |= {
                "modelarts_region": servers.region,
                "modelarts_project_id": servers.project_id,
                "modelarts_endpoint": servers.modelarts_endpoint,
                "modelarts_obs_endpoint": servers.obs_endpoint,
                "modelarts_ca_file": servers.ca_file,
                "modelarts_bucket": servers.bucket,
                "modelarts_engine": "Ascend-Powered-Engine",
                "modelarts_engine_version": "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64",
                **self.variables,
            }
        return ["ansible-playbook", playbook, "-i", "/dev/null", "-e", json.dumps({**given, **variables})]

    def environment(self):
        return {**super().environment(), **self.keys}

    def start(self, **variables):
        """In the background; its output is in a file."""
        with (self.folder / "output.log").open("wb") as log:
            return subprocess.Popen(
                self.command(self.playbook, **variables),
                cwd=ROOT,
                env=self.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def begin(self, **variables):
        """Comes back when all its jobs run."""
        playbook = self.start(**variables)
        wait_for(lambda: re.search(r" (at work|says:)", self.said()) or playbook.poll() is not None, seconds=PATIENCE)
        assert playbook.poll() is None, self.said()
        return playbook

    def said(self):
        return (self.folder / "output.log").read_text()

    def jobs(self):
        """What ModelArts calls the jobs of the run here, by the folder of the repeat."""
        paths = sorted(self.shared().glob("cases/*/r*/modelarts.json"))
        return {str(path.parent.relative_to(self.shared() / "cases")): json.loads(path.read_text()) for path in paths}

    def states(self):
        return {(case["case"], run["repeat"]): run["state"] for case in self.summary()["cases"] for run in case["runs"]}

    def reasons(self):
        return {case["case"]: run["reason"] for case in self.summary()["cases"] for run in case["runs"]}

    def uploaded(self, since=0):
        """Files of code that the store has taken."""
        lines = self.servers.store_requests()[since:]
        return [line for line in lines if line.startswith("PUT ") and "/code/" in line and line.endswith(" 200")]


def submitted(servers):
    return sum(line.startswith("POST ") and line.endswith("training-jobs 201") for line in servers.requests())


def writing(requests):
    """Requests that change something; a search is a POST, and changes nothing."""
    return [line for line in requests if not line.startswith(("GET ", "HEAD ")) and "training-job-searches" not in line]


def command_lines(until, found):
    """Those of all processes while something goes on."""
    while until.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                found.add(path.read_bytes())
        time.sleep(0.02)
