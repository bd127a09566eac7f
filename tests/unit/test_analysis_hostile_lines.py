"""Hostile content of logs: lines without end, ranks without number, numbers that cannot be."""

from __future__ import annotations

import random
import time
import tracemalloc
from pathlib import Path

import pytest
from log_fixture import numbers_of, write
from rackmark.dialects.catalog import DIALECTS, dialect_named
from rackmark.logs import log_file
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.series import Window
from unit.analysis_hostile_fixture import (
    nothing_hangs,  # noqa: F401 (fixture)
    states,
    throughputs,
)


def read_within(path: Path, megabytes: float, seconds: float) -> None:
    """Recognised as nothing, and read in a dialect all the same."""
    tracemalloc.start()
    began = time.process_time()
    assert recognise(LogFile(path), DIALECTS) is None
    dialect_named("mindspore").read(LogFile(path), Window(0, None))
    took = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    assert peak < megabytes and took < seconds, f"{peak:.1f} MB, {took:.1f} s"


def test_a_line_without_end_takes_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "LONGEST_LINE", 1 << 16)
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    read_within(path, 16, 5)


@pytest.mark.parametrize(
    "content",
    [
        random.Random(1).randbytes(1 << 20),
        b"\x1f\x8b\x08\x00" + random.Random(2).randbytes(1 << 18),
        b"\r" * 1_000_000,
        b"\n" * 1_000_000,
        b"\x1b" * 1_000_000,
    ],
    ids=["random", "compressed", "returns", "empty lines", "escapes"],
)
def test_what_is_no_text_is_no_log(tmp_path, content):
    (tmp_path / "a.log").write_bytes(content)
    read_within(tmp_path / "a.log", 64, 10)


@pytest.mark.parametrize("name", ["flagperf", "keras", "mlperf"])
def test_what_begins_again_and_again_takes_little_memory(tmp_path, name):
    """The rest of a line is kept for each of its beginnings."""
    anchors = [kind.line.anchor for kind in dialect_named(name).kinds if ":rest}" in kind.line.text]
    (tmp_path / "a.log").write_bytes(b"\n".join(anchor * ((1 << 18) // len(anchor)) for anchor in anchors[:2]))
    tracemalloc.start()
    dialect_named(name).read(LogFile(tmp_path / "a.log"), Window(0, None))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    assert peak < 100


def test_more_ranks_than_there_can_be_are_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "MOST_RANKS", 100)
    line = "{0}: [Device {0}] Epoch 1/2, train time: 10.0, per step time: 1.0, loss: 1\n"
    write(tmp_path, {"1n1g/rn50_b128_fp32_1.log": "".join(map(line.format, range(3000)))})
    found = numbers_of(tmp_path)
    assert states(found)[0][0] != "ok" and any("more than 100 ranks" in problem for problem in found.problems)


STEP = '{"event": "step", "time": %s, "step": %d, "samples": %s, "seconds": %s, "loss": %s}'


@pytest.mark.parametrize(
    ("place", "value"),
    [(3, "NaN"), (3, "Infinity"), (3, "-Infinity"), (3, "nan"), (3, "1e999")],
)
def test_a_loss_that_is_no_number_is_no_throughput(tmp_path, place, value):
    ((state, _),) = states(numbers_of(rackmark_log(tmp_path, place, value)))
    assert state == "nan_loss"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "-1", "0", "9" * 5000, "[" * 5000, '"4"', "null", "{}"])
@pytest.mark.parametrize("place", [1, 2])
def test_a_number_that_cannot_be_never_counts(tmp_path, place, value):
    """Of 40 steps one has samples or seconds that cannot be."""
    (throughput,) = throughputs(numbers_of(rackmark_log(tmp_path, place, value)))
    assert throughput is None or throughput == pytest.approx(32 / 0.25, rel=0.03)


def rackmark_log(folder: Path, place: int, value: str) -> Path:
    lines = []
    for step in range(1, 41):
        values = ["1.5", "32", "0.25", "6.9"]
        if step == 30:
            values[place] = value
        time_, samples, seconds, loss = values
        lines.append("RACKMARK " + STEP % (time_, step, samples, seconds, loss) + "\n")
    return write(folder, {"1n1g/m_b32_fp32_1.log": "".join(lines)})
