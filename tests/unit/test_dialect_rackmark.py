from __future__ import annotations

import math

import pytest
from rackmark.dialects import Evaluation, Sample, reader

read = reader("rackmark")

START = '{"event": "start", "time": 1.0, "rank": 3, "world_size": 4}'
STEP = '{"event": "step", "time": 2.5, "step": 1, "samples": 8, "seconds": 1.5, "loss": 6.9}'
EVAL = '{"event": "eval", "time": 3.5, "step": 1, "seconds": 0.75, "images": 50, "accuracy": 0.24, "loss": 5.5}'
END = '{"event": "end", "time": 4.0, "steps": 1}'


def test_a_log_becomes_its_start_its_samples_and_its_end():
    log = read(f"RACKMARK {START}\nRACKMARK {STEP}\nRACKMARK {EVAL}\nRACKMARK {END}\n")
    assert log.start is not None and log.start["world_size"] == 4
    assert log.samples == [Sample(step=1, samples=8, seconds=1.5, loss=6.9, time=2.5)]
    assert log.evaluations == [Evaluation(step=1, seconds=0.75, accuracy=0.24, loss=5.5, time=3.5)]
    assert log.end is not None and log.end["steps"] == 1


def test_other_output_is_passed_over():
    noise = "Warning: RACKMARK is not at the start here " + STEP
    log = read(
        f"{noise}\r\nRACKMARK {STEP}\r\n\x00\ufffd\nRACKMARK not json\nRACKMARK [1]\nRACKMARK\nRACKMARKS {STEP}\n"
    )
    assert [sample.step for sample in log.samples] == [1]
    assert log.start is None and log.end is None


def test_a_line_that_was_cut_off_is_not_a_sample():
    assert len(read(f"RACKMARK {STEP}\nRACKMARK {STEP[:-9]}").samples) == 1


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        ('"seconds": 1.5', '"seconds": 0'),
        ('"seconds": 1.5', '"seconds": -1'),
        ('"seconds": 1.5', '"seconds": null'),
        ('"seconds": 1.5', '"seconds": NaN'),
        ('"seconds": 1.5', '"seconds": Infinity'),
        ('"samples": 8', '"samples": 0'),
        ('"samples": 8, ', ""),
        ('"step": 1, ', ""),
    ],
)
def test_a_step_without_usable_numbers_is_not_a_sample(sound, broken):
    assert sound in STEP
    assert read("RACKMARK " + STEP.replace(sound, broken)).samples == []


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        ('"accuracy": 0.24', '"accuracy": null'),
        ('"accuracy": 0.24', '"accuracy": NaN'),
        ('"accuracy": 0.24', '"accuracy": 24'),
        ('"seconds": 0.75', '"seconds": 0'),
        ('"step": 1, ', ""),
        ('"step": 1, ', '"step": Infinity, '),
    ],
)
def test_an_evaluation_without_usable_numbers_is_none(sound, broken):
    assert sound in EVAL
    assert read("RACKMARK " + EVAL.replace(sound, broken)).evaluations == []


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_loss_that_json_cannot_hold_is_read_from_its_text(text):
    (sample,) = read("RACKMARK " + STEP.replace("6.9", f'null, "loss_text": "{text}"')).samples
    assert sample.loss is not None and not math.isfinite(sample.loss)


def test_a_loss_that_was_not_logged_is_none():
    (sample,) = read("RACKMARK " + STEP.replace("6.9", "null")).samples
    assert sample.loss is None


def test_an_unknown_dialect_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"^There is no log dialect 'klingon': the known ones are mindspore, rackmark\.$"
    ):
        reader("klingon")
