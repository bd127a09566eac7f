from __future__ import annotations

import pytest
from rackmark.dialects.sample import RankLog, Sample
from rackmark.judging.judge import last_loss
from rackmark.judging.repeat import Rank
from rackmark.report.measurements import step_seconds
from unit.run_fixture import break_repeat, read_run, write_run


def rank(*samples, number=0):
    log = RankLog(start=None, samples=[Sample(*sample) for sample in samples], evaluations=[], end=None)
    return Rank(number=number, text="", log=log, exit_status="0", ended=None)


def test_a_step_in_a_block_took_the_mean_of_the_block_and_warm_up_is_left_out():
    blocks = [(10, 80, 9.0, 7.0, 0.0, 10), (20, 80, 5.0, 6.0, 0.0, 10), (22, 16, 2.0, 5.0, 0.0, 2)]
    assert step_seconds(rank(*blocks), warmup=10) == [0.5] * 10 + [1.0] * 2


def test_a_block_that_began_in_the_warm_up_is_no_measured_one():
    assert step_seconds(rank((10, 80, 9.0, 7.0, 0.0, 10), (20, 80, 5.0, 6.0, 0.0, 10)), warmup=15) == []


def test_the_last_loss_is_the_mean_over_the_ranks_that_log_one():
    with_loss = rank((1, 8, 0.5, 3.0, 0.0), (2, 8, 0.5, 2.0, 0.0))
    other = rank((1, 8, 0.5, 5.0, 0.0), (2, 8, 0.5, None, 0.0), number=1)
    silent = rank((1, 8, 0.5, None, 0.0), number=2)
    assert last_loss([with_loss, other, silent]) == 3.5
    assert last_loss([silent]) is None


def test_ranks_are_in_the_order_of_their_numbers_and_failed_repeats_left_out(tmp_path):
    """Rank r takes 1 + r/100 times as long; there are twelve, so that rank 10 would come before rank 2 as text."""
    write_run(tmp_path, {"2n6g": [0.5, 0.4, 9.0, 0.6]})
    break_repeat(tmp_path, "2n6g", 3)
    case = read_run(tmp_path).measured["2n6g"]
    assert case.ranks == pytest.approx([0.5 * (1 + number / 100) for number in range(12)])
    assert case.spread == pytest.approx(1.11)
    assert max(case.steps) == pytest.approx(0.6 * 1.11)
    assert case.losses == [(step, pytest.approx(7 / step)) for step in range(1, 7)]
