"""Packages that tests need on the machine that they run on. Two stories are told at a time: one waits for the other."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

_LOCK = Path("/run/rackmark-tests-apt.lock")


def apt_get(*words: str, folder: Path | None = None) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", "--option=DPkg::Lock::Timeout=600", *words]
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def install(*packages: str) -> None:
    apt_get("update")
    apt_get("install", "--yes", "--no-install-recommends", *packages)
