from __future__ import annotations

import pytest
from dialect_fixture import read
from framework_logs import DIALECTS, lines
from nccl_log import NCCL_ROWS, nccl, nccl_row
from rackmark.analysis.outcome import numbers
from shared_data import shared
from unit.log_fixture import analyzed

NCCL = DIALECTS["nccl-tests"]


def states(reading):
    return [fault.state for fault in reading.faults]


def test_the_throughput_is_the_mean_of_all_bus_bandwidths(tmp_path):
    reading = read(tmp_path, nccl(), NCCL)
    assert reading.stated["throughput"] == pytest.approx((39.95 + 40.54 + 70 + 70 + 140 + 140) / 6)
    assert (reading.faults, reading.remarks, reading.series) == ([], [], {})
    assert NCCL.unit == "GB/s"


def test_the_head_of_the_log_says_who_took_part_in_what(tmp_path):
    assert read(tmp_path, nccl(), NCCL).facts == {
        "model": "all_reduce",
        "world_size": 8,
        "nodes": 2,
        "devices_per_node": 4,
    }


def test_the_sizes_are_a_table_of_the_report(tmp_path):
    (table,) = read(tmp_path, nccl(), NCCL).tables
    assert table.title == "nccl-tests all_reduce, 8 ranks"
    assert table.rows[0] == [1 << 20, 1 << 18, "float", 45.93, 22.83, 39.95, 0, 45.26, 23.17, 40.54, 0]
    assert len(table.rows) == 3 and all(len(row) == len(table.headings) for row in table.rows)


@pytest.mark.parametrize(
    ("test", "ranks", "factor"),
    [
        ("all_reduce", 8, 1.75),
        ("all_reduce", 32, 1.9375),
        ("all_gather", 8, 0.875),
        ("reduce_scatter", 4, 0.75),
        ("alltoall", 2, 0.5),
        ("gather", 8, 0.875),
        ("scatter", 8, 0.875),
        ("broadcast", 8, 1),
        ("reduce", 8, 1),
        ("sendrecv", 8, 1),
    ],
)
def test_bus_bandwidths_follow_from_the_test_and_its_ranks(tmp_path, test, ranks, factor):
    result = f"524.3 64.00 {64 * factor:.2f} 0"
    rows = [nccl_row(1 << 25, result, result), nccl_row(1 << 26, result, result)]
    good = nccl(rows, average=f"{64 * factor:g} ", test=test, ranks=ranks)
    assert states(read(tmp_path, good, NCCL)) == []
    other = nccl(rows, average=f"{64 * factor:g} ", test="hypercube" if factor != 1 else "all_gather", ranks=ranks)
    reading = read(tmp_path, other, NCCL)
    assert states(reading) == ["wrong_world_size"]
    assert f"over {ranks} ranks" in reading.faults[0].reason


def test_digits_lost_in_printing_are_no_contradiction(tmp_path):
    rows = [
        nccl_row(8, "33.10 0.00 0.00 0", "32.95 0.00 0.00 0"),
        nccl_row(1 << 12, "35.20 0.12 0.20 0", "35.01 0.12 0.20 0"),
        nccl_row(1 << 33, "63896 134.44 235.26 0", "63890 134.45 235.29 0"),
    ]
    assert states(read(tmp_path, nccl(rows, average="78.4917 "), NCCL)) == []


def test_one_number_that_does_not_fit_the_others_is_found(tmp_path):
    rows = [*NCCL_ROWS[:2], NCCL_ROWS[2].replace("140.00", "14.00", 1)]
    reading = read(tmp_path, nccl(rows, average="62.4 "), NCCL)
    assert "rule_failed" in states(reading)
    assert any("4194304 bytes of float" in fault.reason for fault in reading.faults)


def test_an_average_the_rows_do_not_make_is_found(tmp_path):
    reading = read(tmp_path, nccl([NCCL_ROWS[0], NCCL_ROWS[2]]), NCCL)
    assert states(reading) == ["incomplete"]
    assert "states 83.4175 GB/s" in reading.faults[0].reason


@pytest.mark.parametrize("wrong", ["3", "1e+06"])
def test_wrong_values_fail_the_test(tmp_path, wrong):
    rows = [*NCCL_ROWS[:2], nccl_row(1 << 22, "52.43 80.00 140.00 0", f"52.43 80.00 140.00 {wrong}")]
    reading = read(tmp_path, nccl(rows), NCCL)
    assert states(reading) == ["rule_failed"]
    assert "at 4194304 bytes of float" in reading.faults[0].reason


def test_values_out_of_bounds_and_too_little_bandwidth_fail_the_test(tmp_path):
    assert states(read(tmp_path, nccl(out_of_bounds="2 FAILED"), NCCL)) == ["rule_failed"]
    assert states(read(tmp_path, nccl(average="83.4175 FAILED"), NCCL)) == ["rule_failed"]
    assert states(read(tmp_path, nccl(average="83.4175 OK"), NCCL)) == []


def test_values_that_were_not_checked_are_mentioned(tmp_path):
    rows = [row.replace("     0", "   N/A") for row in NCCL_ROWS]
    reading = read(tmp_path, nccl(rows), NCCL)
    assert reading.faults == []
    assert reading.remarks == ["6 of 6 results were not checked: their #wrong is N/A."]


@pytest.mark.parametrize("end", ["# Out of", "# Avg bus bandwidth    : 83.41", "     4194304       1048576     float"])
def test_a_table_cut_off_is_incomplete(tmp_path, end):
    text = nccl()
    reading = read(tmp_path, text[: text.index(end) + len(end)], NCCL)
    assert states(reading)[0] == "incomplete"
    assert "before its average" in reading.faults[0].reason


def test_a_row_torn_by_another_rank_is_incomplete(tmp_path):
    torn = NCCL_ROWS[1][:70] + "node-1:4001:4001 [0] NCCL INFO Connected all rings\n" + NCCL_ROWS[1][70:]
    assert states(read(tmp_path, nccl([NCCL_ROWS[0], torn, NCCL_ROWS[2]]), NCCL)) == ["incomplete"]


def test_a_head_without_a_table_holds_no_data(tmp_path):
    text = nccl()
    assert states(read(tmp_path, text[: text.index("     1048576")], NCCL)) == ["no_data"]


def test_two_tests_in_a_log_are_not_taken_for_one(tmp_path):
    reading = read(tmp_path, nccl() + nccl(test="all_gather", ranks=8), NCCL)
    assert states(reading)[0] == "incomplete"
    assert "2 tests (all_reduce, all_gather)" in reading.faults[0].reason
    assert [table.title for table in reading.tables] == [
        "nccl-tests all_reduce, 8 ranks",
        "nccl-tests all_gather, 8 ranks",
    ]


def test_older_tables_have_fewer_columns_and_a_deviation_instead_of_wrong_values(tmp_path):
    text = lines(
        [
            "+ mpirun -np 8 ./build/broadcast_perf -b 8M -e 16M -f 2",
            "# nThread 1 nGpus 1 minBytes 8388608 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20",
            "#  Rank  0 Pid   4000 on     node-0 device  0 [0x07] Tesla V100",
            "#  Rank  1 Pid   4001 on     node-0 device  1 [0x08] Tesla V100",
            "#                                             out-of-place                       in-place",
            "#       size       count    type    root     time   algbw   busbw  error     time   algbw   busbw  error",
            "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
            "     8388608     2097152   float       0    524.3   16.00   16.00  0e+00    524.3   16.00   16.00  2e-07",
            "    16777216     4194304   float       0    524.3   32.00   32.00  0e+00    524.3   32.00   32.00  2e-07",
            "# Out of bounds values : 0 OK",
            "# Avg bus bandwidth    : 24",
        ]
    )
    reading = read(tmp_path, text, NCCL)
    assert reading.faults == []
    assert reading.stated["throughput"] == 24
    assert reading.facts["model"] == "broadcast" and reading.facts["nodes"] == 1


def test_ranks_of_other_groups_do_not_count_for_the_bandwidth(tmp_path):
    text = nccl(ranks=16)
    for rank in range(8, 16):
        text = text.replace(f"Rank {rank:2d} Group  0", f"Rank {rank:2d} Group  1")
    reading = read(tmp_path, text, NCCL)
    assert reading.faults == []
    assert reading.facts["world_size"] == 16


def test_devices_that_are_not_listed_leave_the_bandwidth_unchecked(tmp_path):
    listed = nccl(ranks=8)
    gap = "\n".join(line for line in listed.split("\n") if not line.startswith("#  Rank  5"))
    reading = read(tmp_path, gap, NCCL)
    assert reading.faults == [] and "world_size" not in reading.facts


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "0: "])
def test_what_a_launcher_puts_before_the_lines_is_taken_off(tmp_path, prefix):
    text = lines(prefix + line for line in nccl().splitlines())
    reading = read(tmp_path, text, NCCL)
    assert (states(reading), reading.facts["world_size"]) == ([], 8)


def test_a_table_without_end_does_not_fill_the_memory(tmp_path):
    reading = read(tmp_path, nccl(NCCL_ROWS * 1000, average="83.415 "), NCCL)
    assert reading.faults == []
    assert len(reading.tables[0].rows) == 1000


@pytest.mark.parametrize(
    "header",
    ["#  size count type time busbw", "#  size count type time algbw", "# size count type time time time time"],
)
def test_a_header_that_makes_no_sense_is_not_followed(tmp_path, header):
    text = nccl()
    begin = text.index("#       size")
    reading = read(tmp_path, text[:begin] + header + text[text.index("\n", begin) :], NCCL)
    assert states(reading) == []


def test_rccl_tests_print_the_same_under_their_own_name(tmp_path):
    text = "# rccl-tests: Version develop:6704fc6\n" + nccl().replace("NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X")
    reading = read(tmp_path, text, NCCL)
    assert (reading.faults, reading.facts["world_size"]) == ([], 8)
    assert reading.stated["throughput"] == pytest.approx((39.95 + 40.54 + 70 + 70 + 140 + 140) / 6)


BLANK = """\
#   Rank  0 Pid 1 on localhost device  0 [0x00] A100
#   Rank  1 Pid 1 on localhost device  1 [0x00] A100
#       size         count    type   redop{root}     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     4194304       1048576   float        {cell}     100.0   41.94   20.97    N/A    100.0   41.94   20.97    N/A
     8388608       2097152   float        {cell}     100.0   83.89   41.94    N/A    100.0   83.89   41.94    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 31.455
"""


@pytest.mark.parametrize(("root", "cell"), [("", ""), ("    root", ""), ("    root", "0")])
def test_blank_cells_of_a_test_that_reduces_nothing_are_no_missing_ones(tmp_path, root, cell):
    reading = read(tmp_path, BLANK.format(root=root, cell=cell), NCCL)
    assert reading.faults == []
    assert reading.stated["throughput"] == pytest.approx(31.455)
    assert "alltoall" in reading.facts["model"] and "all_reduce" not in reading.facts["model"]


def test_a_row_that_lost_its_end_is_not_one_with_blank_cells(tmp_path):
    text = BLANK.format(root="    root", cell="sum -1").replace("83.89   41.94    N/A\n", "83.89   41.94\n")
    assert states(read(tmp_path, text, NCCL)) == ["incomplete"]


def test_published_tables_of_two_tests_are_two_series():
    found = analyzed(shared("logs-more/nccl"))
    assert len(found) == 2
    medians = [numbers(one).summary["cases"][0]["median"] for one in found]
    assert sorted(medians) == pytest.approx([58.6481, 68.4], abs=0.05)
