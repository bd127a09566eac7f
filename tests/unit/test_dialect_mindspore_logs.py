"""MindSpore's lines in logs of its own, where nothing but their epochs tells one training from the next."""

from __future__ import annotations

import pytest
from rackmark.dialects import mindspore, mindspore_blocks
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from unit.dialect_fixture import measured, read, steps_per_second

(MINDSPORE,) = mindspore.DIALECTS
START = 'RACKMARK {"event": "start", "time": 1.0, "rank": 0, "world_size": 1, "batch": 32}\n'


def block(epoch: int, ms: float = 4000.0, ranks: int = 1) -> str:
    return (
        f"epoch: {epoch} step: 10, loss is 6.910\n" * ranks
        + f"epoch time: {ms:.3f} ms, per step time: {ms / 10:.3f} ms\n" * ranks
    )


def training(epochs: int, ms: float = 4000.0, ranks: int = 1) -> str:
    return "".join(block(epoch, ms, ranks) for epoch in range(1, epochs + 1))


def of_devices(epochs: range, ms: float = 4000.0) -> str:
    return "".join(
        f"[Device {device}] Epoch {epoch}/9, train time: {ms:.3f}, per step time: {ms / 10:.3f}, loss: 6.91\n"
        for epoch in epochs
        for device in range(2)
    )


def is_two_trainings(reading) -> bool:
    return [(fault.state, "more than one training" in fault.reason) for fault in reading.faults] == [
        ("incomplete", True)
    ]


@pytest.mark.parametrize("ranks", [1, 8])
def test_epochs_that_begin_anew_are_another_training(tmp_path, ranks):
    assert not read(tmp_path, training(20, ranks=ranks), MINDSPORE).faults
    for again in (training(20, 8000, ranks), block(4, ranks=ranks)):
        reading = read(tmp_path, training(20, ranks=ranks) + again, MINDSPORE)
        assert is_two_trainings(reading)
    assert "After epoch 20 comes epoch 4" in reading.faults[0].reason


def test_another_training_is_seen_across_the_parts_in_which_a_log_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(mindspore_blocks, "enough_lines", lambda _: 1)
    monkeypatch.setattr("rackmark.logs.log_file.PIECE", 400)
    assert not read(tmp_path, training(20), MINDSPORE).faults
    assert is_two_trainings(read(tmp_path, training(20) + training(20), MINDSPORE))


def test_in_logs_of_our_own_the_epochs_may_begin_anew(tmp_path):
    text = START + block(1) * 30 + 'RACKMARK {"event": "end", "time": 9.0, "steps": 300}\n'
    reading = read(tmp_path, text, MINDSPORE)
    assert not reading.faults and reading.facts["ranks_logged"] == 1
    assert measured(reading).step[-1] == 300 and steps_per_second(reading) == 2.5
    assert not read(tmp_path, START + training(9) + training(9), MINDSPORE).faults


def test_lines_of_our_own_do_not_hide_those_of_mindspore(tmp_path):
    record = 'RACKMARK {{"event": "{}", "time": 1.0, "step": 10, "seconds": 5.0, "accuracy": 0.5}}\n'
    between = "".join(record.format(event) for event in ("eval", "checkpoint", "checkpoint"))
    path = tmp_path / "b.log"
    path.write_text(START + "".join(block(epoch) + between for epoch in range(1, 20)))
    recognised = recognise(LogFile(path), CATALOG)
    assert recognised is not None and recognised.dialect.name == "mindspore"


def test_epochs_of_a_device_that_begin_anew_are_another_training(tmp_path):
    once = of_devices(range(1, 10))
    assert not read(tmp_path, once, MINDSPORE).faults
    assert is_two_trainings(read(tmp_path, once + of_devices(range(1, 10), 8000), MINDSPORE))
    assert is_two_trainings(read(tmp_path, of_devices(range(1, 2)) * 2, MINDSPORE))


def test_trainings_of_one_trial_are_told_apart(tmp_path):
    end = "HPO-{},hyperparameters:{{'lr': 0.1}},best_val_acc:0.31\n"
    text = "".join(of_devices(range(1, 10)) + end.format(number) for number in range(3))
    reading = read(tmp_path, text, MINDSPORE)
    assert not reading.faults and steps_per_second(reading, 1) == 2.5
    assert is_two_trainings(read(tmp_path, text + of_devices(range(1, 10)) * 2, MINDSPORE))
