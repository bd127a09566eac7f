"""HPL, HPL-MxP, STREAM, fio and iperf3."""

from __future__ import annotations

import pytest
from unit.judged_log import judged

CHECK = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.11927170e-03 ...... {verdict}\n"
HPL = (
    "T/V                N    NB     P     Q               Time                 Gflops\n"
    "--------------------------------------------------------------------------------\n"
    "{row}\nHPL_pdgesv() start time Fri Apr  4 09:51:07 2025\n\n" + CHECK
)
ROW = "WR11C2R4       {n}   128     {p}     4             155.68              {gflops:.4e}"
NVIDIA = "WC0           184320   512     2     4              41.05              1.017e+05 ( 1.271e+04 )"


def hpl(*rows, verdict="PASSED"):
    return "".join(HPL.format(row=row, verdict=verdict) for row in rows)


@pytest.mark.parametrize(("row", "gflops"), [(ROW.format(n=29184, p=2, gflops=106300), 106300), (NVIDIA, 101700)])
def test_a_grid_of_linpack_is_one_process_per_device(tmp_path, row, gflops):
    result = judged(tmp_path, hpl(row), case=None)
    assert (result.case, result.state, result.throughput) == ("1n8g", "ok", gflops)


def test_of_several_problems_the_fastest_counts(tmp_path):
    rows = [ROW.format(n=n, p=2, gflops=gflops) for n, gflops in ((1000, 50.0), (29184, 106300.0), (5000, 900.0))]
    assert judged(tmp_path, hpl(*rows)).throughput == 106300


def test_problems_on_unlike_grids_are_not_compared(tmp_path):
    rows = [ROW.format(n=1000, p=p, gflops=50.0) for p in (1, 2)]
    assert judged(tmp_path, hpl(*rows), case=None).state == "incomplete"


@pytest.mark.parametrize(("verdict", "state"), [("FAILED", "rule_failed"), ("", "incomplete")])
def test_a_solution_that_is_wrong_or_was_not_checked_gives_no_number(tmp_path, verdict, state):
    assert judged(tmp_path, hpl(ROW.format(n=1000, p=2, gflops=50.0), verdict=verdict)).state == state


def test_the_rate_of_hpl_mxp_is_the_one_with_its_refinement(tmp_path):
    text = "HPL_AI   WRC01 95000 384 2 2 14.75 3.876e+04 5.77248 2 2.785e+04\n" + CHECK.format(verdict="PASSED")
    result = judged(tmp_path, text, case="1n4g")
    assert (result.state, result.throughput) == ("ok", 27850)


STREAM = """\
STREAM version $Revision: 5.10 $
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           16171.7     0.002065     0.001979     0.002207
Scale:           9937.2     0.003462     0.003220     0.003838
Add:            11986.1     0.004196     0.004005     0.004391
Triad:          11856.4     0.004242     0.004048     0.004502
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""


def test_triad_is_streams_result_and_the_others_are_measures(tmp_path):
    result = judged(tmp_path, STREAM, case=None)
    assert (result.case, result.state, result.throughput) == ("1n1g", "ok", pytest.approx(11.8564))
    assert result.measures["copy"] == pytest.approx(16.1717)


def test_stream_with_wrong_values_or_without_its_check_gives_no_number(tmp_path):
    begin = STREAM.split("Solution")[0]
    wrong = "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)\n"
    assert judged(tmp_path, begin + wrong).state == "rule_failed"
    assert judged(tmp_path, begin).state == "incomplete"


GROUP = "Run status group {number} (all jobs):\n"
READ = (
    "   READ: bw=227MiB/s (239MB/s), 227MiB/s-227MiB/s (239MB/s-239MB/s), io=29.0GiB (32.2GB), run=134968-134968msec\n"
)
WRITE = "  WRITE: bw=6132KiB/s (6279kB/s), 6132KiB/s-6132KiB/s (6279kB/s-6279kB/s), io=255MiB (268MB), run=42-42msec\n"


@pytest.mark.parametrize(("rows", "gb_per_s"), [(READ, 0.239), (WRITE, 0.006279), (READ + WRITE, 0.245279)])
def test_what_a_group_of_fio_reads_and_writes_counts_together(tmp_path, rows, gb_per_s):
    text = "fio-3.35\nStarting 4 processes\n" + GROUP.format(number=0) + rows
    result = judged(tmp_path, text, case=None)
    assert (result.state, result.throughput) == ("ok", pytest.approx(gb_per_s))
    if rows == READ + WRITE:
        assert result.measures["read_gb_per_s"] == pytest.approx(0.239)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (" 0", "ok"),
        (" 5 (file:io_u.c:1787, func=io_u error, error=Input/output error)", "rule_failed"),
        ("28 (file:filesetup.c:231, func=write, error=No space left on device)", "rule_failed"),
    ],
)
def test_a_job_of_fio_that_failed_gives_no_number(tmp_path, error, state):
    text = f"readfiles: (groupid=0, jobs=4): err={error}: pid=123: Fri Apr  4 09:51:07 2025\n" + GROUP.format(number=0)
    assert judged(tmp_path, text + READ).state == state


def test_groups_of_fio_that_ran_one_after_the_other_are_not_added(tmp_path):
    text = GROUP.format(number=0) + READ + "\n" + GROUP.format(number=1) + WRITE
    assert judged(tmp_path, text).state == "incomplete"


IPERF = """\
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  10.8 GBytes  9.31 Gbits/sec    0             sender
[  5]   0.00-10.04  sec  10.8 GBytes  9.28 Gbits/sec                  receiver
"""
SECOND = IPERF.splitlines()[2].replace("[  5]", "[  7]") + "\n"
SUM = "[SUM]   0.00-10.00  sec  21.7 GBytes  18.6 Gbits/sec    0             sender\n"
SUM += "[SUM]   0.00-10.04  sec  21.6 GBytes  {rate} {unit}bits/sec                  receiver\n"
UDP = "[  5]   0.00-10.01  sec   344 MBytes   288 Mbits/sec  3.483 ms  51/5555 (0.92%)  receiver\n"


@pytest.mark.parametrize(
    ("text", "gbits"),
    [
        (IPERF, 9.28),
        (IPERF + SECOND + SUM.format(rate=18.5, unit="G"), 18.5),
        (IPERF + SECOND + SUM.format(rate=504, unit="M"), 0.504),
        (UDP, 0.288),
    ],
)
def test_what_iperf3_received_counts_and_of_several_streams_their_sum(tmp_path, text, gbits):
    result = judged(tmp_path, text, case="2n1g")
    assert (result.state, result.throughput) == ("ok", pytest.approx(gbits))


def test_two_tests_of_iperf3_in_a_log_are_not_one(tmp_path):
    assert judged(tmp_path, IPERF + IPERF, case="2n1g").state == "incomplete"
