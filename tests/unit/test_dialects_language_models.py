"""torchtitan, MaxText, nanoGPT and modded-nanoGPT."""

from __future__ import annotations

import pytest
from dialect_fixture import measured, read
from framework_logs import DIALECTS, lines
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.run.cases import Case
from shared_data import shared
from unit.judged_log import judged, judged_file

TITAN = "[rank0]:[titan] 2025-11-25 19:45:01,441 - root - INFO - "
MESH = f"{TITAN}Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=4, cp=1, tp=2, ep=4\n"


def torchtitan(rates, word="tps", colour=""):
    return lines(
        f"{TITAN}{colour}step: {step:2}  {colour}loss: {12 - step / 100:7.4f}  grad_norm:  1.46  memory:  1.2GiB(0.8%)"
        f"  {word}: {rate:,}  tflops: 1,000.41  mfu: 0.04%"
        for step, rate in enumerate(rates, 1)
    )


@pytest.mark.parametrize("colour", ["", "\x1b[31m"])
@pytest.mark.parametrize("word", ["tps", "wps"])
def test_torchtitans_rate_is_of_one_device_and_the_mesh_says_how_many(tmp_path, word, colour):
    text = MESH + torchtitan([56] * 20 + [9_756] * 50 + [4_878] * 50, word, colour)
    result = judged(tmp_path, text, case=None)
    assert (result.case, result.state) == ("2n8g", "ok")
    assert result.throughput == pytest.approx(16 * 100 / (50 / 9756 + 50 / 4878))


def test_a_mesh_of_another_size_than_the_folder_says_is_a_contradiction(tmp_path):
    assert judged(tmp_path, MESH + torchtitan([9_756] * 40), case="1n8g").state == "wrong_world_size"


def test_a_validation_of_torchtitan_is_no_training(tmp_path):
    validation = f"{TITAN}validate step: 30  loss:  7.1001  memory:  1.21GiB(0.86%)  tps: 90,756\n"
    trained = torchtitan([9_756] * 40).splitlines(keepends=True)
    text = "".join(trained[:30]) + validation + "".join(trained[30:])
    assert judged(tmp_path, text).throughput == pytest.approx(8 * 9756)


def maxtext(seconds):
    return lines(
        f"completed step: {step}, seconds: {one:.3f}, TFLOP/s/device: 451.236, Tokens/s/device: {8192 / one:.3f},"
        f" total_weights: 393216, loss: {9 - step / 100:.3f}"
        for step, one in enumerate(seconds)
    )


def test_maxtexts_rate_is_of_one_device_and_its_first_steps_compile(tmp_path):
    text = "Num_devices: 4, shape (1, 4, 1)\n" + maxtext([48.2] + [2.0] * 4 + [1.0] * 10 + [2.0] * 10)
    result = judged(tmp_path, text, case="1n4g")
    assert result.throughput == pytest.approx(4 * 20 * 8192 / 30)
    assert result.loss == pytest.approx(9 - 0.24)


def nanogpt(ms, evaluated=(), tokens="491,520"):
    text = [f"tokens per iteration will be: {tokens}"]
    for number, one in enumerate(ms):
        if number in evaluated:
            text.append(f"step {number}: train loss 3.1012, val loss 3.1344")
        text.append(f"iter {number}: loss {4 - number / 100:.4f}, time {one:.2f}ms, mfu 41.20%")
    return lines(text)


def test_nanogpt_counts_the_tokens_of_all_devices_without_the_iterations_that_evaluated(tmp_path):
    result = judged(tmp_path, nanogpt([9000.0] + [500.0] * 20 + [9000.0] + [250.0] * 20, evaluated=(0, 21)))
    assert result.throughput == pytest.approx(491520 / 0.25)
    assert result.measures["val_loss"] == 3.1344


def modded(ms, begin=0.0):
    text, now = ["    batch_size : int = 64 # batch size, in sequences, across all devices"], begin
    for step, one in enumerate(ms, 1):
        now = one if step == 11 else now + one
        text.append(f"step:{step}/{len(ms)} train_loss:4.2101 train_time:{now:.0f}ms step_avg:157.57ms")
    return lines([*text, f"step:{len(ms)}/{len(ms)} val_loss:3.2783 train_time:{now:.0f}ms step_avg:161.84ms"])


def test_the_clock_of_modded_nanogpt_begins_anew_after_ten_steps(tmp_path):
    result = judged(tmp_path, modded([4000.0] * 10 + [160.0] * 110))
    assert result.throughput == pytest.approx(64 / 0.16)
    assert result.measures["val_loss"] == 3.2783


def test_the_published_log_of_modded_nanogpt_gives_the_mean_that_it_states(tmp_path):
    path = next(shared("logs-more/modded-nanogpt").iterdir())
    result = judged_file(path, case=Case(1, 8))
    assert result.throughput == pytest.approx(8 / 0.16184, rel=1e-3)  # sequences of its batch over its step_avg
    assert result.measures["val_loss"] == 3.2783


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torchtitan", torchtitan([9_756] * 40)),
        ("maxtext", maxtext([1.0] * 40)),
        ("nanogpt", nanogpt([250.0] * 40)),
        ("modded-nanogpt", modded([160.0] * 40)),
    ],
)
def test_each_is_recognised_and_a_torn_end_tells_less_but_nothing_else(tmp_path, name, text):
    (tmp_path / "b.log").write_text(text)
    found = recognise(LogFile(tmp_path / "b.log"), list(DIALECTS.values()))
    assert found is not None and found.dialect.name == name
    whole = measured(read(tmp_path, text, DIALECTS[name], 20))
    for kept in (0.7, 0.9, 0.99):
        torn = measured(read(tmp_path, text[: int(len(text) * kept)], DIALECTS[name], 20))
        assert 0 < len(torn) <= len(whole)
        assert torn.seconds.sum() / torn.steps.sum() == pytest.approx(whole.seconds.sum() / whole.steps.sum(), rel=0.01)
