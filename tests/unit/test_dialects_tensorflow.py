"""Logs of TensorFlow 2's official models and of NVIDIA's TensorFlow examples."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from dialect_fixture import measured, read, steps_per_second
from rackmark.dialects import keras, ngc_tensorflow, tensorflow2
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.matching import Matcher
from shared_data import shared

OWN = {one.name: one for one in (*tensorflow2.DIALECTS, *ngc_tensorflow.DIALECTS)}
STEP_LINE = re.compile("between steps|Train Step|imgs_per_sec|Iteration")
EPOCH_END = "600/600 - 247s - loss: 9.6055 - accuracy: 0.3349\n48/48 - 7s - loss: 5.1425 - accuracy: 0.9863\n"


def durations(count: int) -> list[float]:
    """Of steps: a first one that is slow, and no two neighbours alike."""
    return [7.5, *(0.25 + 0.01 * (number % 7) for number in range(1, count))]


def stamps(seconds: list[float], begin: datetime) -> list[datetime]:
    return [begin + timedelta(seconds=float(passed)) for passed in np.cumsum(seconds)]


def written(time: datetime) -> str:
    return f"I{time:%m%d %H:%M:%S.%f} 140405777909504"


def time_history(blocks: int = 6, begin: datetime = datetime(2020, 8, 26, 22, 8, 1, 520000)) -> str:
    lines = [
        f"{written(begin)} classifier_trainer.py:183] Overriding params: runtime.num_gpus=8",
        " 'model': {'loss': {'label_smoothing': 0.1,",
        " 'train_dataset': {'batch_size': 32,",
        f"{written(begin)} classifier_trainer.py:329] Global batch size: 256",
    ]
    seconds = [round(100 * each, 2) for each in durations(blocks)]
    for number, (time, taken) in enumerate(zip(stamps(seconds, begin), seconds)):
        lines.append(
            f"{written(time)} keras_utils.py:133] TimeHistory: {taken:.2f} seconds, {25600 / taken:.2f} examples/second"
            f" between steps {100 * number} and {100 * number + 100}"
        )
    return "\n".join(lines) + "\n"


RUN_STATS = (
    "{'accuracy_top_1': 0.75, 'eval_loss': 2.5, 'loss': 2.25, 'training_accuracy_top_1': 0.7, "
    "'step_timestamp_log': ['BatchTimestamp<batch_index: 0, timestamp: 1598435008.1474278>']}\n"
)


def bert_steps(steps: int = 150) -> str:
    times = stamps(durations(steps), datetime(2020, 9, 1, 23, 59, 20))
    return "".join(
        f"{written(time)} model_training_utils.py:450] Train Step: {number}/{steps}  / loss = {11 - number / 100}\n"
        for number, time in enumerate(times, 1)
    )


def dll(time: datetime) -> str:
    return f"DLL {time:%Y-%m-%d %H:%M:%S.%f} - "


def ngc_resnet(steps: int = 140) -> str:
    """The first 20 steps are not logged, and steps count from zero."""
    begin = datetime(2020, 8, 16, 10, 0, 1, 123456)
    lines = [dll(begin) + "PARAMETER arch : resnet50  mode : train  batch_size : 128  num_iter : 140  amp : False "]
    lines += [
        f"{dll(begin)}(0, {number}) imgs_per_sec : {2048 / taken:.4f}  cross_entropy : 6.97  l2_loss : 0.39"
        f"  total_loss : {7.5 - number / 1000:.4f}  learning_rate : 0.001 "
        for number, taken in enumerate(durations(steps))
        if number >= 20
    ]
    return "\n".join(lines) + "\n"


def ngc_bert(steps: int = 150, every: int = 10, rank: str = "") -> str:
    begin = datetime(2020, 8, 26, 18, 6, 39, 31755)
    of_steps = np.array(durations(steps))
    rates = {number: 384 * every / of_steps[number - every : number].sum() for number in range(every, steps + 1, every)}
    lines = [
        f"{dll(begin)}Iteration: {number}  {rank}throughput_train : {rate:.6f}"
        f" seq/s mlm_loss : 9.1234  nsp_loss : 0.6921  total_loss : {10 - number / 100:.4f}  avg_loss_step : 9.9"
        "  learning_rate : 1e-05 "
        for number, rate in rates.items()
    ]
    return "\n".join([*lines, dll(begin) + " throughput_train : 867.720 seq/s\n"])


EXAMPLES = {
    "tensorflow2": time_history() + EPOCH_END + RUN_STATS,
    "tensorflow2-bert": bert_steps(),
    "ngc-tensorflow": ngc_resnet(),
    "ngc-tensorflow-bert": ngc_bert(),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_log_is_recognised_and_no_other_dialect_here_knows_its_lines(tmp_path, name):
    path = tmp_path / "a.log"
    path.write_text(EXAMPLES[name])
    among_all = [*(one for one in CATALOG if one.name not in OWN), *keras.DIALECTS, *OWN.values()]
    recognised = recognise(LogFile(path), among_all)
    assert recognised is not None and recognised.dialect.name == name
    for other, dialect in OWN.items():
        assert (other == name) == bool(Matcher(dialect.kinds).find(EXAMPLES[name].encode()))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_truncated_log_tells_the_same_of_what_it_holds(tmp_path, name):
    dialect, text = OWN[name], EXAMPLES[name]
    whole = measured(read(tmp_path, text, dialect))
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    cut = read(tmp_path, "".join(lines[:middle]) + lines[middle][:60], dialect)
    inside = measured(cut)
    assert 0 < len(inside) < len(whole) and not cut.faults
    for column, full in zip(inside.columns(), whole.columns()):
        np.testing.assert_array_equal(column, full[: len(inside)])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_last_line_torn_anywhere_is_left_out_or_read_as_it_was(tmp_path, name):
    dialect = OWN[name]
    lines = [one for one in EXAMPLES[name].splitlines(keepends=True) if STEP_LINE.search(one)][-4:]
    whole = measured(read(tmp_path, "".join(lines), dialect))
    last, lengths = lines.pop(), set()
    for cut in range(0, len(last), 5):
        inside = measured(read(tmp_path, "".join(lines) + last[:cut], dialect))
        lengths.add(len(whole) - len(inside))
        for column, full in zip(inside.columns(), whole.columns()):
            np.testing.assert_array_equal(column, full[: len(inside)])
    assert 1 in lengths and lengths <= {0, 1}


def test_time_history_counts_the_time_at_which_lines_were_written(tmp_path):
    dialect = OWN["tensorflow2"]
    reading = read(tmp_path, EXAMPLES["tensorflow2"], dialect, dialect.warmup, dialect.last)
    taken = sum(round(100 * each, 2) for each in durations(6)[1:])
    assert steps_per_second(reading) == pytest.approx(500 / taken, rel=1e-9)


def test_time_history_says_how_the_training_was_made_and_what_came_out(tmp_path):
    reading = read(tmp_path, EXAMPLES["tensorflow2"], OWN["tensorflow2"])
    assert reading.facts == {"global_batch": 256, "devices_per_node": 8, "nodes": 1}
    assert reading.stated == {"accuracy": 0.75, "loss": 2.25}


def test_two_workers_are_two_nodes(tmp_path):
    workers = (
        "INFO:tensorflow:MultiWorkerMirroredStrategy with task_id = 0, num_workers = 2, local_devices = ('/job')\n"
    )
    reading = read(tmp_path, workers + time_history(), OWN["tensorflow2"])
    assert reading.facts["nodes"] == 2


def test_time_history_over_midnight(tmp_path):
    text = time_history(begin=datetime(2020, 8, 26, 23, 46, 40))
    before = steps_per_second(read(tmp_path, time_history(), OWN["tensorflow2"], 100))
    assert steps_per_second(read(tmp_path, text, OWN["tensorflow2"], 100)) == pytest.approx(before, rel=1e-9)


def test_bert_is_measured_between_the_lines_that_dlperf_takes(tmp_path):
    dialect = OWN["tensorflow2-bert"]
    reading = read(tmp_path, EXAMPLES["tensorflow2-bert"], dialect, dialect.warmup, dialect.last)
    times = stamps(durations(150), datetime(2020, 9, 1, 23, 59, 20))
    dlperf = 64 / ((times[119] - times[19]).total_seconds() / 100)
    assert 64 * steps_per_second(reading) == pytest.approx(dlperf, rel=1e-9)
    assert measured(reading).loss[[0, -1]].tolist() == [11 - 0.21, 11 - 1.2]


def test_bert_may_take_many_steps_between_lines(tmp_path):
    lines = EXAMPLES["tensorflow2-bert"].splitlines(keepends=True)[9::10]
    reading = read(tmp_path, "".join(lines), OWN["tensorflow2-bert"], 20, 120)
    assert steps_per_second(reading) == pytest.approx(100 / sum(durations(150)[20:120]), rel=1e-9)


def test_bert_states_the_loss_of_its_summary_and_a_loss_that_is_no_number_is_broken(tmp_path):
    summary = "Training Summary: \n{'total_training_steps': 150, 'train_loss': 9.125}\n"
    reading = read(tmp_path, bert_steps() + summary, OWN["tensorflow2-bert"])
    assert reading.stated == {"loss": 9.125}
    broken = read(tmp_path, bert_steps().replace("loss = 10.5\n", "loss = nan\n"), OWN["tensorflow2-bert"])
    assert broken.series[None].broken_loss[0] == 50


def test_resnet_divides_the_steps_of_the_window_by_the_time_they_took(tmp_path):
    dialect = OWN["ngc-tensorflow"]
    reading = read(tmp_path, EXAMPLES["ngc-tensorflow"], dialect, dialect.warmup, dialect.last)
    taken = np.array(durations(140)[20:120])
    assert len(measured(reading)) == 100
    assert steps_per_second(reading) == pytest.approx(2048 * 100 / taken.sum(), rel=1e-6)
    assert steps_per_second(reading) < np.mean(2048 / taken)  # the mean of the rates, which DLPerf takes
    assert reading.facts == {"batch": 128}
    assert dialect.gives_rate


@pytest.mark.parametrize("rank", ["", "Rank : 0  "])
def test_ngc_bert_counts_what_a_step_trained_on(tmp_path, rank):
    dialect = OWN["ngc-tensorflow-bert"]
    reading = read(tmp_path, ngc_bert(rank=rank), dialect, dialect.warmup, dialect.last)
    assert steps_per_second(reading) == pytest.approx(384 * 100 / sum(durations(150)[20:120]), rel=1e-6)
    assert reading.stated == {"throughput": 867.72}
    assert measured(reading).loss[-1] == pytest.approx(8.8)


def history(blocks: list[tuple[int, float, float]]) -> str:
    """Of blocks of 100 steps: the last step, when its line was written, and the seconds that the line names."""
    begin = datetime(2020, 8, 26, 10, 0)
    return "".join(
        f"{written(begin + timedelta(seconds=at))} keras_utils.py:133] TimeHistory: {seconds:.2f} seconds,"
        f" {12800 / seconds:.2f} examples/second between steps {step - 100} and {step}\n"
        for step, at, seconds in blocks
    )


def steady(first: int, last: int, begin: float = 0.0, seconds: float = 38.0) -> list[tuple[int, float, float]]:
    return [(step, begin + seconds * (step - first) / 100, seconds) for step in range(first, last + 1, 100)]


SHIFTED = {
    "resumed after an hour": steady(100, 600) + steady(700, 1200, 5 * 38.0 + 3600),
    "clock put forward": steady(100, 600) + steady(700, 1200, 6 * 38.0 + 3600),
    "clock set back within an interval": steady(100, 600) + steady(700, 1200, 6 * 38.0 - 30),
    "only two intervals": steady(100, 200) + steady(300, 300, 2 * 38.0 + 3600),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_an_interval_that_took_another_time_than_its_line_names_is_left_out(tmp_path, name):
    reading = read(tmp_path, history(SHIFTED[name]), OWN["tensorflow2"], 100)
    assert steps_per_second(reading) == pytest.approx(100 / 38.0, rel=1e-9)
    (remark,) = reading.remarks
    assert f"before step {300 if 'two' in name else 700} is left out" in remark and "38" in remark
    assert not reading.faults


def test_what_a_line_names_is_of_its_own_steps_where_lines_are_lost(tmp_path):
    lines = steady(100, 1200)
    del lines[5:7]
    reading = read(tmp_path, history(lines), OWN["tensorflow2"], 100)
    assert measured(reading).steps.sum() == 1100 and not reading.remarks


def test_lines_of_two_workers_count_once(tmp_path):
    twins = [line for step, at, seconds in steady(100, 1200) for line in ((step, at, seconds), (step, at + 3, seconds))]
    reading = read(tmp_path, history(twins), OWN["tensorflow2"], 100)
    assert measured(reading).steps.sum() == 1100
    assert steps_per_second(reading) == pytest.approx(100 / 38.0, rel=1e-9)


@pytest.mark.parametrize("between", ["", " "])
def test_a_line_that_is_glued_to_another_has_a_time_of_its_own(tmp_path, between):
    lines = history(steady(100, 1200)).splitlines(keepends=True)
    for at in (5, 10):
        glued = "".join(lines[:at]) + lines[at].rstrip() + between + "".join(lines[at + 1 :])
        reading = read(tmp_path, glued, OWN["tensorflow2"], 100)
        assert measured(reading).steps.sum() == 1100
        assert steps_per_second(reading) == pytest.approx(100 / 38.0, rel=1e-9)


@pytest.mark.parametrize("kept", [12, 60])
def test_a_torn_line_lends_its_time_to_no_other(tmp_path, kept):
    lines = history(steady(100, 1200)).splitlines(keepends=True)
    reading = read(tmp_path, "".join(lines[:5]) + lines[5][:kept] + "".join(lines[6:]), OWN["tensorflow2"], 100)
    assert measured(reading).steps.sum() == 1100
    assert steps_per_second(reading) == pytest.approx(100 / 38.0, rel=1e-9)


def test_a_real_log_of_two_nodes(tmp_path):
    log = shared("dlperf/tensorflow_resnet50_fp32_b128/logs/tensorflow/resnet50/2n8g/rn50_b128_fp32_1.log")
    dialect = OWN["tensorflow2"]
    recognised = recognise(LogFile(log), [*tensorflow2.DIALECTS, *keras.DIALECTS])
    assert recognised is not None and recognised.dialect is dialect
    reading = read(tmp_path, log.read_bytes(), dialect, 100, 600)
    assert reading.facts == {"global_batch": 2048, "devices_per_node": 8, "nodes": 2}
    assert reading.stated == {"accuracy": 0.5048014521598816, "loss": 6.033186912536621}
    assert 2048 * steps_per_second(reading) == pytest.approx(2048 * 500 / 210.55872, rel=1e-9)
