"""What comes out of an analysis of hostile logs, and a limit to what would never end."""

from __future__ import annotations

import signal

import pytest


class HangsError(BaseException):
    """Nothing catches it."""


@pytest.fixture(autouse=True)
def nothing_hangs():
    """Waiting for a pipe would never end."""

    def stop(*_: object) -> None:
        raise HangsError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def throughputs(found) -> list[float | None]:
    return [run["throughput"] for case in found.summary["cases"] for run in case["runs"]]


def states(found) -> list[tuple[str, str | None]]:
    return [(run["state"], run["reason"]) for case in found.summary["cases"] for run in case["runs"]]
