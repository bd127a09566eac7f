"""Trees and logs that nobody should have to trust: nothing waits, breaks or obeys, and no number is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
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
from rackmark.logs import log_file
from rackmark.logs.log_file import LogFile
from unit.analysis_hostile_fixture import (
    nothing_hangs,  # noqa: F401 (fixture)
    states,
    throughputs,
)

GOOD = {"1n1g/rn50_b128_fp32_1.log": mindspore_log(370.29)}


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
