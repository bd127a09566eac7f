"""Clocks of a search's nodes that are wrong, or were set while it ran: its score cannot be relied upon."""

from __future__ import annotations

import json

import pytest
from rackmark.aiperf.result import read_result
from unit.automl_experiment import BEGAN, Search, write_json

HOUR = 3600


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "r1/experiment"


def two_workers(folder, duration=1000):
    search = Search(folder, workers=2, duration=duration)
    for worker in (0, 1):
        search.trial(worker, [0.3, 0.6, 0.71], epoch=100)
    return search


def problems(folder):
    found = read_result(folder)
    assert found.state == ("incomplete" if found.problems else "ok")
    return found.problems


def shift(folder, seq, seconds):
    """As if the clock had been set by so much before the last epoch of a trial."""
    path = folder / f"trials/{seq:05d}/trial.log"
    lines = path.read_text().splitlines(keepends=True)
    search = Search(folder.parent / "other", began=BEGAN + seconds)
    search.trial(0, [0.3, 0.6, 0.71], epoch=100)
    moved = (search.folder / "trials/00000/trial.log").read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-3], *moved[-3:]]))


def test_clocks_that_agree_are_not_spoken_of(folder):
    two_workers(folder)
    write_json(
        folder.parent / "preflight.json", {"nodes": {"n1": {"clock_offset_s": 0}, "n2": {"clock_offset_s": 0.4}}}
    )
    assert problems(folder) == []


@pytest.mark.parametrize(("offset", "duration", "is_wrong"), [(4, 300, False), (6, 300, True), (50, 9000, False)])
def test_a_search_of_minutes_bears_seconds_and_one_of_hours_a_minute(folder, offset, duration, is_wrong):
    search = Search(folder, workers=1, duration=duration)
    search.trial(0, [0.3, 0.71], epoch=duration / 2)
    nodes = {"n1": {"clock_offset_s": 0.0}, "n2": {"clock_offset_s": offset}, "n3": {"clock_offset_s": None}}
    write_json(folder.parent / "preflight.json", {"nodes": nodes})
    assert bool(problems(folder)) is is_wrong


def test_an_epoch_later_than_the_end_of_its_trial(folder):
    two_workers(folder)
    shift(folder, 1, HOUR)
    assert problems(folder) == [
        "An epoch of trial 00001 ended 60 min after the trial: the clock of its node was set.",
    ]


def test_an_epoch_before_the_begin_of_its_trial(folder):
    two_workers(folder)
    shift(folder, 1, -HOUR)
    assert "An epoch of trial 00001 ended 55 min before the trial began: the clock of its node was set." in problems(
        folder
    )


def test_records_that_go_back(folder):
    search = two_workers(folder)
    search.clock[1] -= 200
    search.trial(1, state="oom")
    assert problems(folder) == ["The clock of worker 1 was set back by 3 min while it searched."]


def test_a_worker_that_began_an_hour_before_the_first_or_after_it(folder):
    search = Search(folder, workers=3, duration=3 * HOUR, ahead=(0, -HOUR, HOUR))
    for worker in range(3):
        search.trial(worker, [0.3, 0.71], epoch=100)
    assert problems(folder) == [
        "Worker 1 began 60 min before the first one: its clock is behind, or was set.",
        "Worker 2 began 60 min after the first one: its clock is ahead, or its node was late.",
    ]


def test_a_worker_that_loads_its_data_before_the_first_trial_is_not_early(folder):
    two_workers(folder)
    attempt = folder / "attempts/1.json"
    write_json(attempt, {**json.loads(attempt.read_text()), "began": BEGAN})
    path = folder / "history/worker-1.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    early = json.dumps({**json.loads(first), "time": BEGAN - 600})
    path.write_text("".join([early + "\n", *others]))
    assert problems(folder) == []


def test_a_worker_that_went_on_after_the_end(folder):
    search = two_workers(folder)
    search.clock[0] = BEGAN + 1000 + HOUR
    search.trial(0, state="stopped")
    assert problems(folder) == ["Worker 0 went on for 60 min after the end of the search."]


def test_of_many_wrong_times_some_are_named(folder):
    search = Search(folder, workers=12, duration=3 * HOUR, ahead=[0] + [-HOUR] * 11)
    for worker in range(12):
        search.trial(worker, [0.71], epoch=100)
    found = problems(folder)
    assert (len(found), found[-1]) == (6, "6 more times of that kind are wrong.")
