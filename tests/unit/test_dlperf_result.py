from __future__ import annotations

import pytest
from rackmark.formats.dlperf_result import dlperf_result
from unit.run_fixture import BATCH, break_repeat, read_run, write_run

# Speeds of the repeats as DLPerf published them for MindSpore's ResNet50, and what its file says of them.
PUBLISHED = {
    "1n1g": ([369.81, 371.31, 369.02, 371.01, 369.0], 370.03, 369.81, 1.0),
    "1n2g": ([710.96, 710.68, 709.28, 710.7, 709.78], 710.28, 710.68, 1.92),
    "2n8g": ([5483.22, 5480.69, 5484.01, 5499.46, 5474.62], 5484.4, 5483.22, 14.83),
}


def slowest(case):
    """How much longer the last rank takes in the fixture."""
    nodes, devices = case[:-1].split("n")
    return 1 + (int(nodes) * int(devices) - 1) / 100


def write_published(run_dir, cases, **changes):
    """Speeds with more digits than the two that are published."""
    sizes = {case: round((slowest(case) - 1) * 100) + 1 for case in cases}
    seconds = {
        case: [sizes[case] * BATCH / (speed + 0.003) / slowest(case) for speed in PUBLISHED[case][0]] for case in cases
    }
    return write_run(run_dir, seconds, **changes)


def result_of(run_dir):
    run = read_run(run_dir)
    return dlperf_result(run.manifest, run.summary)


def test_published_numbers_come_out_to_the_digit(tmp_path):
    result = result_of(write_published(tmp_path, PUBLISHED, dlperf_model="rn50"))
    expected = {
        case: {"average_speed": average, "batch_size_per_device": BATCH, "median_speed": median, "speedup": speedup}
        for case, (_, average, median, speedup) in PUBLISHED.items()
    }
    assert result == {"rn50": expected}


def test_only_repeats_that_are_ok_enter_and_a_case_without_any_is_left_out(tmp_path):
    write_published(tmp_path, PUBLISHED)
    break_repeat(tmp_path, "1n2g", 1)
    for repeat in range(1, 6):
        break_repeat(tmp_path, "2n8g", repeat)
    cases = result_of(tmp_path)["resnet50"]
    assert list(cases) == ["1n1g", "1n2g"]
    assert cases["1n2g"]["median_speed"] == pytest.approx((710.68 + 709.78) / 2, abs=0.006)


def test_without_1n1g_there_is_no_speedup(tmp_path):
    cases = result_of(write_published(tmp_path, ["1n2g", "2n8g"], baseline="1n2g"))["resnet50"]
    assert {case["speedup"] for case in cases.values()} == {None}
    assert cases["2n8g"]["median_speed"] == 5483.22
