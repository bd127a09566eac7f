"""OSU micro-benchmarks."""

from __future__ import annotations

import pytest
from dialect_fixture import read
from framework_logs import DIALECTS, lines
from unit.judged_log import judged
from unit.log_fixture import analyzed, outcome_of, write

BANDWIDTH = "\n# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
LATENCY = "\n# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n"


def table(values, first=1):
    return lines(f"{first * 2**number:<20} {value:>10.2f}" for number, value in enumerate(values))


def test_a_bandwidth_counts_where_it_is_highest(tmp_path):
    result = judged(tmp_path, BANDWIDTH + table([2.1, 5.52, 12254.16, 11000.0]), case="2n1g")
    assert (result.state, result.throughput) == ("ok", pytest.approx(12.25416))


def test_a_latency_counts_at_the_smallest_and_at_the_largest_message(tmp_path):
    result = judged(tmp_path, LATENCY + table([10.05, 10.84, 240.5], first=4), case="2n8g")
    assert (result.state, result.throughput) == ("ok", None)
    assert (result.measures["latency"], result.measures["latency_of_largest"]) == (10.05, 240.5)


def test_a_latency_has_a_report_of_its_own(tmp_path):
    write(tmp_path, {f"2n8g/a_{number}.log": LATENCY + table([10.05 + number / 100, 20.0]) for number in range(3)})
    found = outcome_of(tmp_path)
    assert found.summary["state"] == "ok"
    assert b"Allreduce Latency Test" in found.files["report.md"]
    assert "latency, us" in found.table[0] and "10.06" in found.table[1]
    assert "The test measured latencies" in " ".join(found.table)


def test_tests_of_two_kinds_are_two_series_and_two_in_one_log_are_none(tmp_path):
    write(tmp_path, {"2n1g/a.log": BANDWIDTH + table([2.1]), "2n1g/b.log": LATENCY + table([10.0])})
    assert len(analyzed(tmp_path)) == 2
    both = judged(tmp_path / "both", BANDWIDTH + table([2.1]) + LATENCY + table([10.0]))
    assert both.state == "incomplete"


def test_the_sizes_are_a_table_of_the_report(tmp_path):
    (found,) = read(tmp_path, BANDWIDTH + table([2.1, 5.52]), DIALECTS["osu"]).tables
    assert found.rows == [(1, 2.1), (2, 5.52)]


def test_a_head_without_rows_holds_no_data(tmp_path):
    assert judged(tmp_path, BANDWIDTH).state == "no_data"
