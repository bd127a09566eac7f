"""A repeat is ok only if what its ranks log agrees with itself: its samples, its seconds and its clocks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.run.measures import default_measure
from unit.agreement_fixture import SECONDS, STEPS, TRUTH, Clock, _facts, assert_breaks_the_rules, result_of, write
from unit.judged import ASKED, judged
from unit.run_fixture import BATCH, WARMUP, write_job


@pytest.fixture(params=[False, True], ids=["by wall time", "by monotonic time"])
def monotonic(request):
    return request.param


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "r1").mkdir()
    return tmp_path / "r1"


def test_what_agrees_is_ok(folder, monotonic):
    write(folder, monotonic)
    result = result_of(folder)
    assert (result.state, result.throughput) == ("ok", pytest.approx(TRUTH))
    assert result.whole == result.no_eval == pytest.approx(TRUTH)


def test_ten_times_the_samples(folder, monotonic):
    write(folder, monotonic, lie=lambda rank, step, facts: {**facts, "samples": 10 * BATCH if rank == 2 else BATCH})
    assert_breaks_the_rules(
        folder, "Rank 2 logged 8000 samples in 100 measured steps, and with a batch of 8 these are 800"
    )


@pytest.mark.parametrize("odd", [1, 50])
def test_one_step_with_a_hundred_times_its_samples_wherever_it_is(folder, monotonic, odd):
    write(folder, monotonic, lie=lambda rank, step, facts: {**facts, "samples": 800 if (rank, step) == (1, odd) else 8})
    assert_breaks_the_rules(folder, "Rank 1 logged 1592 samples in" if odd > WARMUP else "1608 samples in 102 steps")


def test_half_batches_of_which_the_start_says_nothing(folder, monotonic):
    write(folder, monotonic, lie=lambda _rank, _step, facts: {**facts, "samples": BATCH / 2})
    assert_breaks_the_rules(folder, "Rank 0 logged 400 samples in 100 measured steps")


def test_a_smaller_last_batch_of_an_epoch_is_one(folder, monotonic):
    write(folder, monotonic, lie=lambda _rank, step, facts: {**facts, "samples": 3 if step % 50 == 0 else BATCH})
    assert result_of(folder).state == "ok"


def test_what_is_no_sample_may_be_as_many_as_it_wants(folder, monotonic):
    write(folder, monotonic, lie=lambda _rank, step, facts: {**facts, "samples": 500 + step})
    assert result_of(folder, measures={"throughput": default_measure("steps", "tokens/s")}).state == "ok"
    assert result_of(folder, ranks="node").reason is None or "samples" not in result_of(folder, ranks="node").reason


def test_a_twentieth_of_the_seconds(folder, monotonic):
    write(folder, monotonic, lie=lambda _rank, _step, facts: {**facts, "seconds": SECONDS / 20})
    passed = "5 s" if monotonic else "4.95"
    assert_breaks_the_rules(
        folder, f"The 100 measured steps of rank 0 took 0.25 s by their own word, while its clock went on by {passed}"
    )


@pytest.mark.parametrize("true", [0.01, 0.04, 0.1])
def test_a_twentieth_of_seconds_that_were_few(folder, monotonic, true):
    """Fewer together than what a busy machine may stop a process for between two readings of its clocks."""

    def lie(_rank, step, facts):
        return {**facts, "seconds": facts["seconds"] / (20 if step > WARMUP else 1)}

    write(folder, monotonic, lie=lie, speed=[true / SECONDS / STEPS] * 4)
    assert_breaks_the_rules(folder, "measured steps of rank 0 took", "logged as eval or checkpoint")
    write(folder, monotonic, speed=[true / SECONDS / STEPS] * 4)
    assert result_of(folder).state == "ok"


@pytest.mark.parametrize("of", [1, 2, 4])
def test_a_twentieth_of_the_seconds_in_few_lines_of_many_steps(folder, of):
    """The first line of the window is held against the one before it: there is no other clock for it."""
    write_job(folder, "COMPLETED")
    for rank in range(4):
        clock = Clock(monotonic=True)
        lines = [clock.event("start", **_facts(rank))]
        clock.passed += 2 * SECONDS
        lines.append(clock.event("step", step=2, steps=2, samples=2 * BATCH, seconds=2 * SECONDS, loss=1.0))
        for line in range(1, of + 1):
            each = STEPS // of
            clock.passed += each * SECONDS
            told = {"step": WARMUP + line * each, "steps": each, "samples": each * BATCH}
            lines.append(clock.event("step", **told, seconds=each * SECONDS / 20, loss=1.0))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")
        (folder / f"rank-{rank}.exit").write_text("0\n")
    assert_breaks_the_rules(folder, "The 100 measured steps of rank 0 took 0.25 s by their own word")


def test_half_of_the_steps_in_a_millisecond(folder, monotonic):
    write(folder, monotonic, lie=lambda rank, step, facts: {**facts, "seconds": 0.001 if rank and step % 2 else 0.05})
    assert_breaks_the_rules(folder, "of rank 1 took 2.55 s", "logged as eval or checkpoint")


def test_more_seconds_than_passed(folder, monotonic):
    write(folder, monotonic, lie=lambda _rank, _step, facts: {**facts, "seconds": SECONDS * 1.05})
    assert_breaks_the_rules(folder, "of rank 0 took 5.25 s", "steps cannot take longer than the time that passed")


@pytest.mark.parametrize("seconds", [0.5, 3600])
def test_blocks_without_a_time_of_their_own_are_held_against_the_end_of_the_log(folder, seconds):
    """As MindSpore's, one of which was timed by a wall clock that somebody set."""
    write_job(folder, "COMPLETED")
    for rank in range(4):
        clock = Clock(monotonic=True)
        lines = [clock.event("start", **_facts(rank))]
        for step in range(1, 7):
            clock.passed += 0.5
            ms = 1000 * (seconds if step == 4 else 0.5)
            lines.append(f"epoch: {step} step: 1, loss is 6.9")
            lines.append(f"Train epoch time: {ms:.3f} ms, per step time: {ms:.3f} ms")
        lines.append(clock.event("end", steps=6))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")
        (folder / f"rank-{rank}.exit").write_text("0\n")
    result = judged(folder, replace(ASKED, dialect=dialect_named("mindspore")))
    assert result.state == ("ok" if seconds == 0.5 else "rule_failed")
    if result.reason is not None:
        assert result.reason.startswith("All steps of rank 0 took 3602 s by their own word, and the training 3 s by")


def write_blocks(folder, *, begin, waits):
    """Logs as MindSpore's: `waits` are seconds before the first block, for the other ranks or for none."""
    write_job(folder, "COMPLETED")
    for rank in range(4):
        clock = Clock(monotonic=True, begin=begin[rank])
        lines = [clock.event("start", **_facts(rank))]
        clock.passed += waits[rank]
        for step in range(1, 7):
            clock.passed += 0.5
            lines.append(f"epoch: {step} step: 1, loss is 6.9")
            lines.append("Train epoch time: 500.000 ms, per step time: 500.000 ms")
        lines.append(clock.event("end", steps=6))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")
        (folder / f"rank-{rank}.exit").write_text("0\n")


def test_ranks_that_wait_for_each_other_before_blocks_without_a_time_of_their_own(folder):
    write_blocks(folder, begin=(0, 2.4, 0, 0), waits=(2.4, 0, 2.4, 2.4))
    assert judged(folder, replace(ASKED, dialect=dialect_named("mindspore"))).state == "ok"


def test_ranks_one_after_the_other_whose_blocks_have_no_time_of_their_own(folder):
    write_blocks(folder, begin=(0, 3.5, 0, 0), waits=(0, 0, 0, 0))
    result = judged(folder, replace(ASKED, dialect=dialect_named("mindspore")))
    assert (result.state, result.throughput) == ("rule_failed", None)
    assert "only 0 s are among" in result.reason


@pytest.mark.parametrize("name", ["eval", "checkpoint"])
def test_what_is_declared_between_steps_may_take_its_time(folder, monotonic, name):
    def pause(clock, rank, step):
        if step % 25:
            return []
        clock.passed += 10
        return [clock.event(name, step=step, seconds=10.0, images=5, accuracy=0.5, loss=1.0)] if rank == 0 else []

    write(folder, monotonic, between=pause)
    assert result_of(folder).state == "ok"


def test_what_is_not_declared_between_steps_is_no_part_of_a_training_that_leaves_it_out(folder, monotonic):
    def pause(clock, _rank, step):
        clock.passed += 1 if step % 50 == 0 else 0

    write(folder, monotonic, between=pause)
    assert_breaks_the_rules(folder, "took 5 s by their own word, while its clock went on by 7 s")


def test_a_pause_of_which_only_a_clock_that_nobody_sets_can_tell(folder, monotonic):
    """By wall time it may have been the clock: the throughput stays, and what the clock would tell is not there."""

    def pause(clock, _rank, step):
        clock.passed += 600 if step == 50 else 0

    write(folder, monotonic, between=pause)
    result = result_of(folder)
    assert result.state == ("rule_failed" if monotonic else "ok")
    assert result.whole is None
