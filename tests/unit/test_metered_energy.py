from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackmark.telemetry.metered_energy import Energy, energy, seldom_read_energy, total
from rackmark.telemetry.power_log import read_power_log, read_window
from shared_data import shared

BEGIN = 1_794_996_900.0
RAMP = [(BEGIN + second, 100.0 + 10 * second) for second in range(11)]  # 100 W to 200 W in ten seconds


def test_a_window_that_readings_surround():
    assert energy(RAMP, (BEGIN, BEGIN + 10)) == Energy(1500.0)
    assert energy(RAMP, (BEGIN + 2, BEGIN + 4)) == Energy(260.0)


def test_an_interval_that_the_window_cuts_counts_in_proportion():
    assert energy(RAMP, (BEGIN + 2.5, BEGIN + 4)).joules == pytest.approx(0.5 * 125 + 135)


def test_readings_of_the_same_time_count_as_one_and_their_order_does_not_matter():
    doubled = [(time, watts + more) for time, watts in RAMP for more in (-5, 5)]
    assert energy(doubled[::-1], (BEGIN, BEGIN + 10)) == Energy(1500.0)


@given(st.lists(st.floats(0, 1e6), min_size=11, max_size=11), st.floats(0.1, 9.9), st.randoms(use_true_random=False))
def test_windows_side_by_side_add_up_and_the_order_of_readings_does_not_matter(watts, middle, chance):
    readings = list(zip(range(11), watts, strict=True))
    whole, begin, end = (energy(readings, window) for window in ((0, 10), (0, middle), (middle, 10)))
    assert begin.joules + end.joules == pytest.approx(whole.joules, rel=1e-6, abs=1e-6)
    assert energy(chance.sample(readings, 11), (0, 10)) == whole


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=8), st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)))
def test_any_readings_give_a_number_of_joules_or_a_reason(readings, window):
    found = energy(readings, window)
    assert (found.joules is None) == (found.reason is not None)
    assert found.joules is None or (math.isfinite(found.joules) and found.joules >= 0)


def minute(step=1.0, without=()):
    """A reading per step, some seconds without one, a minute long."""
    times = (step * number for number in range(int(60 / step) + 1))
    return [(BEGIN + time, 100.0) for time in times if int(time) not in without]


def test_a_short_gap_is_stated():
    found = energy(minute(0.1, without=(30,)), (BEGIN, BEGIN + 60))
    assert found.joules == pytest.approx(6000)
    assert found.remarks == (
        "The meter was not read for 1.1 s of the window's 60.0 s: the mean of both ends stands for them.",
    )


def test_a_long_gap_leaves_no_number():
    found = energy(minute(without=range(20, 31)), (BEGIN, BEGIN + 60))
    assert found == Energy(None, "The meter was not read for 12.0 s of the window's 60.0 s.")
    assert energy(minute(without=range(20, 31)), (BEGIN + 35, BEGIN + 60)) == Energy(2500.0)


def test_ends_without_readings_are_stated_or_leave_no_number():
    assert energy(minute(), (BEGIN - 0.5, BEGIN + 60)) == Energy(
        6000.0, None, ("0.5 s of the window's 60.5 s have no reading and are not counted.",)
    )
    assert energy(minute(), (BEGIN - 30, BEGIN + 60)) == Energy(
        None, "The readings cover only 60.0 s of the window's 90.0 s."
    )


@pytest.mark.parametrize("shift", [0.0, 1.3, 2.5, 4.9])
@pytest.mark.parametrize(("seconds", "is_known"), [(60, False), (120, True)])
def test_a_meter_that_is_read_seldom_has_an_energy_wherever_its_readings_fall_or_nowhere(shift, seconds, is_known):
    readings = [(BEGIN + shift + 5 * number, 100.0) for number in range(int((seconds - shift) // 5) + 1)]
    found = seldom_read_energy(readings, (BEGIN, BEGIN + seconds))
    if is_known:
        assert found.joules == pytest.approx(100 * seconds)
        assert bool(found.remarks) == bool(shift)
    else:
        assert found == Energy(None, "The readings are 5.0 s apart: more than 5 % of the window's 60.0 s.")


def test_ends_for_which_the_nearest_reading_stands_are_stated_and_are_short():
    readings = [(BEGIN + 5 * number, 100.0 + number) for number in range(41)]
    found = seldom_read_energy(readings, (BEGIN - 4, BEGIN + 206))
    assert found.joules == pytest.approx(4 * 100 + 200 * 120 + 6 * 140)
    assert found.remarks == ("For 10.0 s of the window's 210.0 s, at its ends, the nearest reading stands.",)
    assert seldom_read_energy(readings, (BEGIN, BEGIN + 210)).reason.startswith("The readings cover only 200.0 s")


@pytest.mark.parametrize(
    ("shift", "reason"),
    [
        (-18000, "The readings end 4 h 59 min 20 s before the window begins. 5 h later they would cover it: "),
        (19800, "The readings begin 5 h 29 min 10 s after the window ends. 5.5 h earlier they would cover it: "),
        (3590, "The readings begin 59 min after the window ends. 1 h earlier they would cover it: "),
    ],
)
def test_a_clock_in_another_zone_is_recognised(shift, reason):
    found = energy([(time + shift, watts) for time, watts in minute()], (BEGIN + 20, BEGIN + 50))
    assert found.joules is None
    assert found.reason.startswith(reason)
    assert found.reason.endswith("the clock or the time zone of the meter looks wrong.")


def test_readings_of_another_time_say_by_how_much():
    found = energy([(time + 700, watts) for time, watts in minute()], (BEGIN, BEGIN + 60))
    assert found == Energy(None, "The readings begin 10 min 40 s after the window ends.")


@pytest.mark.parametrize(
    ("readings", "window", "reason"),
    [
        ([], (BEGIN, BEGIN + 1), "There are fewer than two readings of different times."),
        ([(BEGIN, 5.0)] * 3, (BEGIN, BEGIN + 1), "There are fewer than two readings of different times."),
        (RAMP, (BEGIN, BEGIN), "The window has no length."),
        (RAMP, (BEGIN + 1, BEGIN), "The window has no length."),
    ],
)
def test_nothing_to_measure(readings, window, reason):
    assert energy(readings, window) == Energy(None, reason)


def test_a_total_takes_all_meters_or_says_which_is_missing():
    one, other = Energy(5.0, None, ("x",)), Energy(None, "Y.")
    assert total({"a": one, "b": one}) == Energy(10.0, None, ("a: x", "b: x"))
    assert total({"a": one, "b": other}) == Energy(None, "b: Y.")
    assert total({}) == Energy(None, "There is no meter.")


def line(key, value, time_ms=1_794_996_900_500, prefix=""):
    return f'{prefix}:::MLLOG {{"time_ms": {time_ms}, "key": "{key}", "value": {value}, "metadata": {{}}}}'


def test_the_log_of_a_meter():
    lines = [
        line("power_measurement_start", "null"),
        line("conversion_eff", "0.96"),
        line("power_reading", "3418.0"),
        line("power_reading", "3420", 1_794_996_901_500, prefix=" 0: "),
        *(line("power_reading", value) for value in ("null", "NaN", "Infinity", "true", '"5"', "1" + "0" * 400)),
        line("power_reading", "5", '"soon"'),
        line("power_reading", "5")[:-9],
        ":::MLLOG " + "[" * 9000,
        ":::MLLOG [1]",
        "power_reading",
    ]
    assert read_power_log(lines) == [(BEGIN + 0.5, 3418.0), (BEGIN + 1.5, 3420.0)]


def test_the_window_of_a_training():
    lines = [line("run_stop", "1", 1000), line("run_start", "null", 2000), line("run_start", "null", 2500)]
    assert read_window(lines) is None
    assert read_window([*lines, line("run_stop", "0.9", 5250), line("run_stop", "0.9", 9000)]) == (2.0, 5.25)


def read_lines(path):
    return shared(path).read_text().splitlines()


def test_published_readings_give_the_published_energies():
    expected = json.loads(shared("power/expected_energy_result_0.json").read_text())
    window = read_window(read_lines("power/training_log_result_0.txt"))
    found = {
        meter: energy(read_power_log(read_lines(f"power/result_0/{meter}")), window) for meter in expected["per_meter"]
    }
    switch = found.pop("sw_0.txt")
    assert {meter: one.joules for meter, one in found.items()} == {
        meter: expected["per_meter"][meter]["energy_J_trapezoid_in_window"] for meter in found
    }
    assert total(found).joules == expected["total_kJ"] * 1000
    assert switch == Energy(
        None,
        "The readings end 4 h 55 min 5 s before the window begins. 5 h later they would cover it:"
        " the clock or the time zone of the meter looks wrong.",
    )
    assert total({**found, "sw_0.txt": switch}).joules is None
