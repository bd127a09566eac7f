"""Stands in for the library of NVIDIA's driver, so that NVIDIA's own binding and all above it are the real thing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import host_packages

SOURCE = Path(__file__).with_name("stubs") / "libnvidia-ml.c"


def watts(number: int) -> float:
    """What device `number` draws all the time."""
    return 300.0 + 10 * number


def build_nvml(folder: Path) -> Path:
    """Its devices are the files nvidia<N> in $RACKMARK_SIMULATED_DEV, or in /dev."""
    if not shutil.which("gcc"):
        host_packages.install("gcc", "libc6-dev")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)], check=True)
    return library
