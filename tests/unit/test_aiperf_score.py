from __future__ import annotations

import random
from itertools import pairwise

import pytest
from rackmark.aiperf.flops import Flops
from rackmark.aiperf.rules import PROFILES, failed_rules, find_profile, shown
from rackmark.aiperf.score import Epoch, Point, Training, score

RESNET_50 = Flops(7_806_583_495, 23_053_458_315)
STARTED = 1_794_996_900.0
AIPERF, AAH = PROFILES["aiperf"], PROFILES["aah"]


def training(epochs, seconds, accuracy, trial="aaaaa", number=0, flops=RESNET_50):
    """Epochs of equal length; the accuracy is that of the last, and half of it before."""
    ends = [STARTED + seconds * done / epochs for done in range(1, epochs + 1)]
    accuracies = [accuracy / 2] * (epochs - 1) + [accuracy]
    ended = [Epoch(done, end, each) for done, end, each in zip(range(1, epochs + 1), ends, accuracies, strict=True)]
    return Training(trial, number, flops, ended)


@pytest.mark.parametrize(
    ("epochs", "seconds", "accuracy", "gflops", "regulated"),
    [
        (10, 3600, 0.70, "83052.1", "99992.5"),
        (60, 43200, 0.75, "41526.0", "57567.3"),
        (1, 600, 0.65, "49831.3", "52314.0"),
    ],
)
def test_worked_examples(epochs, seconds, accuracy, gflops, regulated):
    final = score([training(epochs, seconds, accuracy)], STARTED, AIPERF.grid).final
    assert shown(AIPERF, final) == [f"{seconds / 3600:.2f}", f"{100 - 100 * accuracy:.2f}", gflops, regulated]


def test_a_point_every_tenth_of_an_hour_that_knows_only_what_had_ended_by_then():
    found = score([training(2, 3600, 0.8)], STARTED, AIPERF.grid)
    assert [point.hours for point in found.points] == [0.5] * 5 + [1.0]  # 0.6 to 1.0 h, then past the end
    assert [point.accuracy for point in found.points] == [0.4] * 5 + [0.8]
    assert found.points[0].gflops == pytest.approx(found.points[-1].gflops)


def test_every_hour_for_aah():
    found = score([training(5, 5 * 3600, 0.8)], STARTED, AAH.grid)
    assert [shown(AAH, point)[0] for point in found.points] == ["1.00", "2.00", "3.00", "4.00", "5.00"]
    assert shown(AAH, found.points[-1]) == ["5.00", "20.00", "0.01", "0.01"]


def test_trials_add_up_and_the_best_counts():
    one, other = training(4, 3600, 0.6), training(4, 3600, 0.7, trial="bbbbb")
    alone, both = (score(some, STARTED, AIPERF.grid).final for some in ([one], [one, other]))
    assert both.gflops == pytest.approx(2 * alone.gflops)
    assert both.accuracy == 0.7


def test_the_order_of_trials_and_epochs_does_not_matter():
    trainings = [training(5 + number, 3000 + 70 * number, 0.5, f"trial{number}", number) for number in range(6)]
    expected = score(trainings, STARTED, AIPERF.grid)
    shuffled = [
        Training(t.trial, t.number, t.flops, random.Random(7).sample(t.epochs, len(t.epochs))) for t in trainings
    ]
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        assert score(shuffled, STARTED, AIPERF.grid) == expected


def test_an_accuracy_of_100_percent_has_no_regulated_score():
    found = score([training(10, 3600, 1.0)], STARTED, AIPERF.grid)
    assert found.final.regulated is None
    assert found.reason == "The best accuracy is 100 %, for which the regulated score has no value."
    assert shown(AIPERF, found.final) == ["1.00", "0.00", "83052.1", "–"]  # noqa: RUF001


@pytest.mark.parametrize(
    ("trainings", "started", "reason"),
    [
        ([], STARTED, "No epoch has ended."),
        ([training(1, 600, 0.5)], None, "It is not known when the experiment began."),
        ([training(1, 600, 0.5)], STARTED + 600, "An epoch ended before the experiment began: a clock is wrong."),
        (
            [training(2, 9e8, 0.5)],
            STARTED,
            "The last epoch ended 250000 hours after the begin: a clock is wrong.",
        ),
    ],
)
def test_without_a_score_there_is_a_reason(trainings, started, reason):
    found = score(trainings, started, AIPERF.grid)
    assert (found.final, found.reason) == (None, reason)


def point(hours, accuracy):
    return Point(hours, 1e5, accuracy, 1e5)


@pytest.mark.parametrize(
    ("name", "accuracy", "hours"), [("aah", 0.65, 12), ("aiperf-1.0", 0.65, 6), ("aiperf", 0.7, 1)]
)
def test_exactly_what_is_asked_for_passes_and_anything_below_does_not(name, accuracy, hours):
    profile = find_profile(name)
    assert failed_rules(profile, point(hours, accuracy), "fp16") == []
    low, short = point(hours, accuracy - 1e-7), point(hours - 1e-6, accuracy)
    percent = f"{accuracy * 100:g}"
    (sentence,) = failed_rules(profile, low, "fp16")
    assert sentence == f"The best accuracy is {accuracy * 100 - 1e-5:.5f} %, {name} asks for at least {percent} %."
    (sentence,) = failed_rules(profile, short, "bf16")
    assert sentence == f"The running time is {hours - 1e-6:.6f} h, {name} asks for at least {hours} h."


def test_rules_that_are_not_kept_are_named_with_what_was_found():
    assert failed_rules(AAH, point(11.5, 0.612), "int8") == [
        "The best accuracy is 61.20 %, aah asks for at least 65 %.",
        "The running time is 11.50 h, aah asks for at least 12 h.",
        "The precision is int8, aah asks for at least fp16.",
    ]


def test_what_is_not_known_keeps_no_rule():
    assert failed_rules(AIPERF, None, None) == [
        "The best accuracy is not known, aiperf asks for at least 70 %.",
        "The running time is not known, aiperf asks for at least 1 h.",
        "The precision is not known, aiperf asks for at least fp16.",
    ]


def test_an_unknown_profile_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"profile 'aiperf2': the known ones are aah, aiperf-1.0, aiperf, lab\."):
        find_profile("aiperf2")


def test_longer_runs_have_more_points_and_never_more_than_one_per_step():
    hours = [score([training(1, 3600 * hours, 0.5)], STARTED, AAH.grid).final.hours for hours in (0.2, 1, 30)]
    assert hours == pytest.approx([0.2, 1, 30])
    points = score([training(30, 30 * 3600, 0.5)], STARTED, AAH.grid).points
    assert all(later.hours > earlier.hours for earlier, later in pairwise(points))
