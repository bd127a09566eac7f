from __future__ import annotations

import pytest
from dialect_fixture import measured, read, steps_per_second
from framework_logs import DIALECTS, paddle_bert, paddle_resnet

DURATIONS = [1.0] * 20 + [0.25] * 50 + [0.5] * 50


def test_resnet_counts_by_the_time_of_its_lines(tmp_path):
    """DLPerf by time: from batch 19 to batch 119, and the day changes in between."""
    reading = read(tmp_path, paddle_resnet(DURATIONS), DIALECTS["paddle-resnet"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / 37.5)
    assert measured(reading).step[[0, -1]].tolist() == [21, 120]


def test_resnet_without_the_time_counts_by_elapse(tmp_path):
    """DLPerf: the mean of batch / elapse is 3 batches a second."""
    reading = read(tmp_path, paddle_resnet(DURATIONS, dated=False), DIALECTS["paddle-resnet-elapse"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / 37.5)


def test_batches_of_a_test_are_not_those_of_the_training(tmp_path):
    test = paddle_resnet([9.0] * 5).replace("train batch", "test  batch")
    reading = read(tmp_path, paddle_resnet(DURATIONS) + test, DIALECTS["paddle-resnet"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / 37.5)


@pytest.mark.parametrize(("trainers", "nodes"), [(None, 1), (2, 2)])
def test_berts_steps_are_those_of_all_trainers_together(tmp_path, trainers, nodes):
    """DLPerf: 2.8 times the 8 cards of a node times 64."""
    text = paddle_bert([1.0] * 20 + [2.8] * 100, trainers)
    reading = read(tmp_path, text, DIALECTS["paddle-bert"], 20, 120)
    assert steps_per_second(reading) * 8 * 64 * nodes == pytest.approx(2.8 * 8 * 64)
    assert (reading.facts["nodes"], reading.facts["devices_per_node"]) == (nodes, 8)
    assert reading.faults == []


def test_berts_steps_say_nothing_without_the_number_of_trainers(tmp_path):
    text = paddle_bert([2.8] * 100)
    reading = read(tmp_path, text[text.index("feed_queue") :], DIALECTS["paddle-bert"])
    assert [fault.state for fault in reading.faults] == ["incomplete"]
    assert "how many trainers" in reading.faults[0].reason


def test_a_speed_of_nothing_is_no_measurement(tmp_path):
    reading = read(tmp_path, paddle_bert([2.0, 0.0, 2.0]), DIALECTS["paddle-bert"])
    assert len(measured(reading)) == 2
