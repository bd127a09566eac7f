"""Ranks have to work at the same time, by clocks that may have been set."""

from __future__ import annotations

import json

import pytest
from unit.agreement_fixture import SECONDS, STEPS, TRUTH, assert_breaks_the_rules, result_of, write
from unit.run_fixture import WARMUP


@pytest.fixture(params=[False, True], ids=["by wall time", "by monotonic time"])
def monotonic(request):
    return request.param


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "r1").mkdir()
    return tmp_path / "r1"


def test_ranks_one_after_the_other(folder, monotonic):
    write(folder, monotonic, begin=(0, 5.2, 0, 0))
    assert_breaks_the_rules(folder, "in which rank 1 was measured, only 0 s are among", "at the same time")


def test_ranks_that_work_together_for_half_of_the_time(folder, monotonic):
    write(folder, monotonic, begin=(0, 0, 0, 2.5))
    assert_breaks_the_rules(folder, "rank 3", "2.5 s", "The clocks of node1 and node2 have to agree, too.")


def test_a_rank_that_waits_between_warm_up_and_measurement_for_the_others_to_end(folder, monotonic):
    def wait(clock, rank, step):
        clock.passed += 6 if rank == 1 and step == WARMUP else 0

    write(folder, monotonic, between=wait)
    assert_breaks_the_rules(folder, "rank 1", "at the same time")


def test_a_rank_that_waits_within_its_warm_up(folder, monotonic):
    def lie(rank, step, facts):
        return {**facts, "seconds": 6 + SECONDS} if rank == 1 and step == WARMUP else facts

    def wait(clock, rank, step):
        clock.passed += 6 if rank == 1 and step == WARMUP - 1 else 0

    write(folder, monotonic, lie=lie, between=wait)
    assert_breaks_the_rules(folder, "rank 1")


def test_processes_that_start_one_by_one(folder, monotonic):
    write(folder, monotonic, begin=(0, 0.1, 0.2, 0.4))
    assert result_of(folder).state == "ok"


def test_clocks_of_nodes_that_are_known_to_differ_are_set_right(folder, monotonic):
    write(folder, monotonic, begin=(0, 0, 0.9, 0.9))
    assert result_of(folder).state == "rule_failed"
    nodes = {"node1": {"clock_offset_s": 0.0}, "node2": {"clock_offset_s": 0.9}}
    (folder / "preflight.json").write_text(json.dumps({"nodes": nodes}))
    result = result_of(folder)
    assert (result.state, result.whole) == ("ok", pytest.approx(TRUTH))


@pytest.mark.parametrize("slow", [1.1, 4])
def test_a_slow_rank_works_at_the_same_time_as_the_others(folder, monotonic, slow):
    write(folder, monotonic, speed=(1, 1, slow, 1))
    result = result_of(folder)
    assert (result.state, result.throughput) == ("ok", pytest.approx(TRUTH / slow))


def test_the_whole_is_that_of_all_ranks_together(folder, monotonic):
    write(folder, monotonic, begin=(0, 0, 0, 0.4))
    assert result_of(folder).whole == pytest.approx(TRUTH * 5.1 / 5.5)


@pytest.mark.parametrize("at", [1, WARMUP, 50, WARMUP + STEPS])
@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_clock_that_is_set_changes_no_throughput_and_makes_no_wrong_number(folder, monotonic, seconds, at):
    def set_clock(clock, _rank, step):
        clock.set_by = seconds if step >= at else 0

    write(folder, monotonic, between=set_clock)
    result = result_of(folder)
    assert (result.state, result.throughput) == ("ok", pytest.approx(TRUTH))
    if monotonic or (seconds < 0 and at == WARMUP + STEPS):  # nothing is after it
        assert result.whole == result.no_eval == pytest.approx(TRUTH)
        assert result.missing == {}
    else:
        assert (result.whole, result.no_eval) == (None, None)
        assert "log `monotonic` beside `time`" in result.missing["whole"]
        assert ("back by 3600 s" if seconds < 0 else "3600 s" if at < 102 else "3605 s") in result.missing["whole"]


def test_lines_that_tell_both_times_are_read_all_at_once_and_one_by_one_alike(folder):
    write(folder, True)
    fast = result_of(folder)
    for rank in range(4):
        path = folder / f"rank-{rank}.log"
        path.write_text(path.read_text().replace('"loss": 1.0', '"loss": 1.0, "note": ""'))
    assert result_of(folder) == fast


def ends_with(*weights):
    return [{"weights": weight} for weight in weights]


def test_ranks_that_trained_the_same_weights(folder, monotonic):
    write(folder, monotonic, ends=ends_with(-12.5, -12.5, -12.5 * (1 + 1e-9), -12.5))
    assert result_of(folder).state == "ok"


def test_ranks_that_trained_each_its_own_weights(folder, monotonic):
    write(folder, monotonic, ends=ends_with(-12.5, -12.5, -12.5, -12.4))
    assert_breaks_the_rules(folder, "weights of rank 3 add up to -12.4, those of rank 0 to -12.5", "all-reduce")


def test_weights_that_are_no_number_on_one_rank(folder, monotonic):
    write(folder, monotonic, ends=ends_with(-12.5, None, -12.5, -12.5))
    assert_breaks_the_rules(folder, "Rank 1 does not say what its weights add up to")


def test_weights_that_no_rank_speaks_of(folder, monotonic):
    write(folder, monotonic)
    assert result_of(folder).state == "ok"
