from __future__ import annotations

import pytest
from rackmark.numbers.sentences import headline, problems
from rackmark.numbers.words import MISSING, aligned, duration, quantity
from rackmark.report.presentation import table
from unit.run_fixture import break_repeat, summary_of, write_run


def test_the_table_is_aligned_and_shows_a_missing_number_as_a_dash(tmp_path):
    write_run(tmp_path, {"1n1g": [0.50, 0.40], "2n1g": [0.50], "4n1g": [0.5]})
    break_repeat(tmp_path, "4n1g", 1)
    lines = table(summary_of(tmp_path)).splitlines()
    heading, *rows = lines[:4]
    assert heading.split("  ")[0] == "case" and "samples/s" in heading
    cells = [[cell.strip() for cell in row.split("  ") if cell.strip()] for row in rows]
    assert cells[0][:4] == ["1n1g", "1", "2/2", "18.00"]
    assert cells[0][5:] == ["1.00", "100.0 %", "ok"]
    assert cells[1] == ["2n1g", "2", "1/1", "31.68", MISSING, "1.76", "88.0 %", "ok"]
    assert cells[2] == ["4n1g", "4", "0/1", MISSING, MISSING, MISSING, MISSING, "failed"]
    for heading_word, cell in [("ranks", "4"), ("efficiency", "88.0 %")]:
        row = next(row for row in rows if f" {cell} " in row)
        assert heading.index(heading_word) + len(heading_word) == row.index(f" {cell} ") + 1 + len(cell)
    assert lines[4:] == [
        "No samples/s for 4n1g: no repeat is ok.",
        "No 95 % interval for 2n1g: it takes at least two repeats that are ok.",
    ]


def test_an_interval_that_would_span_orders_of_magnitude_is_none_with_the_reason(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5, 0.002]})
    sentence = "No 95 % interval for 1n1g: the repeats are so far apart that it would span orders of magnitude."
    assert any(line.startswith(sentence) for line in table(summary_of(tmp_path)).splitlines())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12411.97, "12,412"),
        (1386.04, "1,386.0"),
        (147.25, "147.2"),
        (38.461, "38.46"),
        (0.51234, "0.512"),
        (-3.0, "-3.000"),
    ],
)
def test_quantities_are_rounded_to_digits_that_count(value, text):
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00123, "1.23 ms"), (0.0456, "45.6 ms"), (0.9994, "999 ms"), (0.9996, "1.00 s"), (75, "75.0 s")],
)
def test_durations_are_in_the_unit_that_suits_them(seconds, text):
    assert duration(seconds) == text


def test_a_run_of_mixed_states_says_so(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5] * 3, "2n1g": [0.5] * 3})
    break_repeat(tmp_path, "1n1g", 3)
    break_repeat(tmp_path, "2n1g", 1, "CANCELLED")
    break_repeat(tmp_path, "2n1g", 2, "CANCELLED")
    summary = summary_of(tmp_path)
    assert summary["states"] == {"ok": 3, "timeout": 1, "cancelled": 2}
    assert headline(summary) == "Partial: 3 of 6 repeats are ok, the others are not (1 timeout and 2 cancelled)."


def test_repeats_that_failed_alike_share_a_sentence(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5] * 3, "2n1g": [0.5] * 3})
    for case, repeat in (("1n1g", 2), ("2n1g", 1), ("2n1g", 3)):
        (tmp_path / f"cases/{case}/r{repeat}/job.json").unlink()
    break_repeat(tmp_path, "1n1g", 3)
    together, alone = problems(summary_of(tmp_path))
    assert together.startswith("1n1g repeat 2; 2n1g repeats 1 and 3 are incomplete: ")
    assert alone.startswith("1n1g repeat 3 is timeout: ")


def test_a_repeat_that_took_several_attempts_is_named(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5, 0.5]})
    (tmp_path / "cases/1n1g/r2/attempt-1").mkdir()
    summary = summary_of(tmp_path)
    assert [run["attempts"] for run in summary["cases"][0]["runs"]] == [1, 2]
    assert summary["state"] == "ok"
    assert problems(summary) == ["1n1g repeat 2 took 2 attempts, of which only the last one counts."]


def test_a_table_fits_a_terminal_and_leaves_out_what_is_least_missed():
    heading = (
        "case",
        "ranks",
        "batch/device",
        "ok/total",
        "samples/s",
        "95 % interval",
        "speedup",
        "efficiency",
        "state",
    )
    cells = ("64n8g", "512", "128", "5/5", "712,411", "705,411 \N{EN DASH} 719,412", "498.12", "97.3 %", "ok")
    lines = aligned(heading, [cells], spare=("batch/device", "ranks"))
    assert lines == [
        "case   ok/total  samples/s      95 % interval  speedup  efficiency  state",
        "64n8g       5/5    712,411  705,411 \N{EN DASH} 719,412   498.12      97.3 %  ok",
    ]
    assert aligned(heading[:3], [cells[:3]], spare=("ranks",)) == ["case   ranks  batch/device", "64n8g    512  128"]
