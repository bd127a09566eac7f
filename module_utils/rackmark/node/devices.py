"""The accelerators of this node that a job may use, and who else uses them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Sequence

from .vendors import GRES_VARIABLES, VENDORS

_SECONDS_FOR_A_TOOL = 20.0
# Programs that keep devices open to watch them or to draw a screen.
_NOT_WORK = {"nvidia-smi", "nvidia-persiste", "nv-hostengine", "dcgm-exporter", "npu-exporter", "npu-smi", "Xorg"}


def device_files(vendor: str, folder: Path) -> list[Path]:
    """Files of the devices that a driver has brought up, in the order of their numbers."""
    name = VENDORS[vendor].device_name
    numbered = [
        (int(match.group(1)), path) for path in folder.iterdir() for match in [name.fullmatch(path.name)] if match
    ]
    return [path for _, path in sorted(numbered)]


def device_file(vendor: str, number: int, folder: Path) -> Path:
    return folder / f"{VENDORS[vendor].device_prefix}{number}"


def number_of(vendor: str, file: Path) -> int:
    return int(file.name[len(VENDORS[vendor].device_prefix) :])


def job_devices(vendor: str, folder: Path) -> list[Path]:
    """Those the job was given: by Slurm's word, else by the vendor's variable, else all that may be opened."""
    there = device_files(vendor, folder)
    # Asking whether it may be opened respects the job's cgroup, and does not wake the device as opening it would.
    allowed = [path for path in there if os.access(path, os.R_OK | os.W_OK)]
    known = VENDORS[vendor]
    for variable in (*GRES_VARIABLES, *(() if known.visible_counts else (known.visible_variable,))):
        if os.environ.get(variable):
            chosen = set(_numbers(os.environ[variable]))
            return [path for path in allowed if number_of(vendor, path) in chosen]
    visible = os.environ.get(known.visible_variable) if known.visible_counts else None
    if visible is not None and re.fullmatch(r"[\d,-]*", visible):  # a UUID does not tell its file
        return [allowed[number] for number in _numbers(visible) if number < len(allowed)]
    return allowed


def _numbers(text: str) -> list[int]:
    """As in 0,1 or 0-3,5; what is not a number, such as the -1 that hides all devices, is none."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match:
            first, last = int(match.group(1)), int(match.group(2) or match.group(1))
            numbers.extend(range(first, last + 1))
    return numbers


def count_by_driver(vendor: str, seconds: float) -> int | None:
    """Devices that the driver's tool lists, None where there is no such tool. Raises subprocess.TimeoutExpired."""
    command = VENDORS[vendor].list_command
    if shutil.which(command[0]) is None:
        return None
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds).stdout
    return VENDORS[vendor].listed(said)


def count_for_job(vendor: str) -> int | None:
    """Devices that the driver lists for this job, None where it does not tell everybody."""
    said = _ask(*VENDORS[vendor].list_command) if VENDORS[vendor].answers_users else None
    return None if said is None else VENDORS[vendor].listed(said)


def driver_version(vendor: str) -> str | None:
    known = VENDORS[vendor]
    if known.version_command:
        said = _ask(*known.version_command) or ""
        return said.strip().splitlines()[0] if said.strip() else None
    try:
        facts = Path(known.version_file).read_text()
    except OSError:
        return None
    match = re.search(r"^Version=(\S+)", facts, re.MULTILINE)
    return match.group(1) if match else None


def users(vendor: str, devices: Sequence[Path]) -> list[str]:
    """Processes that work on the devices, as far as this user is allowed to see."""
    command = VENDORS[vendor].users_command
    said = _ask(*command) if command else None
    if said is not None:
        rows = [line.partition(",") for line in said.splitlines()]
        return [f"process {pid.strip()} ({name.strip()})" for pid, _, name in rows if pid.strip().isdecimal()]
    return _holders({str(path) for path in devices})


def _holders(names: set[str]) -> list[str]:
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            held = {os.readlink(entry) for entry in (process / "fd").iterdir()}  # Path.readlink came with 3.9
            program = (process / "comm").read_text().strip()
        except OSError:  # another user's, or it has ended
            continue
        if held & names and program not in _NOT_WORK:
            found.append(f"process {process.name} ({program})")
    return found


def _ask(*command: str) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_FOR_A_TOOL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
