"""A repeat is ok only if what its ranks log agrees with itself: its samples, its seconds and its clocks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.run.measures import default_measure
from unit.judged import ASKED, CASE, judged
from unit.run_fixture import BATCH, STARTED, WARMUP, start_line, write_job

STEPS = 100  # of 0.05 s, after the warm-up: 5 s
SECONDS = 0.05
TRUTH = 4 * BATCH / SECONDS
UPTIME = 5000.0


class Clock:
    """What a process reads: a wall clock that somebody sets, and one that nobody does."""

    def __init__(self, monotonic, begin=0.0):
        self.monotonic, self.passed, self.set_by = monotonic, begin, 0.0

    def event(self, name, **facts):
        wall = STARTED + self.passed + self.set_by
        moment = {"monotonic": UPTIME + self.passed} if self.monotonic else {}
        return "RACKMARK " + json.dumps({"event": name, **moment, "time": wall, **facts})


@pytest.fixture(params=[False, True], ids=["by wall time", "by monotonic time"])
def monotonic(request):
    return request.param


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "r1").mkdir()
    return tmp_path / "r1"


def write(folder, monotonic, *, begin=(0, 0, 0, 0), lie=None, between=None, speed=(1, 1, 1, 1)):
    """`lie` changes what a step's line says, `between` is what happens after a step."""
    write_job(folder, "COMPLETED")
    for rank in range(4):
        clock = Clock(monotonic, begin[rank])
        lines = [clock.event("start", **_facts(rank))]
        for step in range(1, WARMUP + STEPS + 1):
            seconds = SECONDS * speed[rank]
            clock.passed += seconds
            facts = {"step": step, "samples": BATCH, "seconds": seconds, "loss": 1.0}
            lines.append(clock.event("step", **(lie(rank, step, facts) if lie else facts)))
            lines += (between(clock, rank, step) or []) if between else []
        lines.append(clock.event("end", steps=WARMUP + STEPS))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")
        (folder / f"rank-{rank}.exit").write_text("0\n")


def _facts(rank):
    record = json.loads(start_line(CASE, rank)[len("RACKMARK ") :])
    return {name: value for name, value in record.items() if name not in ("event", "time")}


def result_of(folder, **changes):
    return judged(folder, replace(ASKED, steps=STEPS, **changes))


def assert_breaks_the_rules(folder, *words):
    result = result_of(folder)
    assert (result.state, result.throughput, result.whole) == ("rule_failed", None, None)
    for word in words:
        assert word in result.reason


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
