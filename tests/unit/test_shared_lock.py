"""The lock that two runs have in common, on storage that their machines share."""

from __future__ import annotations

import json
import os
import platform
import threading
import time

import pytest
from rackmark import shared_lock

DEAD = json.dumps({"host": platform.node(), "pid": 2**22 + 1, "id": "0"})


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "lock"


def test_a_lock_is_held_by_one_and_gone_afterwards(lock):
    inside, most = [], []

    def work():
        with shared_lock.hold(lock, patience=30):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 3
    assert not lock.exists()


def test_a_lock_of_a_living_process_is_waited_for_and_its_holder_named(lock):
    holder = f"Process {os.getpid()} on {platform.node()} has held"
    with shared_lock.hold(lock, patience=1), pytest.raises(shared_lock.BusyError, match=holder):
        shared_lock.hold(lock, patience=0.3).__enter__()
    assert not lock.exists()


@pytest.mark.parametrize("content", [DEAD, json.dumps({"host": "elsewhere", "pid": 1, "id": "1"}), ""])
def test_a_lock_that_nobody_touches_any_more_is_taken_over(lock, content):
    lock.write_text(content)
    with shared_lock.hold(lock, patience=10, abandoned_after=0.3):
        assert json.loads(lock.read_text())["pid"] == os.getpid()
    assert list(lock.parent.iterdir()) == []


def test_a_lock_elsewhere_that_is_touched_is_left_alone(lock, monkeypatch):
    monkeypatch.setattr(shared_lock, "TOUCHED_EVERY", 0.05)
    lock.write_text(json.dumps({"host": "elsewhere", "pid": 1, "id": "1"}))
    ended = threading.Event()
    heart = threading.Thread(target=shared_lock._beat, args=(lock, ended))
    heart.start()
    with pytest.raises(shared_lock.BusyError, match="Process 1 on elsewhere"):
        shared_lock.hold(lock, patience=1.0, abandoned_after=0.4).__enter__()
    ended.set()
    heart.join()
    assert "elsewhere" in lock.read_text()
