"""What an analysis says of MLPerf's logs."""

from __future__ import annotations

from pathlib import Path

from unit.log_fixture import outcome_of, write
from unit.mlperf_fixture import LOG, START, STOP, event, head, lines

NO_RATE = lines(*head("bert"), *START, event("epoch_start", 0, epoch_num=0), STOP)


def test_a_series_without_samples_per_second_is_reported_by_its_times(tmp_path: Path) -> None:
    """Half of MLPerf's logs do not say how many samples were trained when."""
    logs = {f"{case}xR750x4A100/result_{k}.txt": f"run {case} {k}\n{NO_RATE}" for case in (1, 2) for k in range(5)}
    found = outcome_of(write(tmp_path / "logs", logs))
    assert found.summary["state"] == "ok"
    assert [case["time_to_train_s"] for case in found.summary["cases"]] == [420.123] * 2
    report = found.files["report.md"].decode()
    assert "throughput.png" not in found.files
    assert "No picture of the throughput of each case: no repeat that is ok has samples/s." in report


def test_a_case_without_a_rate_stands_beside_one_that_has_it(tmp_path: Path) -> None:
    silent = "".join(line for line in LOG.splitlines(True) if "global_batch" not in line)
    logs = {"1xR750x4A100/result_0.txt": silent, "2xR750x4A100/result_0.txt": LOG}
    found = outcome_of(write(tmp_path / "logs", {f"resnet/{name}": log for name, log in logs.items()}))
    assert found.summary["state"] == "ok"
