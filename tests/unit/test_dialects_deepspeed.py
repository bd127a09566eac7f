"""DeepSpeed's timer and Megatron-LM's lines."""

from __future__ import annotations

import pytest
from dialect_fixture import measured, read, steps_per_second
from framework_logs import DIALECTS, deepspeed_steps, lines, megatron
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile


@pytest.mark.parametrize(("name", "newer"), [("deepspeed-0.3", False), ("deepspeed", True)])
@pytest.mark.parametrize("host", ["", "vs002: "])
def test_deepspeed_counts_by_the_time_of_its_lines(tmp_path, name, newer, host):
    """The average since the begin, of which DLPerf takes the mean, would still hold the slow steps."""
    text = deepspeed_steps([1.0] * 100 + [0.25] * 50 + [0.5] * 50, host, newer)
    reading = read(tmp_path, text, DIALECTS[name], 100, 200)
    assert steps_per_second(reading) == pytest.approx(100 / 37.5)
    assert reading.faults == []


def test_memory_lines_of_the_timer_are_no_steps_of_their_own(tmp_path):
    text = lines(
        line if number % 2 else f"{line}\n{line.split('SamplesPerSec')[0]}vm percent: 12.0, swap percent: 0.0"
        for number, line in enumerate(deepspeed_steps([0.5] * 50).splitlines())
    )
    assert steps_per_second(read(tmp_path, text, DIALECTS["deepspeed-0.3"])) == pytest.approx(2)


def test_megatron_names_the_mean_of_its_iterations_and_their_samples(tmp_path):
    reading = read(tmp_path, megatron([900.0, 900.0] + [200.0, 300.0] * 5), DIALECTS["megatron"], 20)
    inside = measured(reading)
    assert inside.samples.sum() / inside.seconds.sum() == pytest.approx(32 / 0.25)
    assert inside.loss[0] == pytest.approx(9.729805)


def test_a_batch_that_grows_counts_where_it_is_used(tmp_path):
    grown = megatron([250.0] * 4, batch=64).replace("samples:         ", "samples: 9999999")
    for old, new in ((10, 50), (20, 60), (30, 70), (40, 80)):
        grown = grown.replace(f"iteration {old:8d}/", f"iteration {new:8d}/")
    inside = measured(read(tmp_path, megatron([250.0] * 4) + grown, DIALECTS["megatron"]))
    assert inside.samples.tolist() == [320] * 4 + [640] * 4


def test_a_line_that_lost_its_end_keeps_the_batch_and_has_no_loss(tmp_path):
    text = megatron([250.0] * 5)
    cut = text[: text.rindex("learning rate")]
    reading = read(tmp_path, cut, DIALECTS["megatron"])
    inside = measured(reading)
    assert inside.samples.tolist() == [320] * 5
    assert inside.loss[:4].tolist() == pytest.approx([9.729805] * 4) and not inside.loss[4] < 10
    assert reading.series[None].broken_loss is None


def test_megatron_leaves_the_loss_out_while_it_skips_iterations(tmp_path):
    skipping, after = megatron([250.0] * 2, loss=""), megatron([250.0] * 4).split("\n", 2)[2]
    reading = read(tmp_path, skipping + after, DIALECTS["megatron"])
    assert len(measured(reading)) == 4
    assert reading.series[None].broken_loss is None


def test_a_megatron_loss_that_is_no_number_is_seen(tmp_path):
    reading = read(tmp_path, megatron([250.0] * 2, loss=" lm loss: NAN |"), DIALECTS["megatron"])
    assert reading.series[None].broken_loss is not None and reading.series[None].broken_loss[0] == 10


def test_older_megatron_names_no_batch(tmp_path):
    text = megatron([250.0] * 4).replace(" global batch size:    32 |", "")
    inside = measured(read(tmp_path, text, DIALECTS["megatron"]))
    assert inside.samples.tolist() == pytest.approx([float("nan")] * 4, nan_ok=True)
    assert inside.seconds.tolist() == [2.5] * 4


def test_where_both_write_the_lines_of_megatron_are_read(tmp_path):
    both = zip(deepspeed_steps([0.25] * 30, newer=True).splitlines(), megatron([250.0] * 28).splitlines())
    path = tmp_path / "a.log"
    path.write_text(lines(line for pair in both for line in pair))
    recognised = recognise(LogFile(path), list(DIALECTS.values()))
    assert recognised is not None and recognised.dialect.name == "megatron"
