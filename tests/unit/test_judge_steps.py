"""Which of a rank's logged steps count, and what is said where they do not fit together."""

import pytest
from unit.judged import CASE, change, complete_repeat, judged
from unit.run_fixture import (
    BATCH,
    STARTED,
    event,
    start_line,
)


@pytest.fixture
def folder(tmp_path):
    return complete_repeat(tmp_path)


def blocks(folder, *lengths):
    """Logs with one line for several steps each."""
    for rank in range(4):
        lines, step, now = [start_line(CASE, rank)], 0, STARTED
        for length in lengths:
            step, now = step + length, now + length
            lines.append(event("step", now, step=step, steps=length, samples=BATCH * length, seconds=length, loss=1.0))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines))


def test_lines_on_several_steps_count_with_all_of_them(folder):
    blocks(folder, 2, 3, 1)
    result = judged(folder)
    assert (result.state, result.throughput) == ("ok", pytest.approx(4 * BATCH))


def test_a_line_must_not_straddle_the_end_of_the_warm_up(folder):
    blocks(folder, 3, 3)
    result = judged(folder)
    assert (result.state, result.throughput) == ("rule_failed", None)
    assert "Rank 0 logged the steps 1 to 3 in one line, and the warm-up ends within them, at step 2" in result.reason


def test_lines_on_too_few_steps_are_incomplete(folder):
    blocks(folder, 2, 3)
    assert "Rank 0 logged 5 of 6 steps" in judged(folder).reason


def test_lines_on_the_same_steps_are_not_counted_twice(folder):
    blocks(folder, 2, 4)
    for rank in range(4):
        change(folder, rank, '"step": 6, "steps": 4', '"step": 5, "steps": 4')
    assert "steps 1 to 6 once each and in order" in judged(folder).reason


def test_the_three_views_of_a_training_that_evaluates(folder):
    """Four ranks of 6 steps of 1 s; rank 0 evaluates for 2 s twice, writes for 1 s at the end, and the others wait."""
    for rank in range(4):
        lines, now = [start_line(CASE, rank)], STARTED
        for step in range(1, 7):
            now += 1
            lines.append(event("step", now, step=step, samples=BATCH, seconds=1.0, loss=1.0))
            if step in (3, 6):
                now += 2
                if rank == 0:
                    lines.append(event("eval", now, step=step, seconds=2.0, images=10, accuracy=step / 10, loss=1.0))
        lines.append(event("end", now + 1, steps=6))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines))
    result = judged(folder)
    assert result.throughput == pytest.approx(4 * BATCH)
    assert result.whole == pytest.approx(4 * BATCH * 6 / 11)
    assert result.no_eval == pytest.approx(4 * BATCH * 6 / 7)
    assert result.accuracy == 0.6


def test_a_progress_bar_on_the_line_hides_no_step(folder):
    for rank in range(4):
        path = folder / f"rank-{rank}.log"
        path.write_text(path.read_text().replace("RACKMARK", "\r 50%|##### | 3/6\rRACKMARK"))
    assert judged(folder).state == "ok"
