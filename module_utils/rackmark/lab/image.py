"""The base image: one Debian tree that every node lays its own overlay on."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from .host import run
from .spec import LabError

NEEDED_MB = 1500
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "openssh-server",
    "python3",
    "python3-apt",
    "iproute2",
    "iputils-ping",
    "sudo",
    "ca-certificates",
)
# Work that a node for a few hours does not want done behind its back while it is being measured.
MASKED_UNITS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "console-getty.service",
    "systemd-networkd-wait-online.service",
)


def build(image: Path, suite: str, mirror: str | None) -> None:
    """debootstrap into a side folder, so that what carries the image's name is always complete.

    One at a time: two labs may start at once. Who had to wait finds the image there.
    """
    image.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(image.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not image.exists():
            _debootstrap(image, suite, mirror)
    finally:
        os.close(folder)


def _debootstrap(image: Path, suite: str, mirror: str | None) -> None:
    partial = image.with_name(image.name + ".partial")
    if partial.exists():
        shutil.rmtree(partial)
    try:
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, str(partial)]
        done = subprocess.run(command + ([mirror] if mirror else []), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            log = partial / "debootstrap" / "debootstrap.log"
            last = log.read_text().splitlines()[-5:] if log.exists() else []
            said = " / ".join([*done.stdout.splitlines()[-2:], *done.stderr.splitlines()[-2:], *last])
            raise LabError(f"debootstrap could not build {suite} from {mirror or 'its default mirror'}: {said}")
        _make_generic(partial)
        partial.rename(image)
    finally:
        if partial.exists():
            shutil.rmtree(partial)


def _make_generic(root: Path) -> None:
    """Remove what must differ between nodes, and the work nobody asked for."""
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    (root / "etc/machine-id").write_text("")
    (root / "etc/hostname").unlink(missing_ok=True)
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    run("systemctl", f"--root={root}", "enable", "systemd-networkd.service", "ssh.service")
    run("systemctl", f"--root={root}", "mask", *MASKED_UNITS)
    for archive in (root / "var/cache/apt/archives").glob("*.deb"):
        archive.unlink()
