"""OneFlow and, as both are measured on the same model, HugeCTR."""

from __future__ import annotations

import pytest
from dialect_fixture import measured, read, steps_per_second
from framework_logs import (
    DIALECTS,
    hugectr_wdl,
    oneflow_bert,
    oneflow_cnn,
    oneflow_gpt,
    oneflow_insightface,
    oneflow_wdl,
    oneflow_wdl_models,
)

DURATIONS = [1.0] * 20 + [0.25] * 50 + [0.5] * 50


def test_image_classification_counts_by_the_seconds_since_1970(tmp_path):
    """DLPerf: batch times 100 by the time from iteration 20 to 120."""
    reading = read(tmp_path, oneflow_cnn(DURATIONS), DIALECTS["oneflow-cnn"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / 37.5)
    assert reading.facts == {
        "devices_per_node": 8,
        "nodes": 2,
        "model": "resnet50",
        "precision": "fp16",
        "batch": 128,
    }
    assert reading.remarks == []


def test_a_validation_in_between_is_mentioned(tmp_path):
    validation = (
        "validation: epoch 0, iter 195, top_1: 0.772155, top_k: 0.934856, samples/s: 181.038 1606123666.3968866\n"
    )
    reading = read(tmp_path, oneflow_cnn(DURATIONS) + validation, DIALECTS["oneflow-cnn"])
    assert reading.remarks[0].startswith("Evaluations between the lines: 1;")


def test_bert_counts_its_steps_from_nought(tmp_path):
    """DLPerf: from step 19 to step 119."""
    reading = read(tmp_path, oneflow_bert(DURATIONS), DIALECTS["oneflow-bert"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / 37.5)


def test_bert_without_the_time_counts_by_its_rate(tmp_path):
    reading = read(tmp_path, oneflow_bert(DURATIONS, stamped=False), DIALECTS["oneflow-bert-rate"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(192 * 100 / 37.5)


def test_insightface_counts_the_lines_dlperf_counts(tmp_path):
    """DLPerf: the mean of the rates of iterations 25 to 125, of which the first is 400 here and all others 200."""
    dialect = DIALECTS["oneflow-insightface"]
    text = oneflow_insightface([1] * 25 + [400] + [200] * 100 + [1] * 20)
    reading = read(tmp_path, text, dialect, dialect.warmup, dialect.last)
    assert steps_per_second(reading) == pytest.approx(101 / (1 / 400 + 100 / 200))
    assert len(measured(reading)) == 101


def test_wide_and_deep_counts_from_its_first_line(tmp_path):
    """DLPerf: the seconds of 1000 iterations are the milliseconds of one, 29."""
    dialect = DIALECTS["oneflow-wdl"]
    reading = read(tmp_path, oneflow_wdl([7.0] + [2.9] * 10 + [9.0]), dialect, dialect.warmup, dialect.last)
    assert 1000 / steps_per_second(reading) == pytest.approx(29)
    assert reading.facts["global_batch"] == 16384


def test_wide_and_deep_of_the_models_names_its_latency(tmp_path):
    dialect = DIALECTS["oneflow-wdl-models"]
    text = oneflow_wdl_models([81.6, 2.2, 2.4] + [2.3] * 8 + [7.0])
    reading = read(tmp_path, text, dialect, dialect.warmup, dialect.last)
    assert 1000 / steps_per_second(reading) == pytest.approx((2.2 + 2.4 + 8 * 2.3) / 10)


def test_gpt_knows_the_samples_of_its_steps(tmp_path):
    """DLPerf adds up both ends, so that its 2 samples/s of steady steps would be 2.2."""
    dialect = DIALECTS["oneflow-gpt"]
    reading = read(tmp_path, oneflow_gpt([9.0] * 30 + [13.12494] * 10), dialect, dialect.warmup, dialect.last)
    inside = measured(reading)
    assert inside.samples.sum() == 100 * 512
    assert inside.samples.sum() / inside.seconds.sum() == pytest.approx(512 / 13.12494)
    assert reading.facts == {"nodes": 4, "devices_per_node": 8, "precision": "fp16"}


def test_hugectr_counts_from_the_second_line(tmp_path):
    """DLPerf: the mean of the lines after that of iteration 100, by 100 iterations."""
    dialect = DIALECTS["hugectr"]
    reading = read(tmp_path, hugectr_wdl([0.9] + [0.2, 0.3] * 5), dialect, dialect.warmup, dialect.last)
    assert 1000 / steps_per_second(reading) == pytest.approx(1000 * 0.25 / 100)


def test_hugectr_evaluates_inside_its_intervals(tmp_path):
    """As it logs: 20 s, then 37 s each of which 17 s are an evaluation."""
    text = hugectr_wdl([20.0] + [37.0] * 5, evaluation=17.0)
    reading = read(tmp_path, text, DIALECTS["hugectr"])
    assert steps_per_second(reading) == pytest.approx(600 / 120)
    assert reading.remarks == ["Evaluations between the lines: 6; their time is taken off."]


def test_hugectr_says_at_the_end_how_long_all_took(tmp_path):
    end = "[HUGECTR][04:17:24][INFO][RANK0]: Finish 1200 iterations with batchsize: 65536 in 819.20s.\n"
    reading = read(tmp_path, hugectr_wdl([20.0] * 12) + end, DIALECTS["hugectr"])
    assert reading.facts["global_batch"] == 65536
    assert reading.stated["whole"] == pytest.approx(96000)
