"""What all machines of the tier are copied from."""

from __future__ import annotations

import os
from pathlib import Path

import host_packages
import pytest
from vm.machine import SUITE, Machine

STATE_DIR = Path(os.environ.get("RACKMARK_STATE_DIR") or "/var/lib/rackmark")


@pytest.fixture(scope="session")
def suite():
    return SUITE


@pytest.fixture(scope="session")
def base_image(suite):
    return STATE_DIR / "images" / suite


@pytest.fixture(scope="session")
def bare(tmp_path_factory, base_image, suite):
    """A machine with a kernel and what every other one needs, which is never booted itself."""
    host_packages.install("debootstrap", "systemd-container", "qemu-system-x86", "e2fsprogs", "iproute2")
    machine = Machine(tmp_path_factory.mktemp("bare"), suite=suite)
    machine.build(base_image, ["python3-venv", "openssh-client"])
    return machine
