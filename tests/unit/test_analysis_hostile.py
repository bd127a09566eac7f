"""Trees and logs that nobody should have to trust: nothing waits, breaks or obeys, and no number is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import tempfile
import time
import tracemalloc
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from log_fixture import analyzed, mindspore_log, numbers_of, outcome_of, write
from prometheus_client.parser import text_string_to_metric_families
from rackmark.analysis import log_tree
from rackmark.analysis.analysis import analyze, read_logs
from rackmark.analysis.log_tree import find_logs
from rackmark.analysis.options import Options
from rackmark.dialects.catalog import DIALECTS, dialect_named
from rackmark.logs import log_file
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.series import Window


class HangsError(BaseException):
    """Nothing catches it."""


GOOD = {"1n1g/rn50_b128_fp32_1.log": mindspore_log(370.29)}


@pytest.fixture(autouse=True)
def nothing_hangs():
    """Waiting for a pipe would never end."""

    def stop(*_: object) -> None:
        raise HangsError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def open_folder():
    """Others may look into it, which they may not into pytest's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextlib.contextmanager
def nobody():
    """Root reads everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def throughputs(found) -> list[float | None]:
    return [run["throughput"] for case in found.summary["cases"] for run in case["runs"]]


def states(found) -> list[tuple[str, str | None]]:
    return [(run["state"], run["reason"]) for case in found.summary["cases"] for run in case["runs"]]


def test_what_is_no_file_is_passed_over(tmp_path, monkeypatch):
    write(tmp_path, GOOD)
    os.mkfifo(tmp_path / "1n1g/rn50_b128_fp32_2.log")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "zero.log").symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("1n1g/rn50_b128_fp32_3.log")
        found = numbers_of(tmp_path)
    assert throughputs(found) == pytest.approx([370.29], abs=0.005)
    assert any("3 files are a link" in problem for problem in found.problems)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(path)], ids=["pipe", "link to itself"])
def test_what_is_neither_folder_nor_file_is_refused(tmp_path, make):
    make(tmp_path / "logs")
    with pytest.raises((ValueError, OSError), match=r"logs"):
        find_logs(tmp_path / "logs")


def test_a_file_that_becomes_a_pipe_or_goes_away_is_named(tmp_path):
    logs = {f"1n1g/rn50_b128_fp32_{number}.log": mindspore_log(370.29) for number in (1, 2, 3)}
    tree = find_logs(write(tmp_path, logs))
    (tmp_path / "1n1g/rn50_b128_fp32_2.log").unlink()
    (tmp_path / "1n1g/rn50_b128_fp32_3.log").unlink()
    os.mkfifo(tmp_path / "1n1g/rn50_b128_fp32_3.log")
    (analysis,) = analyze(tree, read_logs(tree, "auto", Options()), Options(), "logs")
    judged = [one.result for one in analysis.judged["1n1g"]]
    assert [(one.state, one.reason) for one in judged] == [
        ("ok", None),
        ("no_log", "The log cannot be read: No such file or directory."),
        ("no_log", "The log cannot be read: It is no file."),
    ]


def test_a_file_that_shrinks_while_it_is_read_has_what_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "PIECE", 100)
    path = write(tmp_path, {"a.log": "a line of some length\n" * 50_000}) / "a.log"
    pieces = LogFile(path).pieces()
    next(pieces)
    os.truncate(path, 10)
    assert sum(len(text) for piece in pieces for text in piece.values()) < 1_000_000


def test_what_nobody_may_read_is_named(open_folder):
    logs = {f"1n1g/rn50_b128_fp32_{number}.log": mindspore_log(370.29) for number in (1, 2)}
    write(open_folder, {**logs, "closed/a.log": "text", "notes.txt": "text"})
    for name in ("1n1g/rn50_b128_fp32_2.log", "closed", "notes.txt"):
        (open_folder / name).chmod(0)
    with nobody():
        found = numbers_of(open_folder)
    assert states(found) == [("ok", None), ("no_log", "The log cannot be read: Permission denied.")]
    told = "\n".join(found.problems)
    assert "closed is left out: Permission denied" in told and "notes.txt" in told


STRANGE = ["a\nb", "a'b\"c", "..%2f..", "-rf *", "$(reboot)", "n" * 230, "\x1b[31mred", "\u202eright to left", "=1+2"]


@pytest.mark.parametrize("name", STRANGE, ids=range(len(STRANGE)))
def test_names_may_be_anything(tmp_path, name):
    (analysis,) = analyzed(write(tmp_path, {f"1n1g/{name}_b128_fp32_1.log": mindspore_log(370.29), f"{name}.txt": "x"}))
    assert analysis.judged["1n1g"][0].result.throughput == pytest.approx(370.29, abs=0.005)
    shown = "".join([analysis.name, *analysis.remarks, str(analysis.logs[0].path)])
    assert is_plain(shown) and "\n" not in shown


def test_names_that_are_no_text_are_left_out_and_named(tmp_path):
    write(tmp_path, GOOD)
    Path(os.fsdecode(bytes(tmp_path) + b"/1n1g/\xff\xfe_b128_fp32_2.log")).write_text(mindspore_log(370.29))
    found = numbers_of(tmp_path)
    assert len(states(found)) == 1 and any("UTF-8" in problem for problem in found.problems)


@contextlib.contextmanager
def nested(root: Path, name: str, levels: int):
    """Folders inside each other, which are made and removed one by one: their path may be too long for all at once."""
    start = Path.cwd()
    os.chdir(root)
    for _ in range(levels):
        Path(name).mkdir()
        os.chdir(name)
    Path("a.log").write_text("text")
    try:
        yield
    finally:
        Path("a.log").unlink()
        for _ in range(levels):
            os.chdir("..")
            Path(name).rmdir()
        os.chdir(start)


def test_folders_may_be_deep(tmp_path):
    with nested(write(tmp_path, GOOD), "d", 1900):
        found = numbers_of(tmp_path)
    assert throughputs(found) == pytest.approx([370.29], abs=0.005)
    assert any("a.log" in problem for problem in found.problems)


def test_a_path_too_long_to_be_opened_is_named(tmp_path):
    with nested(write(tmp_path, GOOD), "d" * 200, 30):
        found = numbers_of(tmp_path)
    assert throughputs(found) == pytest.approx([370.29], abs=0.005)
    assert any("File name too long" in problem for problem in found.problems)


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(log_tree, "MOST_FILES", 10)
    write(tmp_path, {f"{number}.log": "text" for number in range(12)})
    with pytest.raises(ValueError, match="more than 10 files"):
        find_logs(tmp_path)


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
        "epoch: 1 step: 10, loss is 6.9\n".encode("utf-16-le") * 1000,
        b"\r" * 1_000_000,
        b"\n" * 1_000_000,
        b"\x1b" * 1_000_000,
    ],
    ids=["random", "compressed", "utf-16 without its mark", "returns", "empty lines", "escapes"],
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


MARKUP = "<script>alert(1)</script> [x](javascript:1) **b** `c` | # \x1b[2J\x1b]0;owned\x07 \u202e $\\frac{ & \x00"


def is_plain(text: str) -> bool:
    """Nothing that a terminal obeys or that turns the order of letters round."""
    return all(unicodedata.category(char) not in ("Cc", "Cf", "Cs") or char == "\n" for char in text)


def test_markup_and_escapes_in_names_and_lines_are_shown_and_not_obeyed(tmp_path):
    name = MARKUP.replace("/", "\\").replace("\x00", "\n")
    logs = {
        f"1n1g/{name}_b128_fp32_1.log": mindspore_log(370.29),
        f"1n1g/{name}_b128_fp32_2.log": mindspore_log(370.29, steps=50) + f"RuntimeError: {MARKUP}\n",
        f"1n1g/{name}_b128_fp32_3.log": mindspore_log(370.29).replace("6.910", MARKUP, 1),
        f"{name}.txt": MARKUP,
    }
    found = outcome_of(write(tmp_path, logs), last=200)
    files = {path: content.decode() for path, content in found.files.items() if not path.endswith(".png")}
    assert "<script>alert" not in files["report.html"] + files["report.md"]
    assert "[x](javascript:1)" not in files["report.md"]
    for path, text in files.items():
        assert is_plain(text), path
    assert is_plain("\n".join([found.recognised_by, *found.table, *found.problems]))
    ElementTree.fromstring(files["junit.xml"])
    assert list(text_string_to_metric_families(files["metrics.prom"]))
    assert json.loads(files["summary.json"])["cases"]
