"""Rackmark's own lines, in logs that are analyzed without the run they are from."""

from __future__ import annotations

import json

import numpy as np
import pytest
from rackmark.dialects import rackmark
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from unit.dialect_fixture import measured, read, steps_per_second

(RACKMARK,) = rackmark.DIALECTS


def line(event: str = "step", **facts: object) -> str:
    return f"RACKMARK {json.dumps({'event': event, **facts})}\n"


def step(number: int, seconds: float = 0.25, **more: object) -> str:
    said = {"time": 1e9 + number, "step": number, "samples": 32, "seconds": seconds, "loss": 7 / number}
    return line(**{**said, **more})


def steps(first: int, last: int, seconds: float = 0.25) -> str:
    return "".join(step(number, seconds) for number in range(first, last + 1))


def states(reading) -> list[str]:
    return [fault.state for fault in reading.faults]


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_loss_that_is_null_with_its_name_beside_it_is_no_number(tmp_path, text):
    reading = read(tmp_path, steps(1, 4) + step(5, loss=None, loss_text=text), RACKMARK)
    assert reading.series[None].broken_loss == (5, np.inf)
    assert measured(reading).steps.sum() == 5


def test_a_loss_that_is_no_number_is_seen_on_a_line_without_duration(tmp_path):
    reading = read(tmp_path, steps(1, 4) + step(5, seconds=0, loss=None, loss_text="nan"), RACKMARK)
    assert reading.series[None].broken_loss == (5, np.inf)


def test_a_loss_that_was_not_logged_is_none(tmp_path):
    reading = read(tmp_path, step(1) + step(2, loss=None) + step(3), RACKMARK)
    assert reading.series[None].broken_loss is None
    assert measured(reading).steps.sum() == 3
    np.testing.assert_array_equal(measured(reading).loss, [7, np.nan, 7 / 3])


ORDERS = {
    "docs": lambda number: line(time=1e9, step=number, samples=32, seconds=0.25, loss=None),
    "without time": lambda number: line(step=number, samples=32, seconds=0.25),
    "sorted": lambda number: line(loss=1.5, samples=32, seconds=0.25, step=number, time=1e9),
    "event last": lambda number: (
        f'RACKMARK {{"step": {number}, "samples": 32, "seconds": 0.25, "loss": 2, "event": "step"}}\n'
    ),
    "compact": lambda number: f'RACKMARK {{"event":"step","step":{number},"samples":32,"seconds":0.25,"loss":2}}\n',
}


@pytest.mark.parametrize("order", ORDERS)
def test_keys_may_stand_in_any_order(tmp_path, order):
    text = line("start", batch=32, world_size=1) + "".join(map(ORDERS[order], range(1, 31)))
    (tmp_path / "b.log").write_text(text)
    recognised = recognise(LogFile(tmp_path / "b.log"), CATALOG)
    assert recognised is not None and recognised.dialect.name == "rackmark"
    reading = read(tmp_path, text, RACKMARK, 20)
    assert measured(reading).step.tolist() == list(range(21, 31))
    assert measured(reading).samples.sum() == 320 and steps_per_second(reading) == 4
    assert not reading.faults and not reading.remarks


def test_lines_of_both_ways_of_reading_stay_in_order(tmp_path):
    text = step(1) + step(2, loss=None) + step(3) + step(4, loss=None) + step(5)
    reading = read(tmp_path, text + text.splitlines()[-1][:60], RACKMARK)
    assert measured(reading).step.tolist() == [1, 2, 3, 4, 5] and not reading.faults


@pytest.mark.parametrize(
    "odd", [{"seconds": 0}, {"seconds": -0.25}, {"samples": 0}, {"samples": "x"}, {"seconds": None}]
)
def test_a_step_without_duration_or_samples_is_left_out_and_named(tmp_path, odd):
    reading = read(tmp_path, steps(1, 10) + step(11, **odd) + steps(12, 20), RACKMARK)
    assert measured(reading).steps.sum() == 19 and steps_per_second(reading) == 4
    assert any("1 of 20 lines are left out" in remark for remark in reading.remarks)


def test_a_restart_is_seen_where_the_steps_go_back(tmp_path):
    for again in (steps(31, 90, 0.5), steps(1, 30, -1)):
        reading = read(tmp_path, steps(1, 60) + again, RACKMARK)
        assert states(reading) == ["incomplete"] and "After step 60 comes step" in reading.faults[0].reason
    assert not read(tmp_path, steps(1, 60) + steps(61, 90, 0.5), RACKMARK).faults


def test_the_start_of_another_training_is_seen_though_its_steps_go_on(tmp_path):
    start = line("start", time=1.0, batch=32, world_size=1, rank=0)
    resumed = line("start", time=2.0, batch=32, world_size=1, rank=0, resumed_from=60)
    other = resumed.replace('"batch": 32', '"batch": 64')
    assert not read(tmp_path, start + steps(1, 60) + resumed + steps(61, 90), RACKMARK).faults
    assert states(read(tmp_path, start + steps(1, 60) + other + steps(61, 90), RACKMARK)) == ["incomplete"]


@pytest.mark.parametrize("odd", ["8", True, -1, 0, 10**14, 2.5, [8]])
@pytest.mark.parametrize("name", ["world_size", "batch"])
def test_facts_that_cannot_be_are_left_out_and_named(tmp_path, name, odd):
    start = line("start", **{"world_size": 4, "batch": 32, "model": "resnet50", "rank": 0, name: odd})
    reading = read(tmp_path, start + steps(1, 5), RACKMARK)
    left = {"world_size": 4, "batch": 32, "model": "resnet50", "rank": 0}
    del left[name]
    assert reading.facts == left
    assert any(f"{name} {json.dumps(odd)}" in remark for remark in reading.remarks)


def test_a_log_of_our_own_says_what_came_out(tmp_path):
    text = (
        line("start", time=1.0, batch=32, world_size=1, precision="fp32", host="c1", rank=0)
        + steps(1, 30)
        + line("eval", step=30, seconds=5.0, images=50, accuracy=1, loss=5.5)
        + line("end", steps=30)
    )
    reading = read(tmp_path, text, RACKMARK)
    assert reading.stated == {"accuracy": 1.0} and not reading.remarks
    assert reading.facts == {"batch": 32, "world_size": 1, "precision": "fp32", "host": "c1", "rank": 0}
    hopeless = "RACKMARK [1]\nRACKMARK {\nRACKMARK {}\n" + line("eval", accuracy=7) + line("step", step="x", seconds=1)
    assert read(tmp_path, text + hopeless, RACKMARK).stated == {"accuracy": 1.0}


def test_a_word_that_is_no_text_can_still_be_written(tmp_path):
    reading = read(tmp_path, 'RACKMARK {"event": "start", "model": "a\\ud800' + "b" * 500 + '"}\n', RACKMARK)
    assert reading.facts["model"].encode().startswith(b"a?b") and len(reading.facts["model"]) == 64
