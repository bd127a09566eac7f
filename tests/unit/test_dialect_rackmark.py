from __future__ import annotations

import math

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.logs.reading import Evaluation
from rackmark.logs.series import Window
from unit.dialect_fixture import Interval, intervals


def read(text):
    return dialect_named("rackmark").read_text(text.encode(), Window(0, None))


START = '{"event": "start", "time": 1.0, "rank": 3, "world_size": 4}'
STEP = '{"event": "step", "time": 2.5, "step": 1, "samples": 8, "seconds": 1.5, "loss": 6.9}'
EVAL = '{"event": "eval", "time": 3.5, "step": 1, "seconds": 0.75, "images": 50, "accuracy": 0.24, "loss": 5.5}'
END = '{"event": "end", "time": 4.0, "steps": 1}'


def test_a_log_becomes_its_start_its_samples_and_its_end():
    log = read(f"RACKMARK {START}\nRACKMARK {STEP}\nRACKMARK {EVAL}\nRACKMARK {END}\n")
    assert (log.began, log.facts["world_size"], log.facts["rank"]) == (1.0, 4, 3)
    assert intervals(log) == [Interval(step=1, samples=8, seconds=1.5, loss=6.9, time=2.5, steps=1)]
    assert log.evaluations == [Evaluation(step=1, seconds=0.75, accuracy=0.24, loss=5.5, time=3.5)]
    assert log.ended == 4.0


def test_other_output_is_passed_over():
    noise = "Warning: RACKMARK is not at the start here " + STEP
    log = read(
        f"{noise}\r\nRACKMARK {STEP}\r\n\x00\ufffd\nRACKMARK not json\nRACKMARK [1]\nRACKMARK\nRACKMARKS {STEP}\n"
    )
    assert [one.step for one in intervals(log)] == [1]
    assert log.began is None and log.ended is None


def test_a_line_that_was_cut_off_is_not_a_sample():
    assert len(intervals(read(f"RACKMARK {STEP}\nRACKMARK {STEP[:-9]}"))) == 1


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
    assert intervals(read("RACKMARK " + STEP.replace(sound, broken))) == []


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
    log = read("RACKMARK " + STEP.replace("6.9", f'null, "loss_text": "{text}"'))
    assert log.series[None].broken_loss == (1, math.inf)


def test_a_loss_that_was_not_logged_is_none():
    (one,) = intervals(read("RACKMARK " + STEP.replace("6.9", "null")))
    assert math.isnan(one.loss)


def test_a_line_may_stand_for_several_steps():
    log = read("RACKMARK " + STEP.replace('"step": 1', '"step": 10, "steps": 10'))
    assert [(one.step, one.steps, one.samples, one.seconds) for one in intervals(log)] == [(10, 10, 8, 1.5)]


def test_a_progress_bar_before_a_line_does_not_hide_it():
    """As with tqdm, which writes over its own line and ends it with nothing."""
    log = read(f"\r 10%|#         | 1/10\rRACKMARK {STEP}\n 20%|##        | 2/10RACKMARK {STEP}\n")
    assert len(intervals(log)) == 2


def test_a_program_states_numbers_by_its_own_words_and_the_last_one_counts():
    log = read(
        'RACKMARK {"event": "stated", "time": 1.0, "latency_p99": 12.5, "tokens_per_s": 100}\n'
        'RACKMARK {"event": "stated", "time": 2.0, "tokens_per_s": 200, "note": "fast", "odd": NaN, "bool": true}\n'
    )
    assert log.stated == {"latency_p99": 12.5, "tokens_per_s": 200.0}


def test_a_number_that_a_program_lacks_has_its_reason():
    log = read(
        'RACKMARK {"event": "stated", "time": 1.0, "mfu": null, "reason": "no peak is known"}\n'
        'RACKMARK {"event": "stated", "time": 2.0, "power": null}\n'
    )
    assert (log.stated, log.unstated) == ({}, {"mfu": "no peak is known"})


def test_trials_are_kept_with_what_became_of_them():
    log = read(
        'RACKMARK {"event": "trial", "time": 1.0, "number": 1, "state": "ok", "score": 0.5}\n'
        'RACKMARK {"event": "trial", "time": 2.0, "number": 2, "state": "failed"}\n'
        'RACKMARK {"event": "trial", "time": 3.0, "state": "ok", "score": 0.7}\n'
    )
    assert [(trial.number, trial.is_good, trial.values) for trial in log.trials] == [
        (1, True, {"score": 0.5}),
        (2, False, {}),
        (3, True, {"score": 0.7}),
    ]


def test_an_unknown_dialect_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"^There is no log dialect 'klingon': the known ones are .*, mindspore, .*\.$"
    ):
        dialect_named("klingon")
