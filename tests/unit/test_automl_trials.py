"""What trials of a search are asked for, the files they leave, how processes are forked for them: without a network."""

from __future__ import annotations

import errno
import json
import os
import signal
import struct
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from rackmark.aiperf.trial_log import read_trial_log
from rackmark.automl.history import append

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/common"))
sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/automl"))
import room
from accuracy_prediction import predicted
from example_record import BadRecordError, image_and_label
from experiment import begin_attempt, counted
from experiment_files import TrialFiles
from forked import Group, how_it_ended
from lab.automl_pictures import example
from outcome import UsageError
from parameters import parameters_of

NOON = datetime(2026, 11, 18, 11, 59, 58, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize(
    ("patience", "expected"), [("10", [10, 10, 10]), (10, [10, 10, 10]), ("6+2r", [6, 8, 20]), ("12+2r", [12, 14, 20])]
)
def test_patience_grows_with_the_rounds_up_to_twenty(patience, expected):
    parameters = parameters_of({"patience": patience})
    assert [parameters.patience_in(number) for number in (0, 1, 50)] == expected


def test_rounds_have_epochs_and_trainings_of_their_own_and_a_falling_rate():
    parameters = parameters_of(
        {"warmup_1": 1, "warmup_2": 2, "warmup_3": 3, "epochs": 4, "initial_lr": 0.5, "final_lr": 0.1}
    )
    assert [parameters.epochs_in(number) for number in range(6)] == [1, 2, 3, 4, 4, 4]
    assert [parameters.trainings_in(number) for number in range(5)] == [1, 1, 1, 2, 2]
    assert [parameters.learning_rate(epoch, 4) for epoch in range(4)] == pytest.approx([0.5, 0.4, 0.3, 0.2])


def test_batches_are_per_gigabyte_unless_they_are_absolute():
    assert parameters_of({"batch_size": [12, 14]}).space(31.7).batch_size == (380, 444)
    assert parameters_of({"batch_size": [48, 96], "batch_size_absolute": True}).space(32).batch_size == (48, 96)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epoch": 3}, "the settings have epoch, unknown here: known are batch_size, "),
        ({"epochs": 0}, "the setting epochs is 0: give a whole number of at least 1"),
        ({"patience": "6+r"}, "the setting patience is '6+r': give a number of epochs as in 10, or as in 6+2r"),
        ({"kernel_size": [3, 4]}, "the setting kernel_size is [3, 4]: give a list of odd numbers from 3 to 15"),
        ({"dropout_rate": [0.2, 0]}, "the setting dropout_rate is [0.2, 0]: give [least, most], from 0 to 0.99"),
        ({"max_growth": True}, "the setting max_growth is True: give a number of at least 1"),
        ({"maxTPEsearchNum": 31}, "the setting maxTPEsearchNum is 31: give a whole number from 1 to 30"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_a_sentence(settings, sentence):
    with pytest.raises(UsageError) as refused:
        parameters_of(settings)
    assert str(refused.value).startswith(sentence)


def test_operations_are_chosen_by_aiperfs_name_or_their_own():
    every = ("deeper", "wider", "skip_add", "skip_concat", "kernel")

    def chosen(operations):
        return parameters_of({"operations": operations}).chosen_operations(every)

    assert (chosen("all"), chosen("aiperf")) == (every, ("deeper", "wider", "skip_add"))
    assert chosen("kernel,wider") == chosen(["kernel", "wider"]) == ("kernel", "wider")
    with pytest.raises(UsageError, match=r"operations has \['widen'\]: give all, aiperf, or some of deeper, wider"):
        chosen("widen")


def test_an_epoch_of_all_of_imagenet_counts_as_aiperf_counts_it():
    def data(train, validation):
        return SimpleNamespace(train=SimpleNamespace(count=train), validation=SimpleNamespace(count=validation))

    everything = data(1_281_167, 50_000)
    assert counted(everything, parameters_of({})) == (1_280_000, 50_000)
    assert counted(everything, parameters_of({"train_images": 1000})) == (1000, 50_000)
    assert counted(data(60_000, 10_000), parameters_of({"eval_images": 500})) == (60_000, 500)


def test_a_trial_is_logged_as_aiperf_reads_it(tmp_path):
    files = TrialFiles(tmp_path, 7)
    files.begin({"layer_list": []})
    training = files.training_begins(0, {"kernel_size": 3}, NOON)
    path = tmp_path / "hyperparameter_epoch/00007/0.json"
    assert json.loads(path.read_text())["epoch"] == 0
    for number, accuracy in ((1, 0.5), (2, 0.71234), (3, 0.7)):
        training.epoch_begins(number, 4, NOON)
        epoch = SimpleNamespace(number=number, steps=9, loss=2.0, accuracy=0.4, val_loss=1.5, val_accuracy=accuracy)
        epoch.seconds = 1.5
        training.epoch_ends(epoch, NOON + number)
    training.ends()
    training = files.training_begins(1, {"kernel_size": 3}, NOON + 5)
    training.epoch_begins(1, 4, NOON + 5)

    log = tmp_path / "trials/00007/trial.log"
    lines = log.read_text().splitlines()
    assert lines[:4] == [
        "[11/18/2026, 11:59:58 AM] PRINT Epoch 1/4",
        "[11/18/2026, 11:59:59 AM] PRINT 9/9 done",
        "[11/18/2026, 11:59:59 AM] PRINT 9/9 - loss: 2.0000 - accuracy: 0.40000"
        " - val_loss: 1.5000 - val_accuracy: 0.50000",
        "[11/18/2026, 11:59:58 AM] PRINT Epoch 2/4",
    ]
    assert lines[5].startswith("[11/18/2026, 12:00:00 PM] PRINT 9/9 - loss")
    assert lines[9] == 'HPO-0,hyperparameters:{"kernel_size": 3},best_val_acc:0.71234'
    read = read_trial_log(log)
    assert read.problems == []
    assert [(epoch.ended, epoch.accuracy) for epoch in read.trainings[0]] == [
        (NOON + 1, 0.5),
        (NOON + 2, 0.71234),
        (NOON + 3, 0.7),
    ]
    assert json.loads(path.read_text()) == {
        "get_sequence_id": 7,
        "hyperparameter": {"kernel_size": 3},
        "epoch": 3,
        "single_acc": 0.71234,
        "train_time": 4.5,
        "start_date": "11/18/2026, 11:59:58",
        "finish_date": "11/18/2026, 12:00:01",
    }
    assert json.loads((tmp_path / "trials/00007/parameter.cfg").read_text())["parameter_id"] == 7
    assert not (tmp_path / "hyperparameter/7.json").exists()


def test_the_first_to_publish_wins_and_leaves_nothing_else_behind(tmp_path):
    path = tmp_path / "new/experiment.json"
    assert room.publish_json(path, {"by": "first"}) and not room.publish_json(path, {"by": "second"})
    assert json.loads(path.read_text()) == {"by": "first"}
    assert [entry.name for entry in path.parent.iterdir()] == ["experiment.json"]


def test_a_full_disk_is_waited_for_and_other_errors_are_not(monkeypatch):
    monkeypatch.setattr(room, "_PAUSE", 0.0)
    left = [errno.ENOSPC, errno.EDQUOT]

    def write():
        if left:
            raise OSError(left.pop(), "no room")
        return "written"

    assert room.with_room(write) == "written"
    left.append(errno.ENOSPC)
    with pytest.raises(OSError, match="no room"):
        room.with_room(write, patience=-1)
    left.append(errno.EACCES)
    with pytest.raises(OSError, match="no room"):
        room.with_room(write)


def test_attempts_share_the_time_that_was_asked_for(tmp_path):
    began = 1_800_000_000.0
    first = begin_attempt(tmp_path, 1, 100, 0, 1, began)
    assert (first.began, first.deadline) == (began, began + 100)
    assert begin_attempt(tmp_path, 1, 100, 0, 1, began + 7) == first  # of another worker, or started again

    def record(event, seconds, **more):
        append(tmp_path, {"event": event, "worker": 0, "time": began + seconds, **more})

    record("started", 0, seq=0, attempt=1)
    record("ended", 30, seq=0, state="ok")
    record("started", 31, seq=1, attempt=1)
    record("lost", 900, seq=1)  # by the worker that goes on a quarter of an hour later
    record("began", 900, attempt=2, host="node1")
    second = begin_attempt(tmp_path, 2, 100, 0, 1, began + 905)
    assert (second.began, second.seconds) == (began + 905, 69)
    record("started", 905, seq=2, attempt=2)
    record("ended", 974, seq=2, state="stopped")
    assert begin_attempt(tmp_path, 3, 100, 0, 1, began + 2000).seconds == 0


def test_processes_of_a_group_report_and_end_together():
    def say_and_wait(report):
        report.say(process=os.getpid())
        time.sleep(60)

    group = Group([say_and_wait, say_and_wait])
    said = []
    while len(said) < 2:
        said += group.read()
        time.sleep(0.01)
    processes = [each["process"] for each in said]
    os.kill(processes[1], signal.SIGKILL)
    while group.failed() is None:
        group.read()
        time.sleep(0.01)
    failed = group.failed()
    assert "was ended by SIGKILL" in how_it_ended(group.ends[failed])
    group.close()
    assert set(group.ends) == {0, 1}
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_what_a_forked_process_raises_ends_it_alone(capfd):
    def fail(report):
        report.say(so_far="well")
        raise RuntimeError("no more")

    assert Group([fail]).wait() == []
    assert "RuntimeError: no more" in capfd.readouterr().err
    assert Group([lambda report: report.say(value=1)]).wait() == [{"value": 1}]


def test_an_example_is_read_without_tensorflow():
    assert image_and_label(example(b"JPEG" * 100, 299)) == (b"JPEG" * 100, 300)
    for wrong in (b"", b"\x0a\x05ab", struct.pack("<Q", 2**63), example(b"JPEG", 1)[:-5]):
        with pytest.raises(BadRecordError):
            image_and_label(wrong)


def test_aiperfs_prediction_needs_ten_epochs_and_is_never_below_the_best():
    rising = [0.2 + 0.06 * n**0.5 for n in range(1, 31)]
    assert predicted(rising[:9]) is None and predicted([0.5] * 80) is None
    assert max(rising) < predicted(rising) <= 0.75
    assert predicted([0.9] * 30) is None
