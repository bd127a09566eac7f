"""Logs that are packed, rotated or in another encoding are read like others."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from rackmark.logs import whole_log
from unit.analysis_fixture import throughput
from unit.analysis_hostile_fixture import states
from unit.log_fixture import mindspore_log, numbers_of, write
from unit.mlperf_fixture import LOG

TEXT = mindspore_log(370.29)
NAME = "1n1g/rn50_b128_fp32_1.log"


def test_a_packed_log_is_read(tmp_path: Path) -> None:
    found = numbers_of(write(tmp_path / "logs", {f"{NAME}.gz": gzip.compress(TEXT.encode())}), warmup=20)
    assert throughput(found) == pytest.approx(370.29, abs=0.005)
    assert found.summary["cases"][0]["batch_per_device"] == 128
    found = numbers_of(write(tmp_path / "b", {"2xR750x4A100/result_3.txt.gz": gzip.compress(LOG.encode())}))
    assert [run["repeat"] for run in found.summary["cases"][0]["runs"]] == [4]


def test_a_packed_log_that_was_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    """As one is that is not packed."""
    packed = gzip.compress(mindspore_log(370.29, steps=40_000).encode())
    root = write(tmp_path / "logs", {f"{NAME}.gz": packed[: len(packed) // 2]})
    assert throughput(numbers_of(root)) == pytest.approx(370.29, abs=0.005)
    assert states(numbers_of(root, last=40_000))[0][0] == "incomplete"


def test_a_log_and_its_packed_copy_are_one_repeat(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode())
    found = numbers_of(write(tmp_path / "logs", {NAME: TEXT, "1n1g/rn50_b128_fp32_2.log.gz": packed}))
    assert states(found) == [("ok", None)]
    assert any("is a copy of" in problem for problem in found.problems)


def test_what_would_fill_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_log, "_LARGEST", 1 << 20)
    logs = {"1n1g/a_b128_fp32_1.log": TEXT, f"{NAME}.gz": gzip.compress(b"\0" * (3 << 20))}
    found = numbers_of(write(tmp_path / "logs", logs))
    assert ("ok", None) in states(found)
    assert any("Unpacked it is larger than" in problem for problem in found.problems)


@pytest.mark.parametrize("packed", [False, True])
def test_a_rotated_log_is_one_log(tmp_path: Path, packed: bool) -> None:
    lines = TEXT.splitlines(True)
    thirds = ["".join(lines[begin : begin + 14]) for begin in (0, 14, 28)]
    logs: dict[str, str | bytes] = {NAME: thirds[2], f"{NAME}.1": thirds[1]}
    logs.update({f"{NAME}.2.gz": gzip.compress(thirds[0].encode())} if packed else {f"{NAME}.2": thirds[0]})
    found = numbers_of(write(tmp_path / "logs", logs), warmup=20, last=200)
    assert states(found) == [("ok", None)]
    assert throughput(found) == pytest.approx(370.29, abs=0.005)
    assert any(f"{NAME}.1 is the older part of rn50_b128_fp32_1.log" in problem for problem in found.problems)


def test_a_part_without_its_log_is_a_log_of_its_own(tmp_path: Path) -> None:
    found = numbers_of(write(tmp_path / "logs", {"1n1g/train.log.1": TEXT}), batch=128)
    assert states(found) == [("ok", None)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_needs_no_mark(tmp_path: Path, encoding: str) -> None:
    found = numbers_of(write(tmp_path / "logs", {NAME: TEXT.encode(encoding)}))
    assert throughput(found) == pytest.approx(370.29, abs=0.005)
