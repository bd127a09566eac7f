from __future__ import annotations

import random

import pytest
from rackmark.aiperf.score import Epoch
from rackmark.aiperf.trial_log import read_trial_log, stamp_seconds
from unit.aiperf_fixture import device_epochs, end_of_training, keras_epochs, seconds, stamp


@pytest.fixture
def read(tmp_path):
    def read(log):
        path = tmp_path / "trial.log"
        path.write_bytes(log if isinstance(log, bytes) else log.encode())
        return read_trial_log(path)

    return read


def epochs(*accuracies, begin=0):
    """Of ten minutes each."""
    return [Epoch(number, seconds(begin + 10 * number), each) for number, each in enumerate(accuracies, start=1)]


def test_keras(read):
    """From before midnight to after it."""
    found = read(keras_epochs([0.1, 0.25, 0.31, 0.4]))
    assert found.trainings == {0: epochs(0.1, 0.25, 0.31, 0.4)}
    assert found.problems == []


def test_the_older_name_and_a_time_that_stands_on_the_line_before(read):
    log = f"{stamp(0)}Epoch 1/60\n{stamp(10)}\n312/312 [====] - val_loss: 3.2 - val_acc: 2.5e-01\n"
    assert read(log).trainings == {0: epochs(0.25)}


def test_colours_and_windows_line_ends(read):
    log = keras_epochs([0.1, 0.2]).replace("\n", "\r\n").replace("Epoch", "\x1b[1mEpoch\x1b[0m".removesuffix("\x1b[0m"))
    assert read(log).trainings == {0: epochs(0.1, 0.2)}


@pytest.mark.parametrize(
    ("clock", "hour"),
    [
        ("12:00:00 AM", 0),
        ("12:59:59 AM", 0),
        ("01:00:00 AM", 1),
        ("11:59:59 AM", 11),
        ("12:00:00 PM", 12),
        ("1:00:00 PM", 13),
    ],
)
def test_noon_and_midnight(read, clock, hour):
    (epoch,) = read(f"[11/19/2026, {clock}] PRINT Epoch 1/60\n - val_acc: 0.5\n").trainings[0]
    minutes = clock[clock.index(":") : -3]
    assert epoch.ended == stamp_seconds(f"11/19/2026, {hour:02d}{minutes}")


def test_several_devices_count_as_one_with_the_mean_accuracy_and_the_latest_end(read):
    found = read(device_epochs([0.3, 0.5], devices=3))
    assert [epoch.accuracy for epoch in found.trainings[0]] == pytest.approx([0.31, 0.51])
    assert [epoch.ended for epoch in found.trainings[0]] == [seconds(10) + 2, seconds(20) + 2]
    assert found.problems == []


def test_the_order_of_the_devices_does_not_matter(read):
    lines = device_epochs([0.3], devices=8).splitlines(keepends=True)
    expected = read("".join(lines)).trainings
    random.Random(3).shuffle(lines)
    assert read("".join(lines)).trainings == expected


@pytest.mark.parametrize("write", [keras_epochs, lambda accuracies, begin: device_epochs(accuracies, 1, begin)])
def test_trainings_with_other_hyperparameters(read, write):
    log = (
        write([0.1, 0.2], begin=0) + end_of_training(0, 21, 0.2) + write([0.3], begin=30) + end_of_training(1, 41, 0.3)
    )
    assert read(log + write([0.4], begin=50)).trainings == {
        0: epochs(0.1, 0.2),
        1: epochs(0.3, begin=30),
        2: epochs(0.4, begin=50),
    }


def test_a_training_that_left_no_epoch_does_not_shift_those_behind_it(read):
    log = keras_epochs([0.1]) + end_of_training(0, 11, 0.1) + end_of_training(1, 12, 0) + keras_epochs([0.3], begin=30)
    found = read(log)
    assert found.trainings == {0: epochs(0.1), 1: [], 2: epochs(0.3, begin=30)}
    assert found.problems == ["Training 1: it has no epoch."]


def test_keras_begins_anew_without_a_line_between(read):
    assert read(keras_epochs([0.1, 0.2]) + keras_epochs([0.3], begin=30)).trainings[1] == epochs(0.3, begin=30)


def test_a_log_that_is_cut_off_anywhere_gives_no_wrong_number(read):
    for log in (keras_epochs([0.1234, 0.25, 0.5]), device_epochs([0.1234, 0.25, 0.5], devices=2)):
        whole = read(log).trainings[0]
        for end in range(0, len(log), 7):
            found = read(log[:end])
            assert all(part == whole[: len(part)] for part in found.trainings.values())


def test_a_log_without_any_time_says_so(read):
    found = read("Epoch 1/60\n - val_acc: 0.5\n")
    assert (found.trainings, found.problems) == ({0: []}, ["Training 0: epoch 1 has no time."])


def test_a_device_that_is_missing_in_the_middle_is_named(read):
    lines = device_epochs([0.3, 0.4, 0.5], devices=2).splitlines(keepends=True)
    gone = next(line for line in lines if "[Device 1] Epoch 2/60, EvalAcc" in line)
    found = read("".join(line for line in lines if line != gone))
    assert [epoch.number for epoch in found.trainings[0]] == [1, 3]
    assert found.problems == ["Training 0: epoch 2 has no accuracy of device 1."]


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        (keras_epochs([0.1, "nan", 0.3]), "An accuracy is nan: it has to be from 0 to 1."),
        (keras_epochs([0.1, "1.5", 0.3]), "An accuracy is 1.5: it has to be from 0 to 1."),
        (keras_epochs([0.1, "<b>0.9</b>", 0.3]), "Training 0: epoch 2 has no accuracy."),
        (device_epochs([0.1, float("inf"), 0.3], 1), "An accuracy is inf: it has to be from 0 to 1."),
    ],
)
def test_an_accuracy_that_is_none_is_named_and_left_out(read, log, problem):
    found = read(log)
    assert [epoch.number for epoch in found.trainings[0]] == [1, 3]
    assert problem in found.problems


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        ("Epoch 1/60\n - val_acc: 0.5\n", "Training 7: epoch 1 has no time."),
        (f"{stamp(0)}Epoch 61/60\n - val_acc: 0.5\n", "There is no epoch 61 of 60."),
        (f"{stamp(0)} - val_acc: 0.5\n", "An accuracy stands before any epoch."),
        (f"{stamp(10)}Epoch 1/9\n - val_acc: 0.5\n{stamp(5)}Epoch 2/9\n - val_acc: 0.6\n", "the clock was set back."),
        (keras_epochs([0.1]) + end_of_training(0, 11, 0.1) * 2, "The line of HPO-0 is there more than once."),
        ("[13/40/2026, 10:00:00 AM] PRINT Epoch 1/60\n - val_acc: 0.5\n" + end_of_training(0, 1, 0.5), "has no time."),
        ("[11/18/2026, 13:00:00 PM] PRINT Epoch 1/60\n - val_acc: 0.5\n" + end_of_training(0, 1, 0.5), "has no time."),
    ],
)
def test_what_cannot_be_is_named(read, log, problem):
    assert any(problem in found for found in read(log + end_of_training(7, 99, 0)).problems)


def test_a_hostile_log_is_read_in_bounded_time(read):
    junk = b"[Device 0] Epoch 1/60, EvalAcc:" * 9000 + b"val_acc: " * 9000 + b"] PRINT" * 9000 + b"Epoch 1/1\n" * 9000
    found = read(junk + b"\x00\xff\xfe" * 9000 + b"HPO-0" * 2000)
    assert not any(found.trainings.values())
    assert len(found.problems) <= 21
