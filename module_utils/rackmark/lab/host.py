"""The machine that carries a virtual cluster: what it must offer, and its settings changed and put back."""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import platform
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from .accelerators import PCI_DEVICES
from .spec import LabError, LabSpec

FREE_MB_PER_NEW_NODE = 300
HOST_SYSCTLS = {
    "net.ipv4.ip_forward": 1,
    # Each systemd takes several inotify instances; the usual 128 are used up by about 24 nodes.
    "fs.inotify.max_user_instances": 8192,
    "fs.inotify.max_user_watches": 1048576,
}


def run(*command: str, stdin: str | None = None) -> str:
    """Output of a command; a failure becomes a sentence with the command's own words."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LabError(f"The command {command[0]} is missing on this machine: install it and run again.") from error
    if done.returncode != 0:
        raise LabError(
            f"'{' '.join(command)}' failed: {(done.stderr or done.stdout).strip() or f'exit {done.returncode}'}"
        )
    return done.stdout


def remove_if_empty(*directories: Path) -> None:
    for directory in directories:
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()


def check_can_carry_a_lab() -> None:
    if platform.system() != "Linux":
        raise LabError(
            f"The virtual cluster needs Linux, this machine runs {platform.system()}: use a Linux machine or VM."
        )
    if os.geteuid() != 0:
        raise LabError("The virtual cluster needs root (mounts, network, cgroups): run as root or as a user with sudo.")
    if "overlay" not in Path("/proc/filesystems").read_text():
        subprocess.run(["modprobe", "overlay"], capture_output=True, check=False)
        if "overlay" not in Path("/proc/filesystems").read_text():
            raise LabError(
                "This kernel has no overlayfs, which gives every node its own disk: load or enable 'overlay'."
            )


def check_pci_bus() -> None:
    if not PCI_DEVICES.is_dir():
        raise LabError(
            f"lab_accelerators shows PCI devices in {PCI_DEVICES}, which this machine's kernel does not have:"
            " leave lab_accelerators out, or use a machine with a PCI bus."
        )


def check_disk(directory: Path, needed_mb: int) -> None:
    existing = directory
    while not existing.exists():
        existing = existing.parent
    free_mb = shutil.disk_usage(existing).free // 2**20
    if free_mb < needed_mb:
        raise LabError(
            f"{directory} has {free_mb} MB free and {needed_mb} MB are needed:"
            " free some space, or name another place with RACKMARK_STATE_DIR=DIR in the environment."
        )


def check_subnet_is_free(spec: LabSpec) -> None:
    for route in json.loads(run("ip", "-j", "-4", "route")):
        if route["dst"] == "default" or route.get("dev") == spec.bridge:
            continue
        if ipaddress.IPv4Network(route["dst"]).overlaps(spec.network):
            raise LabError(
                f"lab_subnet={spec.subnet} is taken: this machine routes {route['dst']} to {route.get('dev', '?')}."
                " Choose another with -e lab_subnet=10.99.0.0/24."
            )


class SharedSettings:
    """Kernel settings that labs need, raised by the first lab and put back by the last one to go."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "host.json"

    def claim(self, lab: str, apply: bool) -> bool:
        """Raise what is too low; true when something was (or would be) changed."""
        low = {key: value for key, value in HOST_SYSCTLS.items() if _read_sysctl(key) < value}
        known = self.path.exists() and lab in json.loads(self.path.read_text())["labs"]
        if known and not low:
            return False
        if apply:
            with self._record() as record:
                record["labs"] = sorted({*record["labs"], lab})
                for key, value in low.items():
                    record["before"].setdefault(key, _read_sysctl(key))
                    _write_sysctl(key, value)
        return True

    def release(self, lab: str) -> None:
        if not self.path.exists():
            return
        with self._record() as record:
            record["labs"] = [name for name in record["labs"] if name != lab]
            if not record["labs"]:
                for key, value in record["before"].items():
                    _write_sysctl(key, value)

    @contextmanager
    def _record(self) -> Iterator[dict[str, Any]]:
        """host.json under a lock from reading to writing (two labs may start at once); gone when no lab is left."""
        with self.path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            record: dict[str, Any] = json.loads(file.read() or '{"labs": [], "before": {}}')
            yield record
            file.seek(0)
            file.truncate()
            json.dump(record, file)
            if not record["labs"]:
                self.path.unlink()


def _sysctl_path(key: str) -> Path:
    return Path("/proc/sys") / key.replace(".", "/")


def _read_sysctl(key: str) -> int:
    return int(_sysctl_path(key).read_text())


def _write_sysctl(key: str, value: int) -> None:
    _sysctl_path(key).write_text(str(value))
