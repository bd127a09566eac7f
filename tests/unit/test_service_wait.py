"""Waiting for a service as long as it may still come up."""

from __future__ import annotations

import os
import socket
import time

import pytest
from rackmark import service_wait
from rackmark.service_wait import Service, parse


class Systemd:
    """What systemctl and journalctl print of one service, look after look."""

    def __init__(self, *looks: tuple[str, str, int]) -> None:
        self.looks = list(looks)

    def __call__(self, command: list[str]) -> tuple[int, str, str]:
        if command[0] == "journalctl":
            return 0, "", ""
        state, sub_state, restarts = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return 0, f"ActiveState={state}\nSubState={sub_state}\nNRestarts={restarts}\nMainPID={os.getpid()}\n", ""


RUNS = ("active", "running", 0)
STARTS = ("activating", "start", 0)
DIED_ONCE = ("activating", "auto-restart", 0)
RUNS_AGAIN = ("active", "running", 1)
DIED_TWICE = ("activating", "auto-restart", 2)
FAILED = ("failed", "failed", 0)


def waited(*looks, faults=("no answer",) * 1000, seconds=5.0, second_chance=True):
    answers = iter(faults)
    service = Service("x", Systemd(*looks))
    return service_wait.wait(service, lambda: next(answers), seconds, second_chance)


@pytest.mark.parametrize("end", [FAILED, ("inactive", "dead", 0), DIED_TWICE])
def test_one_that_has_ended_is_not_waited_for(end):
    began = time.monotonic()
    assert waited(end, seconds=60).startswith("does not stay up.")
    assert time.monotonic() - began < 5


def test_one_that_is_still_starting_is_waited_for():
    assert waited(STARTS, STARTS, RUNS, faults=("refused", "refused", None)) is None


def test_one_that_systemd_starts_again_gets_one_more_chance_where_there_is_time():
    assert waited(DIED_ONCE, RUNS_AGAIN, faults=("refused", "refused", None)) is None
    assert waited(DIED_ONCE, RUNS_AGAIN, second_chance=False).startswith("does not stay up.")


def test_one_that_lives_and_says_nothing_is_waited_for_up_to_the_limit():
    assert waited(RUNS, seconds=0.3).startswith("runs, but has not answered for 0 s (no answer).")


def test_systemds_times_become_moments():
    life = parse("ActiveState=failed\nExecMainStartTimestampMonotonic=400000000\n", 10_000.0, 500.0)
    assert (life.started, life.has_died) == (9900.0, True)
    assert parse("", 10_000.0, 500.0).started == 0.0


def test_a_port_that_this_process_listens_on_is_seen_and_no_other():
    service = Service("x", Systemd(RUNS))
    before = service.listens()
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert service.listens()
        port = server.getsockname()[1]
        assert service_wait.answers_at(f"127.0.0.1:{port}") is None
    assert service.listens() is before
    assert "refused" in service_wait.answers_at(f"127.0.0.1:{port}")
