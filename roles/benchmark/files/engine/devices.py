"""The accelerators of this node that a job may use, and who else uses them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

FILE_PREFIX = {"nvidia": "nvidia", "ascend": "davinci"}

_SLURM = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
_NAMING_FILES = {"nvidia": _SLURM, "ascend": (*_SLURM, "ASCEND_RT_VISIBLE_DEVICES")}
_SECONDS_FOR_A_TOOL = 20
# Programs that keep devices open to watch them or to draw a screen.
_NOT_WORK = {"nvidia-smi", "nvidia-persiste", "nv-hostengine", "dcgm-exporter", "npu-exporter", "npu-smi", "Xorg"}


def device_files(vendor: str, folder: Path) -> list[Path]:
    name = re.compile(FILE_PREFIX[vendor] + r"(\d+)")
    numbered = [
        (int(match.group(1)), path) for path in folder.iterdir() for match in [name.fullmatch(path.name)] if match
    ]
    return [path for _, path in sorted(numbered)]


def job_devices(vendor: str, folder: Path) -> list[Path]:
    """Those the job was given: by Slurm's word, else by the vendor's variable, else all that may be opened.

    NVIDIA's variable counts from the first device that the job may open, the others name the device files.
    """
    there = device_files(vendor, folder)
    # Asking whether it may be opened respects the job's cgroup, and does not wake the device as opening it would.
    allowed = [path for path in there if os.access(path, os.R_OK | os.W_OK)]
    for variable in _NAMING_FILES[vendor]:
        if os.environ.get(variable):
            chosen = {f"{FILE_PREFIX[vendor]}{number}" for number in _numbers(os.environ[variable])}
            return [path for path in allowed if path.name in chosen]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") if vendor == "nvidia" else None
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


def count_by_driver(vendor: str) -> int | None:
    """Devices that NVIDIA's tool lists for this job, None where there is no such tool."""
    said = _ask("nvidia-smi", "-L") if vendor == "nvidia" else None
    return None if said is None else len(re.findall(r"^GPU \d+:", said, re.MULTILINE))


def driver_version(vendor: str) -> str | None:
    if vendor == "nvidia":
        said = _ask("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") or ""
        return said.strip().splitlines()[0] if said.strip() else None
    try:
        facts = Path("/usr/local/Ascend/driver/version.info").read_text()
    except OSError:
        return None
    match = re.search(r"^Version=(\S+)", facts, re.MULTILINE)
    return match.group(1) if match else None


def users(vendor: str, devices: list[Path]) -> list[str]:
    """Processes that work on the devices, as far as this user is allowed to see."""
    if vendor == "nvidia":
        said = _ask("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")
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
