"""NeMo, Lightning, AWS' FSDP examples and Megatron-Core."""

from __future__ import annotations

import re

import pytest
from framework_logs import lines, megatron
from rackmark.run.cases import Case
from shared_data import shared
from unit.judged_log import judged, judged_file


def nemo(seconds, first=0):
    return lines(
        f"Training epoch 0, iteration {step}/{len(seconds) - 1} | lr: 1.961e-06 | global_batch_size: 64 | global_step:"
        f" {step} | reduced_train_loss: {9 - step / 100:.3f} | train_step_timing in s: {one:.3f}"
        + (f" | consumed_samples: {64 * (step + 1)}" if step else "")
        for step, one in enumerate(seconds, first)
    )


def test_nemos_batch_is_of_all_devices_and_its_time_that_of_the_step(tmp_path):
    result = judged(tmp_path, nemo([7.1] * 20 + [2.0] * 10 + [4.0] * 10))
    assert result.throughput == pytest.approx(64 / 3)
    assert result.loss == pytest.approx(9 - 0.39, abs=1e-3)


def test_lines_of_nemo_that_do_not_count_the_steps_of_the_training_count_those_of_the_epoch(tmp_path):
    text = re.sub(r" \| global_step: \d+", "", nemo([7.1] * 20 + [2.0] * 10 + [4.0] * 10))
    assert judged(tmp_path, text).throughput == pytest.approx(64 / 3)


def test_the_bar_of_nemo_1_is_repainted_and_counts_once(tmp_path):
    def bar(step, seconds):
        return (
            f"Epoch 0: :  {step}%|#  | {step}/100 [10:48<00:00, reduced_train_loss=0.0172, global_step={step:.2f},"
            f" consumed_samples={256 * (step + 1):.1f}, train_step_timing in s={seconds:.3f}]"
        )

    painted = [line for step in range(60) for line in [bar(step, 9 if step < 20 else 3.13)] * (1 + step % 3)]
    assert judged(tmp_path, "\r".join(painted) + "\n").throughput == pytest.approx(256 / 3.13)


def lightning(epochs, total=100, pace="{:.2f}it/s"):
    """Bars of epochs whose batches took so many seconds each."""
    painted = []
    for epoch, seconds in enumerate(epochs):
        for done in (1, total // 2, total, total):
            rate = pace.format(1 / seconds if "it/s" in pace else seconds)
            painted.append(f"Epoch {epoch}:  10%|#   | {done}/{total} [00:05<00:45,  {rate}, v_num=0, train_loss=0.5]")
    return "\r".join(painted) + "\n"


def test_of_each_epoch_of_lightning_the_complete_bar_counts(tmp_path):
    result = judged(tmp_path, lightning([1.0, 0.25, 0.5]), batch=32)
    assert result.throughput == pytest.approx(8 * 32 * 250 / (50 + 25 + 50))  # without the first half of epoch 0


def test_slow_steps_of_lightning_are_seconds_per_step(tmp_path):
    text = "All distributed processes registered. Starting with 16 processes\n" + lightning(
        [2.5, 2.0], pace="{:.2f}s/it"
    )
    result = judged(tmp_path, text, case=None, batch=4)
    assert (result.case, result.throughput) == ("2n8g", pytest.approx(16 * 4 * 150 / (125 + 200)))


def test_an_epoch_of_lightning_that_was_cut_counts_up_to_its_last_bar(tmp_path):
    text = lightning([1.0, 0.5])
    cut = text[: text.index("Epoch 1:  10%|#   | 100/100")]
    assert judged(tmp_path, cut, batch=1).throughput == pytest.approx(8 * 100 / (50 + 25))


def test_a_second_training_of_lightning_in_the_log_is_not_added(tmp_path):
    assert judged(tmp_path, lightning([1.0, 0.5]) + lightning([1.0, 0.5]), batch=1).state == "incomplete"


def test_the_examples_of_aws_state_all_ranks(tmp_path):
    text = lines(
        f"2024-05-10 10:00:00 I [train.py:103] Batch {step} Loss: 9.99123, Speed: {rate:.2f} samples/sec, lr: 0.000006"
        for step, rate in enumerate([1.0] * 20 + [4.0] * 10 + [12.0] * 10)
    )
    text += "2024-05-10 10:00:00 I [train.py:120] Batch 39 Validation loss: 9.1\n"
    assert judged(tmp_path, text).throughput == pytest.approx(20 / (10 / 4 + 10 / 12))


def test_megatron_says_of_how_many_devices_it_is(tmp_path):
    head = "using world size: 16, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 8\n"
    core = megatron([250.0] * 5).replace(" | learning", " | throughput per GPU (TFLOP/s/GPU): 400.1 | learning")
    result = judged(tmp_path, head + core, case=None, warmup=10)
    assert (result.case, result.throughput) == ("2n8g", pytest.approx(32 / 0.25))


def test_a_published_log_of_megatron_gives_the_mean_of_its_iterations():
    path = shared("logs-more/megatron/meg_ds_3d_gpt2_perf_n16-ds-on.out")
    rows = [line for line in path.read_text(errors="replace").splitlines() if "elapsed time per iteration" in line]
    ms = [float(row.split("iteration (ms):")[1].split("|")[0]) for row in rows[20:]]
    result = judged_file(path, case=Case(16, 4))
    assert result.throughput == pytest.approx(1024 * len(ms) / (sum(ms) / 1000))
