"""What all dialects rely on: templates, the fast reading of numbers, pieces of files, and series that stay small."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackmark.logs import log_file, matching, series
from rackmark.logs.dialect import Dialect
from rackmark.logs.kinds import kind
from rackmark.logs.log_file import LogFile
from rackmark.logs.matching import Matcher, in_order
from rackmark.logs.series import Series, Window, rows
from rackmark.logs.step_timing import Stamp, Steps
from unit.dialect_fixture import measured, read, steps_per_second

LINE = kind("step", "step {step:int}: loss {loss:float}, {seconds:float} s{_}each at {rate:float}")


def number() -> st.SearchStrategy[str]:
    odd = [
        "",
        "nan",
        "-inf",
        "1e999",
        "1e5",
        "-3",
        "+.5",
        ".",
        "1.2.3",
        "1" * 20,
        "0." + "7" * 30,
        "1.",
        "--1",
        "1e",
        "é",
    ]
    digits = st.text("0123456789", min_size=1, max_size=17)
    plain = st.builds("{}.{}".format, digits, st.text("0123456789", max_size=10))
    return st.one_of(plain, plain, digits, st.sampled_from(odd))


@given(st.lists(st.tuples(number(), number(), number(), st.sampled_from([" ", "\t \t", ""]), number()), max_size=40))
def test_many_lines_at_once_are_read_as_the_regular_expression_reads_each(fast_for_few, lines):
    text = "".join(
        f"step {step}: loss {loss}, {seconds} s{blanks}each at {rate}\n" for step, loss, seconds, blanks, rate in lines
    ).encode()
    expected = [[float(one) for one in match.groups()] for match in LINE.line.expression.finditer(text)]
    found = Matcher([LINE]).find(text).get("step")
    read = [list(row.values()) for row in found.rows()] if found else []
    np.testing.assert_array_equal(np.array(read), np.array(expected))


@pytest.fixture(scope="module")
def fast_for_few():
    """The fast way is taken for few lines, too."""
    few, matching._FEW = matching._FEW, 1
    yield
    matching._FEW = few


def test_a_number_at_the_end_counts_only_when_it_is_whole():
    (only,) = in_order(Matcher([kind("speed", "Speed: {rate:float}")]).find(b"Speed: 12.5\nSpeed: 13.7"))
    assert only == ("speed", {"rate": 12.5})


def test_lines_glued_together_are_all_found():
    glued = b"epoch 1 took 5 sepoch 2 took 6 s\n"
    rows_found = in_order(Matcher([kind("epoch", "epoch {epoch:int} took {seconds:int} s")]).find(glued))
    assert [row["seconds"] for _, row in rows_found] == [5, 6]


def test_the_head_of_a_line_belongs_to_its_match_alone():
    known = kind("step", "took {seconds:int} s", head="{_}[{hour:int}:{minute:int}]".replace("{_}", "I "))
    text = b"I [10:20] a took 3 s\nnoise took 4 s\nI [10:21] b took 5 s\n"
    assert [(row["minute"], row["seconds"]) for _, row in in_order(Matcher([known]).find(text))] == [(20, 3), (21, 5)]


@pytest.mark.parametrize("count", [1, 100])
def test_glued_lines_have_a_head_each_or_are_none(count):
    known = kind("step", "took {seconds:int} s;", head="I [{hour:int}:{minute:int}]")
    text = (
        b"I [10:20] a took 3 s;I [10:21] b took 4 s;\n"
        b"I [10:22] a took 5 s; b took 6 s;\n"
        b"I [10:23] toI [10:2I [10:24] b took 7 s;\n"
        b"x I [10:25] took 8 s;\n"
    )
    rows_found = [(row["minute"], row["seconds"]) for _, row in in_order(Matcher([known]).find(text * count))]
    assert rows_found == [(20, 3), (21, 4), (22, 5), (24, 7)] * count


def test_of_kinds_that_begin_alike_the_first_that_matches_counts():
    kinds = [kind("both", "time: {ms:int} ms, per step {step:int} ms"), kind("alone", "time: {ms:int} ms")]
    found = in_order(Matcher(kinds).find(b"time: 10 ms, per step 5 ms\ntime: 20 ms\n"))
    assert [name for name, _ in found] == ["both", "alone"]


def whole(path) -> bytes:
    return b"".join(text for piece in LogFile(path).pieces() for text in piece.values())


def test_colours_and_line_ends_of_terminals_are_taken_off(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"\x1b[1;32mgreen\x1b[0m\r\n10%\r20%\r\nabc\x08\x08\x08def\n\x1b]0;title\x07end\n")
    assert [line for line in whole(path).split(b"\n") if line] == [b"green", b"10%", b"20%", b"abc", b"def", b"end"]


@given(st.binary(max_size=300), st.integers(min_value=1, max_value=40))
def test_a_file_in_pieces_has_the_lines_of_the_file(tmp_path_factory, content, piece):
    path = tmp_path_factory.getbasetemp() / "pieces.log"
    path.write_bytes(content)
    size, log_file.PIECE = log_file.PIECE, piece
    try:
        in_pieces = whole(path)
    finally:
        log_file.PIECE = size
    assert [line for line in in_pieces.split(b"\n") if line] == [
        line for line in log_file.plain(content).split(b"\n") if line
    ]


def test_lines_of_ranks_are_told_apart_by_what_the_launcher_puts_before_them(tmp_path):
    path = tmp_path / "a.log"
    for form in ("{}: step {}\n", "[1,{}]<stdout>:step {}\n"):
        path.write_text("".join(form.format(rank, step) for step in range(20) for rank in (0, 1)))
        (piece,) = LogFile(path).pieces()
        assert {rank: text.count(b"step") for rank, text in piece.items()} == {0: 20, 1: 20}


def test_what_a_launcher_puts_before_lines_is_seen_after_a_preamble(tmp_path):
    path = tmp_path / "a.log"
    preamble = "".join(f"module {number} loaded\n" for number in range(35))
    for form in ("{}: step {}\n", "[1,{}]<stderr>:step {}\n"):
        lines = "".join(
            form.format(rank, step) + "\nno prefix\n" * (step % 3 == 0) for step in range(20) for rank in (0, 1)
        )
        path.write_text(preamble + lines)
        (piece,) = LogFile(path).pieces()
        assert {rank: text.count(b"step") for rank, text in piece.items()} == {0: 20, 1: 20}


def test_a_list_at_the_end_of_a_log_hides_no_line(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("step\n" * 200 + "".join(f"{frame:4d}: called from here\n" for frame in range(40)))
    (piece,) = LogFile(path).pieces()
    assert piece[None].count(b"step") == 200


@pytest.mark.parametrize("number", [1, 3])
def test_a_few_lines_that_begin_with_a_number_are_none_of_a_launcher(tmp_path, number):
    path = tmp_path / "a.log"
    path.write_text("".join(f"{step}: warm-up\n" + "step\n" * number for step in range(19 if number == 1 else 60)))
    (piece,) = LogFile(path).pieces()
    assert list(piece) == [None]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_a_log_in_utf_16_is_read_as_text(tmp_path, monkeypatch, encoding, size):
    monkeypatch.setattr(log_file, "PIECE", size)
    lines = [f"Speed: {number}.5 größer \U0001f600" for number in range(30)]
    path = tmp_path / "a.log"
    path.write_bytes("\r\n".join(["\ufeffbegin", *lines]).encode(encoding))
    assert [line.decode() for line in whole(path).split(b"\n") if line] == ["begin", *lines]
    assert LogFile(path).head().decode().splitlines()[1] == lines[0]
    assert LogFile(path).tail(161).splitlines()[-2:] == lines[-2:]


def test_a_line_without_end_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "PIECE", 100)
    monkeypatch.setattr(log_file, "LONGEST_LINE", 1000)
    path = tmp_path / "a.log"
    path.write_bytes(b"first\n" + b"x" * 5000 + b"\nlast\n")
    log = LogFile(path)
    text = b"".join(text for piece in log.pieces() for text in piece.values())
    assert (text.startswith(b"first\n"), text.endswith(b"last\n"), len(text) < 200) == (True, True, True)
    assert len(log.remarks) == 1


def test_a_long_series_stays_small_and_keeps_its_sums(monkeypatch):
    monkeypatch.setattr(series, "MOST_ROWS", 100)
    grown = Series(Window(warmup=20, last=900))
    for first in range(1, 1001, 50):
        step = np.arange(first, first + 50)
        grown.add(rows(step, np.ones(50), np.full(50, 0.5), loss=np.full(50, 2.0)))
    assert len(grown.rows) <= 100
    inside = (grown.rows.step - grown.rows.steps >= 20) & (grown.rows.step <= 900)
    assert grown.rows.steps[inside].sum() == 880 and grown.rows.seconds[inside].sum() == 440
    assert grown.rows.steps.sum() == 1000 and grown.rows.step[-1] == 1000


HOSTILE = [
    b"epoch: " * 20000,
    b"TimeHistory: " + b"9" * 200000,
    b"step 1: loss " + b"-" * 100000 + b"\n" + b"step 1: loss 1e" * 5000,
    b"\x1b[" * 100000,
    b"\x1b]" + b"a" * 200000,
    b"I" + b" " * 200000 + b"TimeHistory: 1 seconds\n",
    bytes(range(256)) * 800,
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_takes_long(tmp_path, content):
    from rackmark.dialects.catalog import DIALECTS

    path = tmp_path / "a.log"
    path.write_bytes(content)
    began = time.process_time()
    for dialect in DIALECTS:
        dialect.read(LogFile(path), Window(0, None))
    per_megabyte = (time.process_time() - began) / len(DIALECTS) / (len(content) / 1e6)
    assert per_megabyte < 5, f"{per_megabyte:.1f} s per MB"


STAMPED = Dialect(
    name="stamped",
    title="Lines with the time of writing",
    kinds=(kind("step", "at {time:float} epoch {epoch:int} step {step:int} ended"),),
    steps=Steps(timing=Stamp("time"), epoch="epoch"),
)


def test_the_pause_between_epochs_is_no_training(tmp_path):
    text = "".join(
        f"at {100 + epoch * 1000 + step * 2} epoch {epoch} step {step} ended\n"
        for epoch in (0, 1)
        for step in range(1, 11)
    )
    reading = read(tmp_path, text, STAMPED)
    assert steps_per_second(reading) == 0.5
    assert measured(reading).step.tolist() == [*range(2, 11), *range(12, 21)]
    assert len(reading.remarks) == 1


def stamped(blocks: list[tuple[int, float]]) -> str:
    return "".join(f"at {time} epoch 0 step {step} ended\n" for step, time in blocks)


def test_a_pause_is_no_training(tmp_path):
    blocks = [(step, 2.0 * step + (600 if step > 50 else 0)) for step in range(1, 101)]
    reading = read(tmp_path, stamped(blocks), STAMPED)
    assert steps_per_second(reading) == 0.5 and measured(reading).steps.sum() == 98
    (remark,) = reading.remarks
    assert "before step 51 is left out" in remark
    again = read(tmp_path, stamped([(step, time + (900 if step > 70 else 0)) for step, time in blocks]), STAMPED)
    assert steps_per_second(again) == 0.5 and len(again.remarks) == 1 and "1 more" in again.remarks[0]


def test_a_step_that_is_slow_or_a_lost_line_is_no_pause(tmp_path):
    blocks = [(step, 2.0 * step + (50 if step > 50 else 0)) for step in range(1, 101)]
    reading = read(tmp_path, stamped(blocks), STAMPED)
    assert measured(reading).seconds.sum() == 198 + 50 and not reading.remarks
    lost = [(step, time) for step, time in blocks if not 20 < step < 90]
    assert measured(read(tmp_path, stamped(lost), STAMPED)).seconds.sum() == 198 + 50


def test_a_pause_is_seen_in_the_parts_in_which_a_log_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("rackmark.logs.step_lines.enough_lines", lambda _: 40)
    monkeypatch.setattr(log_file, "PIECE", 200)
    blocks = [(step, 2.0 * step + sum(600 for pause in (41, 130, 161) if step >= pause)) for step in range(1, 163)]
    reading = read(tmp_path, stamped(blocks), STAMPED)
    assert steps_per_second(reading) == 0.5 and measured(reading).steps.sum() == 161 - 3


def test_twins_and_lines_of_the_same_moment_lose_no_time(tmp_path):
    twins = [(step, 2.0 * step + late) for step in range(50) for late in (0, 0.5)]
    reading = read(tmp_path, stamped(twins), STAMPED)
    assert steps_per_second(reading) == 0.5 and measured(reading).steps.sum() == 49
    coarse = [(step, step // 4) for step in range(1, 102)]
    assert steps_per_second(read(tmp_path, stamped(coarse), STAMPED)) == pytest.approx(4, rel=0.02)


def test_lines_out_of_order_are_not_called_another_training(tmp_path):
    blocks = [(step, 2.0 * step) for step in range(10, 1000, 10)]
    blocks[50:52] = [blocks[51], blocks[50]]
    (fault,) = read(tmp_path, stamped(blocks), STAMPED).faults
    assert fault.state == "incomplete" and "out of order" in fault.reason
    assert "more than one training" not in fault.reason
    again = [*blocks[:50], *((step - 400, time) for step, time in blocks[52:])]
    (fault,) = read(tmp_path, stamped(again), STAMPED).faults
    assert fault.state == "incomplete" and "more than one training" in fault.reason
