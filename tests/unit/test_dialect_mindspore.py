from __future__ import annotations

import json
import math

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.logs.reading import Evaluation
from rackmark.logs.series import Window
from unit.dialect_fixture import Interval, intervals


def read(text):
    return dialect_named("mindspore").read_text((text + "\n").encode(), Window(0, None))


def record(event: str, time: float, **facts: object) -> str:
    return "RACKMARK " + json.dumps({"event": event, "time": time, **facts})


START = record("start", 100.0, rank=0, batch=4)


def blocks(*lines: str) -> list[Interval]:
    return intervals(read("\n".join([START, *lines])))


def test_a_pair_of_lines_is_one_sample_of_all_its_steps():
    assert blocks("epoch: 1 step: 10, loss is 6.91", "Train epoch time: 5000.000 ms, per step time: 500.000 ms") == [
        Interval(step=10, samples=40, seconds=5.0, loss=6.91, time=105.0, steps=10)
    ]


@pytest.mark.parametrize(
    "loss_line",
    [
        "epoch: 2 step: 10, loss is 6.5",
        "epoch: 2, step: 10, loss is 6.5",
        "epoch: 2 step 10, loss is 6.5",
        "epoch:2 step:10, loss is 6.5",
        "[1,3]<stdout>:epoch: 2 step: 10, loss is 6.5",
        "epoch: 2 step: 10, loss is [6.5]",
    ],
)
@pytest.mark.parametrize(
    "time_line",
    [
        "epoch time: 5000.000 ms, per step time: 500.000 ms",
        " epoch time: 5000.000 ms, per step time: 500.000 ms",
        "Train epoch time: 5000.000 ms, per step time: 500.000 ms",
        "Train epoch time: 5000.000 ms, per step time: 500.000 ms (data time: 1.204 ms)",
        "[1,3]<stdout>:Epoch time: 5000.000 ms, per step time: 500.000 ms\r",
    ],
)
def test_the_spellings_of_all_versions_are_read(loss_line, time_line):
    (sample,) = blocks(loss_line, time_line)
    assert (sample.step, sample.steps, sample.seconds, sample.loss) == (20, 10, 5.0, 6.5)


def test_with_a_sink_the_epoch_counts_blocks():
    samples = blocks(
        *(
            f"epoch: {block} step: 10, loss is 7.0\nepoch time: 3690.815 ms, per step time: 369.082 ms"
            for block in range(1, 21)
        )
    )
    assert [sample.step for sample in samples] == list(range(10, 201, 10))
    assert sum(sample.samples for sample in samples) == 4 * 200


def test_without_a_sink_an_epoch_has_a_loss_line_for_each_step():
    losses = [f"epoch: 1 step: {step}, loss is {8 - step}" for step in (1, 2, 3)]
    (sample,) = blocks(*losses, "Train epoch time: 1000.000 ms, per step time: 333.333 ms")
    assert (sample.step, sample.steps, sample.loss) == (3, 3, 5.0)


def test_an_epoch_may_end_some_steps_after_its_last_loss_line():
    (sample,) = blocks("epoch: 1 step: 20, loss is 6.9", "Train epoch time: 2500.000 ms, per step time: 100.000 ms")
    assert (sample.step, sample.steps, sample.samples) == (25, 25, 100)


def test_a_step_of_microseconds_still_has_its_number_of_steps():
    (sample,) = blocks("epoch: 1 step: 1251, loss is 6.9", "epoch time: 437.223 ms, per step time: 0.349 ms")
    assert sample.steps == 1251


def test_steps_go_on_when_the_epochs_begin_anew():
    pair = "epoch: 1 step: 10, loss is 6.9\nTrain epoch time: 1000.000 ms, per step time: 100.000 ms"
    assert [sample.step for sample in blocks(pair, pair, pair)] == [10, 20, 30]


def test_a_torn_line_does_not_shift_the_steps_after_it():
    samples = blocks(
        "epoch: 1 step: 5, loss is 6.9",
        "Train epoch time: 500.000 ms, per step ti",
        "epoch: 2 step: 5, loss is 6.8",
        "Train epoch time: 500.000 ms, per step time: 100.000 ms",
    )
    assert [(sample.step, sample.steps, sample.loss) for sample in samples] == [(5, 5, 6.9), (10, 5, 6.8)]


def test_times_without_a_loss_are_samples_whose_loss_was_not_logged():
    times = "Train epoch time: 500.000 ms, per step time: 100.000 ms"
    found = blocks(times, times)
    assert [sample.step for sample in found] == [5, 10] and all(math.isnan(sample.loss) for sample in found)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_loss_that_is_no_number_is_kept(text):
    (sample,) = blocks(f"epoch: 1 step: 5, loss is {text}", "Train epoch time: 500.0 ms, per step time: 100.0 ms")
    assert sample.loss is not None and not math.isfinite(sample.loss)


@pytest.mark.parametrize(
    "time_line",
    [
        "Train epoch time: 500.000 ms, per step time: 80.000 ms",  # 6.25 steps
        "Train epoch time: 500.000 ms, per step time: 250.000 ms",  # 2 steps, and the loss is of the fifth
        "Train epoch time: 0.000 ms, per step time: 0.000 ms",
        "Train epoch time: -500.000 ms, per step time: 100.000 ms",
        "Train epoch time: nan ms, per step time: nan ms",
        "Eval epoch time: 500.000 ms, per step time: 100.000 ms",
        f"Train epoch time: {'9' * 400}.000 ms, per step time: 100.000 ms",
    ],
)
def test_times_that_do_not_fit_are_no_sample(time_line):
    assert blocks("epoch: 1 step: 5, loss is 6.9", time_line) == []


def test_without_a_batch_there_are_blocks_and_no_samples():
    pair = "epoch: 1 step: 5, loss is 6.9\nTrain epoch time: 500.000 ms, per step time: 100.000 ms"
    for text in (pair, f"{record('start', 100.0, batch=0)}\n{pair}"):
        (one,) = intervals(read(text))
        assert one.steps == 5 and math.isnan(one.samples)


def test_samples_end_where_the_records_around_them_say():
    pair = "epoch: {} step: 5, loss is 6.9\nTrain epoch time: 2000.000 ms, per step time: 400.000 ms"
    evaluation = record("eval", 107.5, step=5, seconds=5.0, images=8, accuracy=0.5, loss=2.0)
    log = read("\n".join([START, pair.format(1), evaluation, pair.format(2), record("end", 109.6, steps=10)]))
    assert [one.time for one in intervals(log)] == [102.0, 109.5]
    assert log.evaluations == [Evaluation(step=5, seconds=5.0, accuracy=0.5, loss=2.0, time=107.5)]
    assert (log.facts["batch"], log.ended) == (4, 109.6)


def test_other_output_is_passed_over():
    assert (
        blocks("\x00\ufffd", f"epoch: {'1' * 5000} step: 1, loss is 1", "RACKMARK [1]", "RACKMARK {", "loss is") == []
    )
