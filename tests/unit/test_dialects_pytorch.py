"""Logs of NVIDIA's PyTorch examples and of PyTorch's own ImageNet example."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from dialect_fixture import measured, read, steps_per_second
from rackmark.dialects import ngc_pytorch, ngc_tensorflow, pytorch_examples
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.matching import Matcher
from rackmark.logs.series import Window
from shared_data import shared
from unit.pytorch_logs_fixture import bert, durations, example, example_line, resnet

OWN = {one.name: one for one in (*ngc_pytorch.DIALECTS, *pytorch_examples.DIALECTS)}
RESNET, BERT, EXAMPLES_DIALECT = OWN["ngc-pytorch"], OWN["ngc-pytorch-bert"], OWN["pytorch-examples"]


EXAMPLES = {
    "ngc-pytorch": [resnet(), resnet(to_file=True)],
    "ngc-pytorch-bert": [bert(), bert(to_file=True)],
    "pytorch-examples": [example(), example(old=True)],
}
TEXTS = [(name, text) for name, texts in EXAMPLES.items() for text in texts]
SPELLINGS = ["printed", "file", "bert printed", "bert file", "newer", "older"]


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=SPELLINGS)
def test_a_log_is_recognised_and_no_other_dialect_here_knows_its_lines(tmp_path, name, text):
    path = tmp_path / "a.log"
    path.write_text(text)
    among_all = [*(one for one in CATALOG if one.name not in OWN), *ngc_tensorflow.DIALECTS, *OWN.values()]
    recognised = recognise(LogFile(path), among_all)
    assert recognised is not None and recognised.dialect.name == name
    for other, dialect in OWN.items():
        known = Matcher([one for one in dialect.kinds if not one.name.startswith("fact")]).find(text.encode())
        assert (other == name) == bool(known)


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=SPELLINGS)
def test_a_truncated_log_tells_the_same_of_what_it_holds(tmp_path, name, text):
    whole = measured(read(tmp_path, text, OWN[name]))
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    cut = read(tmp_path, "".join(lines[:middle]) + lines[middle][:40], OWN[name])
    inside = measured(cut)
    assert 0 < len(inside) < len(whole) and not cut.faults
    for column, full in list(zip(inside.columns(), whole.columns()))[:4]:
        np.testing.assert_array_equal(column, full[: len(inside)])


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=SPELLINGS)
def test_a_last_line_torn_anywhere_is_left_out_or_read_as_it_was(tmp_path, name, text):
    lines = [one for one in text.splitlines(keepends=True) if "step_loss" in one or "Epoch: [" in one or "ips" in one]
    lines = [one for one in lines if "val." not in one and "Summary" not in one and '"step": []' not in one][-4:]
    whole = measured(read(tmp_path, "".join(lines), OWN[name]))
    last, lengths = lines.pop(), set()
    for cut in range(0, len(last), 6):
        inside = measured(read(tmp_path, "".join(lines) + last[:cut], OWN[name]))
        lengths.add(len(whole) - len(inside))
        for column, full in list(zip(inside.columns(), whole.columns()))[:4]:
            np.testing.assert_array_equal(column, full[: len(inside)])
    assert 1 in lengths and lengths <= {0, 1}


@pytest.mark.parametrize("to_file", [False, True])
def test_resnet_is_measured_between_the_lines_that_dlperf_takes(tmp_path, to_file):
    reading = read(tmp_path, resnet(to_file=to_file), RESNET, RESNET.warmup, RESNET.last)
    passed = np.cumsum(durations(130))
    assert 512 * steps_per_second(reading) == pytest.approx(512 / ((passed[119] - passed[19]) / 100), rel=1e-7)
    assert reading.facts == {"batch": 64, "world_size": 8, "model": "resnet50"}
    assert reading.stated["throughput"] == 1660.24
    assert measured(reading).loss[[0, -1]] == pytest.approx([7 - 0.021, 7 - 0.12])


@pytest.mark.parametrize("to_file", [False, True])
def test_what_lies_between_two_epochs_of_resnet_is_no_training(tmp_path, to_file):
    reading = read(tmp_path, resnet(steps=40, epochs=3, to_file=to_file, evaluation=3600.0), RESNET, 20)
    rows = measured(reading)
    taken = durations(40)
    assert steps_per_second(reading) == pytest.approx(98 / (sum(taken[20:]) + 2 * sum(taken[1:])), rel=1e-7)
    assert rows.step[-1] == 120 and not reading.faults
    assert reading.stated["accuracy"] == pytest.approx(0.72 if not to_file else 0.71)


def test_a_second_training_in_the_log_is_no_result(tmp_path):
    assert read(tmp_path, resnet(30) + resnet(30), RESNET).faults[0].state == "incomplete"
    twice = read(tmp_path, resnet(30, epochs=2) + resnet(30), RESNET)
    assert "After epoch 1 comes epoch 0" in twice.faults[0].reason


def test_a_newer_spelling_of_resnet_names_the_computing_rate_first(tmp_path):
    text = resnet().replace("train.total_ips", "train.compute_ips : 1700.25 images/s train.total_ips")
    assert read(tmp_path, text, RESNET).stated["throughput"] == 1660.24
    assert steps_per_second(read(tmp_path, text, RESNET)) == steps_per_second(read(tmp_path, resnet(), RESNET))


@pytest.mark.parametrize("to_file", [False, True])
def test_bert_is_measured_between_the_lines_that_dlperf_takes(tmp_path, to_file):
    reading = read(tmp_path, bert(to_file=to_file), BERT, BERT.warmup, BERT.last)
    passed = np.cumsum(durations(120))
    assert 48 * steps_per_second(reading) == pytest.approx(48 / ((passed[109] - passed[19]) / 90), rel=1e-7)
    assert reading.facts["batch"] == 48
    assert reading.stated == {"throughput": 943.63, "e2e_s": 61.25, "loss": 9.75}


@pytest.mark.parametrize("to_file", [False, True])
def test_a_step_of_bert_may_be_many_batches_and_steps_may_be_between_lines(tmp_path, to_file):
    reading = read(tmp_path, bert(every=10, accumulation=16, to_file=to_file), BERT, 20, 110)
    assert reading.facts["batch"] == 48 * 16
    assert steps_per_second(reading) == pytest.approx(90 / sum(durations(120)[20:110]), rel=1e-7)


@pytest.mark.parametrize("old", [False, True])
def test_the_example_sums_the_times_of_the_steps_that_dlperf_takes(tmp_path, old):
    dialect = EXAMPLES_DIALECT
    reading = read(tmp_path, example(old=old), dialect, dialect.warmup, dialect.last)
    lines = [taken for number, taken in enumerate(durations(150)) if number > 5]
    dlperf = 128 / (sum(lines[20:120]) / 100)
    assert 128 * steps_per_second(reading) == pytest.approx(dlperf, rel=1e-9)
    assert len(measured(reading)) == 100 and measured(reading).loss == pytest.approx(6.9828)
    assert reading.stated == {"accuracy": 0.705} and reading.facts == {"model": "resnet50"}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("old", [False, True])
def test_steps_without_a_line_are_in_the_mean(tmp_path, first, old):
    """Every tenth step is a fast one here, and only these have lines."""
    text = example(steps=1001, epochs=2, every=10, old=old, first=first)
    slow = [value + (0.5 if number % 10 else 0) for number, value in enumerate(durations(1001))]
    lines = []
    for epoch in range(2):
        for number in range(0, 1001, 10):
            mean = sum(slow[: number + 1]) / (number + 1)
            lines.append(example_line(epoch, number + first, 1001, slow[number], mean, 6.5, old))
    reading = read(tmp_path, "\n".join(lines) + "\n", EXAMPLES_DIALECT, 0)
    rows = measured(reading)
    assert rows.steps.sum() == 2002 and rows.step[-1] == 2002
    assert rows.seconds.sum() == pytest.approx(2 * sum(slow), rel=0.001)
    later = read(tmp_path, "\n".join(lines) + "\n", EXAMPLES_DIALECT, 101)
    assert steps_per_second(later) == pytest.approx(1901 / (sum(slow[101:]) + sum(slow)), rel=0.002)
    assert measured(read(tmp_path, text, EXAMPLES_DIALECT)).steps.sum() == 2002


def test_processes_that_write_to_one_log_count_once(tmp_path):
    ranks = [[line for line in example(60).splitlines() if line.startswith("Epoch")] for _ in range(8)]
    in_turn = "\n".join("\n".join(lines) for lines in zip(*ranks)) + "\n"
    in_blocks = "\n".join("\n".join(lines) for lines in ranks) + "\n"
    shuffled = [line for lines in ranks for line in lines]
    random.Random(5).shuffle(shuffled)
    alone = measured(read(tmp_path, example(60), EXAMPLES_DIALECT, 6))
    for text in (in_turn, in_blocks, "\n".join(shuffled) + "\n"):
        together = measured(read(tmp_path, text, EXAMPLES_DIALECT, 6))
        np.testing.assert_array_equal(together.step, alone.step)
        np.testing.assert_allclose(together.seconds, alone.seconds, rtol=1e-12)


def test_a_process_that_is_slower_is_waited_for(tmp_path):
    slow = example(60).replace("Time  0.3", "Time  0.4")
    mixed = "".join(f"{a}\n{b}\n" for a, b in zip(example(60).splitlines(), slow.splitlines()))
    times = [measured(read(tmp_path, text, EXAMPLES_DIALECT, 6)).seconds for text in (example(60), slow, mixed)]
    np.testing.assert_allclose(times[2], (times[0] + times[1]) / 2)


def test_lines_glued_together_are_all_read(tmp_path):
    lines = example(60).splitlines()
    glued = "\n".join(a + b for a, b in zip(lines[2::2], lines[3::2])) + "\n"
    assert len(measured(read(tmp_path, glued, EXAMPLES_DIALECT))) == 60


@pytest.mark.parametrize(("printed", "loss"), [(0.0345, 0.0345), (34567.0, 34567.0), (1.0001, 1.0001)])
def test_a_loss_is_read_with_its_exponent(tmp_path, printed, loss):
    assert measured(read(tmp_path, example(80, loss=printed), EXAMPLES_DIALECT)).loss == pytest.approx(loss, rel=1e-4)


@pytest.mark.parametrize("word", ["nan", "inf"])
def test_a_loss_that_is_no_number_is_broken(tmp_path, word):
    lines = example(30).splitlines()
    lines[12] = lines[12].replace("Loss 6.9828e+00", f"Loss {word}")
    series = read(tmp_path, "\n".join(lines) + "\n", EXAMPLES_DIALECT).series[None]
    assert series.broken_loss[0] == 11


def test_a_long_log_is_read_in_parts_and_a_second_training_in_it_is_seen(tmp_path):
    text = example(9000, epochs=4)
    whole = read(tmp_path, text, EXAMPLES_DIALECT, 26)
    taken = durations(9000)
    assert measured(whole).steps.sum() == 36000 - 26 and not whole.faults
    assert steps_per_second(whole) == pytest.approx((36000 - 26) / (sum(taken[26:]) + 3 * sum(taken)), rel=1e-9)
    again = read(tmp_path, text + text, EXAMPLES_DIALECT, 26)
    assert again.faults[0].state == "incomplete" and "more than one training" in again.faults[0].reason


def steady(steps: int, seconds: float) -> str:
    return "".join(f"{example_line(0, number, 5005, seconds, seconds, 6.9, False)}\n" for number in range(steps))


def test_a_block_of_steps_after_a_whole_one_is_no_other_process(tmp_path):
    reading = read(tmp_path, steady(300, 0.4) + steady(600, 0.8), EXAMPLES_DIALECT, 26)
    assert [fault.state for fault in reading.faults] == ["incomplete"]
    assert "After step 299 comes step 0" in reading.faults[0].reason


def test_a_step_has_no_more_lines_than_there_are_devices(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(steady(60, 0.4) * 2)
    of_two = EXAMPLES_DIALECT.read(LogFile(path), Window(26, None), {"nodes": 1, "devices_per_node": 2})
    assert not of_two.faults and steps_per_second(of_two) == pytest.approx(2.5)
    of_one = EXAMPLES_DIALECT.read(LogFile(path), Window(26, None), {"nodes": 1, "devices_per_node": 1})
    assert [fault.state for fault in of_one.faults] == ["incomplete"]
    assert "2 lines" in of_one.faults[0].reason


@pytest.mark.parametrize("devices", ["V100", "2xV100", "4xV100", "8xV100"])
def test_real_logs_state_the_published_rates_and_their_steps_are_faster(tmp_path, devices):
    """The published rate is what the log's summary states: a mean over all steps, with the slow first ones."""
    folder = f"{devices}/PyTorch_resnet50_AMP"
    expected = json.loads(shared("lambdal/expected_throughput.json").read_text())[folder][0]
    (log,) = shared(f"lambdal/{folder}").glob("*.txt")
    reading = read(tmp_path, log.read_bytes(), RESNET, RESNET.warmup, RESNET.last)
    assert reading.stated["throughput"] == expected
    assert not reading.faults and not reading.remarks
    count = reading.facts["world_size"]
    assert reading.facts == {"batch": 608, "world_size": int(devices[0]) if "x" in devices else 1, "model": "resnet50"}
    measured_rate = 608 * count * steps_per_second(reading)
    assert expected * 1.003 < measured_rate < expected * 1.01
    assert measured(reading).steps.sum() == 99  # of 100: the first step of the second epoch comes after a checkpoint


def test_a_real_log_over_the_steps_of_its_first_epoch(tmp_path):
    (log,) = shared("lambdal/8xV100/PyTorch_resnet50_AMP").glob("*.txt")
    reading = read(tmp_path, log.read_bytes(), RESNET, 20, 99)
    assert 4864 * steps_per_second(reading) == pytest.approx(6625.841315, rel=1e-8)
