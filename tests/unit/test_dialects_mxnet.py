from __future__ import annotations

import re

import pytest
from dialect_fixture import measured, read, steps_per_second
from framework_logs import (
    DIALECTS,
    lines,
    mxnet_bert,
    mxnet_gluon,
    mxnet_ngc,
    mxnet_partial_fc,
    mxnet_speedometer,
)
from shared_data import shared
from unit.judged_log import judged, judged_file


def test_gluon_gives_samples_over_time_where_dlperf_takes_the_mean_of_the_rates(tmp_path):
    text = mxnet_gluon([100] * 20 + [400] * 50 + [200] * 50)
    reading = read(tmp_path, text, DIALECTS["mxnet-gluon"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / (50 / 400 + 50 / 200))  # 266.67, the mean is 300
    assert measured(reading).steps.sum() == 100


def test_of_equal_rates_dlperfs_mean_is_samples_over_time(tmp_path):
    text = mxnet_gluon([100] * 20 + [384.19] * 100)
    assert steps_per_second(read(tmp_path, text, DIALECTS["mxnet-gluon"], 20, 120)) == pytest.approx(384.19)


def test_nvidias_lines_count_by_their_time_over_midnight_and_new_year(tmp_path):
    text = mxnet_ngc([1.0] * 20 + [0.25] * 50 + [0.5] * 50)
    reading = read(tmp_path, text, DIALECTS["mxnet-ngc"], 20, 120)
    assert steps_per_second(reading, 0) == pytest.approx(100 / 37.5)
    assert measured(reading, 0).step[0] == 21


@pytest.mark.parametrize("tagged", [True, False])
def test_ranks_are_told_apart_by_the_launcher_or_by_their_order(tmp_path, tagged):
    text = mxnet_ngc([1.0] * 20 + [0.25] * 100, ranks=4)
    if tagged:
        text = lines(f"[1,{number % 4}]<stderr>:{line}" for number, line in enumerate(text.splitlines()))
    reading = read(tmp_path, text, DIALECTS["mxnet-ngc"], 20, 120)
    assert sorted(reading.series) == [0, 1, 2, 3]
    assert [steps_per_second(reading, rank) for rank in range(4)] == pytest.approx([4.0] * 4)
    assert reading.faults == []


def test_a_rank_that_is_a_step_ahead_is_no_second_training(tmp_path):
    steps = mxnet_bert([[200.0, 200.0]] * 150).splitlines()
    for number in range(3, len(steps) - 1, 4):
        steps[number - 1], steps[number] = steps[number], steps[number - 1]
    for number in range(5, len(steps) - 1, 8):
        steps[number], steps[number + 1] = steps[number + 1], steps[number]
    reading = read(tmp_path, lines(steps), DIALECTS["mxnet-bert"])
    assert {rank: len(measured(reading, rank)) for rank in reading.series} == {0: 150, 1: 150}
    assert reading.faults == []


def test_berts_ranks_have_latencies_of_their_own(tmp_path):
    """DLPerf: the median of both rates, 4.88, times two ranks."""
    reading = read(
        tmp_path, mxnet_bert([[900.0, 900.0]] * 100 + [[200.0, 210.0]] * 100), DIALECTS["mxnet-bert"], 100, 200
    )
    rates = [steps_per_second(reading, rank) for rank in (0, 1)]
    assert rates == pytest.approx([1 / 0.2, 1 / 0.21])
    assert 32 * sum(rates) == pytest.approx(32 * 2 * (1 / 0.2 + 1 / 0.21) / 2)


def test_order_tells_ranks_apart_across_the_pieces_of_a_large_log(tmp_path):
    text = mxnet_bert([[200.0] * 8] * 3000)
    assert len(text) > 2 << 20
    reading = read(tmp_path, text, DIALECTS["mxnet-bert"])
    assert {rank: len(series.rows) for rank, series in reading.series.items()} == dict.fromkeys(range(8), 3000)


@pytest.mark.parametrize("loss", ["nan", "    nan"])
def test_a_loss_of_bert_that_is_no_number_is_seen(tmp_path, loss):
    text = mxnet_bert([[200.0]] * 10) + mxnet_bert([[200.0]] * 12, loss=loss).split("\n", 10)[10]
    reading = read(tmp_path, text, DIALECTS["mxnet-bert"])
    assert reading.series[0].broken_loss is not None and reading.series[0].broken_loss[0] == 11


def test_a_checkpoint_of_bert_is_no_step(tmp_path):
    text = mxnet_bert([[200.0]] * 10) + "INFO:root:[step 10] Saving checkpoints to ckpt/0000010.params\n"
    reading = read(tmp_path, text, DIALECTS["mxnet-bert"])
    assert (len(measured(reading, 0)), reading.remarks) == (10, [])


@pytest.mark.parametrize("batch", ["[{first}-{last}]", "[{last}]"])
@pytest.mark.parametrize("word", ["Epoch", "Iter"])
def test_the_speedometer_of_all_versions_covers_the_batches_between_its_lines(tmp_path, batch, word):
    """DLPerf: the mean of lines 2 to 6, 320."""
    text = mxnet_speedometer([100, 400, 400, 400, 200, 200, 50], batch).replace("Epoch", word)
    reading = read(tmp_path, text, DIALECTS["mxnet-speedometer"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / (60 / 400 + 40 / 200))
    assert list(measured(reading).step) == [40, 60, 80, 100, 120]


def test_partial_fc_counts_samples_of_all_ranks(tmp_path):
    text = mxnet_partial_fc([100] * 20 + [1588.16] * 100)
    assert steps_per_second(read(tmp_path, text, DIALECTS["mxnet-partial-fc"], 20)) == pytest.approx(1588.16)


def test_an_infinite_speed_is_no_measurement(tmp_path):
    reading = read(tmp_path, mxnet_partial_fc([400, float("inf"), 400]), DIALECTS["mxnet-partial-fc"])
    assert steps_per_second(reading) == pytest.approx(400)
    assert "1 of 3 lines" in reading.remarks[0]


def test_the_language_models_of_gluon_nlp_state_all_devices(tmp_path):
    text = lines(
        f"[Epoch {batch // 600} Batch {batch % 600}/600] {'current ' if batch % 400 else ''}loss 7.76, ppl 2345.60,"
        f" throughput {rate:.2f} samples/s"
        for batch, rate in zip(range(200, 10**6, 200), [100.0] + [1000.0] * 3 + [500.0] * 3)
    )
    assert judged(tmp_path, text, warmup=200).throughput == pytest.approx(6 / (3 / 1000 + 3 / 500), rel=0.35)


@pytest.mark.parametrize(
    ("name", "devices", "batch"),
    [("googlenet_mixup.log", 8, 128), ("mobilenetv2_1.0.log", 4, 64), ("resnet34_v2.log", 4, 256)],
)
def test_the_published_logs_of_gluon_cv_give_what_their_lines_say(name, devices, batch):
    path = shared("logs-more/gluoncv") / name
    speeds = [float(one) for one in re.findall(r"Batch \[\d+\]\tSpeed: ([\d.]+) samples/sec", path.read_text())]
    result = judged_file(path)
    assert (result.state, result.case) == ("ok", f"1n{devices}g")
    assert result.throughput == pytest.approx(len(speeds) / sum(1 / one for one in speeds), rel=0.01)
