"""The place of this node's Ascend devices in a super pod (A3), as npu-smi tells it."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Mapping, NamedTuple, Tuple

_SECONDS = 20.0
_ASCEND = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)(?:\s+(\d+))?\s+\S.*$", re.MULTILINE)
Chip = Tuple[str, str]  # number of the NPU, number of the chip on it


class SuperPod(NamedTuple):
    """`name` is "" where no device says in which pod it is; `devices` are the ids there by the devices' numbers."""

    name: str
    devices: Mapping[int, str]


def super_pod() -> SuperPod:
    name, devices = "", {}
    for number, (npu, chip) in chips(_said("info", "-m")).items():
        said = _said("info", "-t", "spod-info", "-i", npu, "-c", chip)
        own = _value("SDID", said)
        if own is not None:
            devices[number] = own
            name = name or _value("Super Pod ID", said) or ""
    return SuperPod(name, devices)


def chips(mapping: str) -> dict[int, Chip]:
    """By their physical number, where the tool tells that beside the logical one. Controllers (Mcu) have neither."""
    return {int(match[4] or match[3]): (match[1], match[2]) for match in _ASCEND.finditer(mapping)}


def _value(name: str, said: str) -> str | None:
    match = re.search(rf"^\s*{name}\s*:\s*(\d+)\s*$", said, re.MULTILINE)
    return match[1] if match else None


def _said(*arguments: str) -> str:
    if shutil.which("npu-smi") is None:
        return ""
    try:
        done = subprocess.run(["npu-smi", *arguments], capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""
