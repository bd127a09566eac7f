"""Logs of Keras' progress lines, of every version's spelling, and of Horovod's synthetic benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from dialect_fixture import measured, read, steps_per_second
from rackmark.dialects import keras, tensorflow2
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.matching import Matcher
from rackmark.logs.series import Window

OWN = {one.name: one for one in keras.DIALECTS}
KERAS, HOROVOD = OWN["keras"], OWN["horovod-benchmark"]
STEPS = 600
SECONDS = (251, 239, 240)  # of the epochs, the first with what has to be built


def losses(epoch: int, newest: bool = False) -> str:
    values = [f" - loss: {10.5 - epoch:.4f}", f" - accuracy: {0.1 + epoch / 10:.4f}"]
    return "".join(reversed(values) if newest else values)


def spelling(name: str, epoch: int, seconds: int, evaluated: bool = False) -> str:
    """What Keras writes from the headline of an epoch to its end."""
    each = f"{1000 * seconds / STEPS:.0f}ms/step"
    evaluation = " - val_loss: 9.1234 - val_accuracy: 0.4321" if evaluated else ""
    head = f"Epoch {epoch + 1}/{len(SECONDS)}\n"
    if name == "bar":
        shown = [f"{done:3d}/{STEPS} [{'=' * (done // 20)}>{'.' * 9}] - ETA: 1:0{done % 7}" for done in (1, 100, 500)]
        running = "".join("\b" * 90 + "\r" + one + losses(epoch) for one in shown)
        return f"{head}{running}\b\b\b\r{STEPS}/{STEPS} [{'=' * 30}] - {seconds}s {each}{losses(epoch)}{evaluation}\n"
    if name == "bar in a file":
        shown = [f"\n{done:3d}/{STEPS} [{'=' * (done // 20)}>{'.' * 9}] - ETA: {done}s" for done in (1, 100, 500)]
        whole = f"\n{STEPS}/{STEPS} [{'=' * 30}]"
        running = "".join(one + losses(epoch) for one in [*shown, f"{whole} - ETA: 0s"])
        return f"{head}{running}{whole} - {seconds}s {each}{losses(epoch)}{evaluation}\n"
    if name == "newest bar":
        line = "\x1b[1m{done:3d}/600\x1b[0m \x1b[32m{bar}\x1b[0m\x1b[37m{rest}\x1b[0m \x1b[1m{time}\x1b[0m {each}"
        shown = [
            line.format(done=done, bar="━" * (done // 30), rest="━" * (20 - done // 30), time=time, each=each)
            for done, time in ((1, "4:01"), (500, "45s"), (STEPS, f"{seconds}s"))
        ]
        return head + "".join(f"{one}{losses(epoch, newest=True)}\n" for one in shown)
    middle = {"line": "", "newest line": f" - {each}"}[name]
    ending = evaluation + (f" - {seconds}s/epoch - {each}" if name == "line" and epoch else "")
    return f"{head}{STEPS}/{STEPS} - {seconds}s{middle}{losses(epoch, newest=bool(middle))}{ending}\n"


def training(name: str, evaluated: bool = False) -> str:
    epochs = "".join(spelling(name, epoch, seconds, evaluated) for epoch, seconds in enumerate(SECONDS))
    return "2020-08-26 20:52:00.992174: I tensorflow/stream_executor/dso_loader.cc:48] Opened libcuda.so.1\n" + epochs


def benchmark(devices: int = 8, iterations: int = 10) -> str:
    rates = [235.0 + number % 3 for number in range(iterations)]
    lines = [
        "Model: resnet50",
        "Batch size: 32",
        f"Number of GPUs: {devices}",
        "Running warmup...",
        "Running benchmark...",
    ]
    lines += [f"Iter #{number}: {rate:.1f} img/sec per GPU" for number, rate in enumerate(rates)]
    mean = sum(rates) / len(rates)
    lines += [f"Img/sec per GPU: {mean:.1f} +-1.6", f"Total img/sec on {devices} GPU(s): {devices * mean:.1f} +-12.1"]
    return "\n".join(lines) + "\n"


SPELLINGS = ["bar", "bar in a file", "newest bar", "line", "newest line"]
TEXTS = [*(("keras", training(name)) for name in SPELLINGS), ("horovod-benchmark", benchmark())]


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=[*SPELLINGS, "benchmark"])
def test_a_log_is_recognised_and_no_other_dialect_here_knows_its_lines(tmp_path, name, text):
    path = tmp_path / "a.log"
    path.write_text(text)
    among_all = [*(one for one in CATALOG if one.name not in OWN), *OWN.values()]
    recognised = recognise(LogFile(path), among_all)
    assert recognised is not None and recognised.dialect.name == name
    other = next(dialect for dialect in OWN.values() if dialect.name != name)
    assert not Matcher([one for one in other.kinds if not one.name.startswith("fact")]).find(text.encode())


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_first_epoch_is_warm_up_and_the_others_count(tmp_path, name):
    reading = read(tmp_path, training(name), KERAS, KERAS.warmup)
    rows = measured(reading)
    assert rows.steps.tolist() == [600, 600] and rows.step.tolist() == [1200, 1800]
    assert steps_per_second(reading) == pytest.approx(1200 / (239 + 240), rel=0.002)
    assert reading.series[None].rows.loss.tolist() == [10.5, 9.5, 8.5]
    assert reading.stated["loss"] == 8.5 and not reading.faults and not reading.remarks


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_epoch_that_is_cut_off_is_left_out(tmp_path, name):
    text = training(name)
    last = text.rindex("Epoch 3/3")
    for end in range(last, text.index("240s", last), 7):
        rows = measured(read(tmp_path, text[:end], KERAS))
        assert rows.step.tolist() == [600, 1200] and rows.loss.tolist() == [10.5, 9.5]


def test_seconds_of_a_step_count_where_they_are_finer(tmp_path):
    coarse = "Epoch 1/1\n600/600 [==============================] - 4s 3ms/step - loss: 1.0\n"
    assert measured(read(tmp_path, coarse, KERAS)).seconds.tolist() == [4]
    short = "Epoch 1/1\n600/600 - 0s - loss: 1.0 - accuracy: 0.5 - 442ms/epoch - 737us/step\n"
    assert measured(read(tmp_path, short, KERAS)).seconds == pytest.approx([0.4422])
    long = "Epoch 1/1\n90/90 [==============================] - 134s 1s/step - loss: 1.0\n"
    assert measured(read(tmp_path, long, KERAS)).seconds.tolist() == [134]


def test_an_epoch_with_its_evaluation_says_so(tmp_path):
    reading = read(tmp_path, training("bar", evaluated=True), KERAS, KERAS.warmup)
    assert "hold their evaluation" in reading.remarks[0]
    assert reading.stated["accuracy"] == 0.4321


def test_the_newest_bar_tells_the_time_before_the_evaluation(tmp_path):
    bar = "━" * 20
    lines = [
        "Epoch 1/2",
        f"600/600 {bar} 0s 398ms/step - accuracy: 0.1 - loss: 2.0",
        f"600/600 {bar} 299s 498ms/step - accuracy: 0.1 - loss: 2.0 - val_accuracy: 0.25 - val_loss: 1.5",
        "Epoch 2/2",
        f"600/600 {bar} 0s 400ms/step - accuracy: 0.1 - loss: 1.0",
        f"600/600 {bar} 300s 500ms/step - accuracy: 0.1 - loss: 1.0 - val_accuracy: 0.5 - val_loss: 1.5",
    ]
    reading = read(tmp_path, "\n".join(lines) + "\n", KERAS)
    assert measured(reading).seconds == pytest.approx([238.8, 240.0])
    assert reading.stated == {"accuracy": 0.5, "loss": 1.0} and not reading.remarks


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_evaluation_is_no_training(tmp_path, name):
    evaluation = "48/48 - 7s - loss: 5.1425 - accuracy: 0.9863\n"
    before_and_after = evaluation + training(name) + evaluation
    reading = read(tmp_path, before_and_after, KERAS)
    assert measured(reading).step.tolist() == [600, 1200, 1800]
    assert reading.stated == {"accuracy": 0.9863, "loss": 8.5}


@pytest.mark.parametrize(
    "training", ["600/600 - 247s - loss: 9.6055 - val_loss: 9.1\n", "Epoch 1/1\n600/600 - 247s - loss: 9.6055\n"]
)
def test_a_single_epoch_is_told_from_an_evaluation(tmp_path, training):
    reading = read(tmp_path, training + "48/48 - 7s - loss: 5.1425 - accuracy: 0.9863\n", KERAS)
    assert measured(reading).seconds.tolist() == [247]
    assert reading.stated == {"accuracy": 0.9863, "loss": 9.6055}


def test_what_may_be_an_evaluation_is_no_training(tmp_path):
    reading = read(tmp_path, "600/600 - 247s - loss: 9.6055\n48/48 - 7s - loss: 5.1425\n", KERAS)
    assert reading.series[None].rows.seconds.tolist() == []
    assert [fault.state for fault in reading.faults] == ["no_data"]
    assert "may be evaluations" in reading.faults[0].reason


def test_bars_without_a_loss_are_of_no_training(tmp_path):
    """PaddleSeg draws such a bar while it evaluates."""
    bars = "".join(f"Epoch {k}/3\n76/76 [{'=' * 30}] - 4s 53ms/step - batch_cost: 0.0530 - reader cost: 8.6e-05\n"
                   for k in (1, 2, 3))  # fmt: skip
    reading = read(tmp_path, bars, KERAS)
    assert sum(map(len, reading.series.values())) == 0


def test_samples_are_counted_where_keras_counts_them(tmp_path):
    lines = ["Train on 60000 samples, validate on 10000 samples"]
    for epoch in range(2):
        lines += [f"Epoch {epoch + 1}/2", f"60000/60000 [{'=' * 30}] - {4 - epoch}s 68us/sample - loss: 0.3"]
    reading = read(tmp_path, "\n".join(lines) + "\n", KERAS)
    rows = measured(reading)
    assert rows.samples.tolist() == [60000, 60000] and rows.seconds == pytest.approx([4.08, 4.08])
    assert "counts samples" in reading.remarks[0]


@pytest.mark.parametrize(
    ("of_path", "states"),
    [
        ({}, []),
        ({"world_size": 1}, []),
        ({"nodes": 1, "devices_per_node": 1}, []),
        ({"nodes": 1, "devices_per_node": 8}, ["no_data"]),
        ({"world_size": 8}, ["no_data"]),
    ],
)
def test_samples_of_one_process_of_maybe_many_are_no_result(tmp_path, of_path, states):
    path = tmp_path / "a.log"
    path.write_text(f"Train on 60000 samples\nEpoch 1/1\n60000/60000 [{'=' * 30}] - 4s 68us/sample - loss: 0.3\n")
    reading = KERAS.read(LogFile(path), Window(0, None), of_path)
    assert [fault.state for fault in reading.faults] == states
    assert all("8 devices" in fault.reason for fault in reading.faults)
    path.write_text(training("bar"))
    assert not KERAS.read(LogFile(path), Window(0, None), of_path).faults


@pytest.mark.parametrize("name", SPELLINGS)
def test_epochs_that_do_not_go_on_are_more_than_one_training(tmp_path, name):
    reading = read(tmp_path, training(name) + training(name), KERAS)
    assert [fault.state for fault in reading.faults] == ["incomplete"]
    assert "After epoch 3 comes epoch 1" in reading.faults[0].reason
    again = spelling(name, 0, 251)
    assert [fault.state for fault in read(tmp_path, again + again, KERAS).faults] == ["incomplete"]
    resumed = spelling(name, 1, 251) + spelling(name, 2, 240)
    assert not read(tmp_path, resumed, KERAS).faults


def test_a_loss_that_is_no_number_is_broken(tmp_path):
    text = training("line").replace("loss: 9.5000", "loss: nan")
    assert read(tmp_path, text, KERAS).series[None].broken_loss == (1200, np.inf)


def test_a_log_of_tensorflow_2_with_a_line_of_keras_is_none_of_keras(tmp_path):
    history = "".join(
        f"I0826 20:5{number}:05.059293 14 keras_utils.py:133] TimeHistory: 42.28 seconds, 4844.42 examples/second"
        f" between steps {number}00 and {number + 1}00\n"
        for number in range(6)
    )
    path = tmp_path / "a.log"
    path.write_text(
        history + "600/600 - 254s - loss: 6.0332 - accuracy: 0.7849\n24/24 - 3s - loss: 6.1 - accuracy: 0.5\n"
    )
    recognised = recognise(LogFile(path), [*tensorflow2.DIALECTS, *keras.DIALECTS])
    assert recognised is not None and recognised.dialect.name == "tensorflow2"


def test_the_rates_of_the_benchmark_are_of_one_device(tmp_path):
    reading = read(tmp_path, benchmark(), HOROVOD, HOROVOD.warmup, HOROVOD.last)
    rates = [235.0 + number % 3 for number in range(10)]
    assert HOROVOD.gives_rate
    assert steps_per_second(reading) == pytest.approx(8 * 10 / sum(1 / rate for rate in rates), rel=1e-12)
    assert reading.facts == {"batch": 32, "world_size": 8, "model": "resnet50"}
    assert reading.stated == {"throughput": pytest.approx(8 * sum(rates) / 10, abs=0.05)}


def test_a_truncated_benchmark_has_the_iterations_it_holds(tmp_path):
    text = benchmark()
    reading = read(tmp_path, text[: text.index("Iter #6") + 12], HOROVOD)
    assert measured(reading).step.tolist() == [1, 2, 3, 4, 5, 6]
    assert steps_per_second(reading) == pytest.approx(8 * 6 / sum(1 / (235 + number % 3) for number in range(6)))


def test_without_its_head_the_benchmark_has_what_it_states(tmp_path):
    text = benchmark()
    reading = read(tmp_path, text[text.index("Iter #0") :], HOROVOD)
    assert not reading.series and reading.facts["world_size"] == 8
    assert reading.stated["throughput"] == pytest.approx(1887.2, abs=0.1)
    assert "10 lines are left out" in reading.remarks[0]


def test_mpirun_names_the_rank_before_the_lines_of_the_benchmark(tmp_path):
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in benchmark().splitlines())
    assert steps_per_second(read(tmp_path, tagged, HOROVOD), 0) == steps_per_second(
        read(tmp_path, benchmark(), HOROVOD)
    )
