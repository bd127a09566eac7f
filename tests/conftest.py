"""Which tests run side by side.

Those of the unit tier do as they please. The others are stories, each told in the order of its files. Two of them are
told at a time, each with a virtual cluster of its own; a test that is marked `alone` has the machine to itself.
"""

from __future__ import annotations

import fcntl
import re
from pathlib import Path

import pytest

_STORIES = {
    r"lab/test_0_": "without a cluster",
    r"lab/test_[1-5]_": "the tier's cluster",
    r"lab/test_[6-9]_": "other clusters",
    r"vm/test_": "machines with kernels",
}
_LOCK = Path("/run/rackmark-tests.lock")


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures, or changes the machine for all that run on it")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items):
    for item in items:
        for path, story in _STORIES.items():
            if re.search(f"tests/{path}", str(item.path)):
                item.add_marker(pytest.mark.xdist_group(story))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """With the fixtures that a test is the first or the last to use."""
    if not item.get_closest_marker("xdist_group"):
        return (yield)
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        return (yield)
