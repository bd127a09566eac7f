"""Which tests run side by side.

Those of the unit tier do as they please. The others are stories, each told in the order of its files. Two of them are
told at a time, each with a virtual cluster of its own; a test that is marked `alone` has the machine to itself.
"""

from __future__ import annotations

import fcntl
import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

_STORIES = {
    "without a cluster": r"tests/lab/test_0_",
    "the tier's cluster": r"tests/lab/test_[1-5]_",
    "other clusters": r"tests/lab/test_[6-9]_",
    "machines with kernels": r"tests/vm/",
}
_LOCK = Path("/run/rackmark-tests.lock")


def _story_of(nodeid):
    return next((story for story, path in _STORIES.items() if re.match(path, nodeid)), None)


class _Stories(LoadScopeScheduling):
    """The longest first; tests of the unit tier fill the gaps."""

    def _split_scope(self, nodeid):
        return _story_of(nodeid) or nodeid


def pytest_xdist_make_scheduler(config, log):
    return _Stories(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures, or changes the machine for all that run on it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """With the fixtures that a test is the first or the last to use."""
    if _story_of(item.nodeid) is None:
        return (yield)
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        return (yield)
