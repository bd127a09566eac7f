from __future__ import annotations

import json

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.judging.rates import Logged, last_loss
from rackmark.judging.repeat import read_rank_log
from rackmark.logs.series import Window
from unit.run_fixture import break_repeat, read_run, write_run

RACKMARK = dialect_named("rackmark")


def log(folder, *lines, number=0, warmup=0):
    """Of lines (step, samples, seconds, loss, steps), as digested."""
    names = ("step", "samples", "seconds", "loss", "steps")
    path = folder / f"rank-{number}.log"
    records = [{"event": "step", "time": 1e9, **dict(zip(names, line))} for line in lines]
    path.write_text("".join(f"RACKMARK {json.dumps(record)}\n" for record in records))
    return read_rank_log(path, number, RACKMARK, Window(warmup, None), 1)


def step_seconds(digest):
    return list(digest.ranks[None].step_seconds)


def test_a_step_in_a_block_took_the_mean_of_the_block_and_warm_up_is_left_out(tmp_path):
    blocks = [(10, 80, 9.0, 7.0, 10), (20, 80, 5.0, 6.0, 10), (22, 16, 2.0, 5.0, 2)]
    assert step_seconds(log(tmp_path, *blocks, warmup=10)) == [0.5] * 10 + [1.0] * 2


def test_a_block_that_began_in_the_warm_up_is_no_measured_one(tmp_path):
    assert step_seconds(log(tmp_path, (10, 80, 9.0, 7.0, 10), (20, 80, 5.0, 6.0, 10), warmup=15)) == []


def test_the_last_loss_is_the_mean_over_the_ranks_that_log_one(tmp_path):
    with_loss = log(tmp_path, (1, 8, 0.5, 3.0), (2, 8, 0.5, 2.0))
    other = log(tmp_path, (1, 8, 0.5, 5.0), (2, 8, 0.5, None), number=1)
    silent = log(tmp_path, (1, 8, 0.5, None), number=2)

    def loss_of(*logs):
        return last_loss(Logged(3, RACKMARK, 8, logs, {place: one.ranks[None] for place, one in enumerate(logs)}))

    assert loss_of(with_loss, other, silent) == 3.5
    assert loss_of(silent) is None


def test_ranks_are_in_the_order_of_their_numbers_and_failed_repeats_left_out(tmp_path):
    """Rank r takes 1 + r/100 times as long; there are twelve, so that rank 10 would come before rank 2 as text."""
    write_run(tmp_path, {"2n6g": [0.5, 0.4, 9.0, 0.6]})
    break_repeat(tmp_path, "2n6g", 3)
    case = read_run(tmp_path).measured["2n6g"]
    assert case.ranks == pytest.approx([0.5 * (1 + number / 100) for number in range(12)])
    assert case.spread == pytest.approx(1.11)
    assert max(case.steps) == pytest.approx(0.6 * 1.11)
    assert case.losses == [(step, pytest.approx(7 / step)) for step in range(1, 7)]
