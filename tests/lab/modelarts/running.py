"""The stand-ins while a test uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rackmark.modelarts.credentials import Credentials
from rackmark.modelarts.store import Store
from rackmark.node.processes import die_with_parent

TESTS = Path(__file__).parents[2]
SECONDS_TO_START = 120  # with the packages of the store, which are installed once


@dataclass(frozen=True)
class StandIn:
    folder: Path
    obs_endpoint: str
    modelarts_endpoint: str
    project_id: str
    bucket: str
    region: str
    access_key: str
    secret_key: str
    ca_file: str

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.access_key, self.secret_key)

    def store(self, **given: str) -> Store:
        return Store(self.obs_endpoint, self.credentials, **{"ca_file": self.ca_file, **given})

    def order(self, **orders: object) -> None:
        """What they do wrong from now on; nothing for nothing."""
        part = self.folder / "orders.part"
        part.write_text(json.dumps(orders))
        part.replace(self.folder / "orders.json")

    def store_requests(self) -> list[str]:
        """Method, path and status of each."""
        return (self.folder / "swift/requests.log").read_text().splitlines()

    def requests(self) -> list[str]:
        """Those to ModelArts."""
        path = self.folder / "modelarts-requests.log"
        return path.read_text().splitlines() if path.exists() else []


@contextmanager
def stand_in(folder: Path, *options: str):
    said = folder.with_suffix(".log")
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.modelarts.stand_in", "--folder", folder, *options],
            cwd=TESTS,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent(),
        )
    try:
        yield _known(folder, process, said)
    finally:
        process.terminate()
        process.wait(30)


def _known(folder: Path, process: subprocess.Popen, said: Path) -> StandIn:
    path, deadline = folder / "stand_in.json", time.monotonic() + SECONDS_TO_START
    while not path.exists():
        assert process.poll() is None, said.read_text()
        assert time.monotonic() < deadline, f"no stand-in after {SECONDS_TO_START} s: {said.read_text()}"
        time.sleep(0.05)
    known = json.loads(path.read_text())
    secret = Path(known.pop("secret_key_file")).read_text()
    known.pop("pid")
    return StandIn(folder, secret_key=secret, **known)
