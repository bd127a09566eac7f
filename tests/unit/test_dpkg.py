from __future__ import annotations

import os
import subprocess
import sys

import pytest
from rackmark import dpkg

STATUS = """\
Package: munge
Status: install ok installed
Priority: optional
Description: authentication
 Version: this is text, not a field
Version: 0.5.15-2

Package: mawk
Status: install ok installed
Provides: awk, posix-awk (= 1)
Version: 1.3.4

Package: slurmd
Status: install ok half-configured
Version: 22.05

Package: nano
Status: deinstall ok config-files
Version: 7.2
"""


def test_versions_of_what_is_installed_and_nothing_else():
    installed = dpkg.installed_versions(STATUS)
    assert installed == {"munge": "0.5.15-2", "mawk": "1.3.4", "awk": "", "posix-awk": ""}


def test_what_an_interrupted_dpkg_left_is_found():
    assert dpkg.half_done(STATUS) == ["slurmd"]


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (["munge", "awk"], []),
        (["munge=0.5.15-2"], []),
        (["munge=0.6"], ["munge=0.6"]),
        (["slurmd", "nano", "absent"], ["slurmd", "nano", "absent"]),
        ([], []),
    ],
)
def test_missing_packages(wanted, missing):
    assert dpkg.missing(wanted, dpkg.installed_versions(STATUS)) == missing


def test_who_is_at_work_is_known_by_number_and_name(tmp_path):
    free, held = tmp_path / "free", tmp_path / "held"
    free.touch()
    hold = (
        f"import fcntl; file = open({str(held)!r}, 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); input()"
    )
    assert dpkg.holder([free, held]) is None
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert dpkg.holder([free, held]) == f"process {process.pid} ({os.path.basename(sys.executable)[:15]})"  # noqa: PTH119
        process.communicate(b"\n")
    assert dpkg.holder([free, held]) is None


@pytest.mark.parametrize(
    ("errors", "who"),
    [
        ("dpkg: error: dpkg frontend lock was locked by another process with pid 512\n", "another process"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 512 (apt)\n", "another process"),
        ("E: Unable to lock directory /var/lib/apt/lists/\n", "another process"),
        ("E: Unable to locate package nosuch\n", None),
        ("", None),
    ],
)
def test_a_lock_that_was_free_again_when_we_looked_is_known_by_what_was_said(errors, who, monkeypatch):
    monkeypatch.setattr(dpkg, "holder", lambda: None)
    assert dpkg.at_work(errors) == who
