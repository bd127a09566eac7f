from __future__ import annotations

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
