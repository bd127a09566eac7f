"""Whatever stands in a log, it becomes a number above zero or a state with its reason, and that in bounded time."""

from __future__ import annotations

import re
from random import Random

import pytest
from dialect_lines import text_of
from hypothesis import given, settings
from hypothesis import strategies as st
from log_check import check_log
from rackmark.dialects.catalog import DIALECTS

NUMBERS = [
    *(b"0", b"-1", b"0.0", b"-0.5", b"nan", b"inf", b"-inf", b"NaN", b"Infinity", b"1e999", b"-1e999", b"1e-999"),
    *(b"1e308", b"1e18", b"999999999999999", b"9" * 19, b"9" * 5000, b"0." + b"3" * 3000, b"1e", b".", b"--1", b"0x10"),
    *(b"1" + b"0" * 300, b"4294967296", b"null", b'"1"', b"[]", b"true"),
]
DIRT = [
    *(
        b"\0",
        b"\0" * 100,
        b"\xff\xfe",
        b"\xc3",
        b"\xe2\x94",
        b"\x1b[",
        b"\x1b]0;",
        b"\x1b[31m",
        b"\r",
        b"\r\n",
        b"\x08" * 3,
    ),
    *(
        b"\n",
        b"\n\n",
        b"\t",
        b" " * 3000,
        b"{" * 3000,
        b"[" * 3000,
        b'"',
        b"\\",
        b"</script><b>",
        b"\x85",
        b"\xe2\x80\xa8",
    ),
    *(b"x" * 20000, b"0: ", b"[1,0]<stdout>:", b"epoch: " * 200, b", " * 500),
]

changes = st.lists(
    st.tuples(
        st.sampled_from(["cut", "end", "begin", "repeat", "glue", "number", "numbers", "dirt", "shuffle"]),
        st.floats(min_value=0, max_value=1, exclude_max=True),
        st.integers(min_value=0, max_value=200),
    ),
    max_size=5,
)


def changed(text: bytes, how: str, place: float, what: int) -> bytes:
    at = int(place * (len(text) + 1))
    if how == "cut":
        return text[:at] + text[at + what :]
    if how in ("end", "begin"):
        return text[:at] if how == "end" else text[at:]
    if how == "dirt":
        return text[:at] + DIRT[what % len(DIRT)] + text[at:]
    if how == "numbers":
        return re.sub(rb"\d+(?:\.\d+)?", NUMBERS[what % len(NUMBERS)], text, count=1 + what)
    if how == "number":
        found = re.compile(rb"\d+(?:\.\d+)?").search(text, at)
        return text[: found.start()] + NUMBERS[what % len(NUMBERS)] + text[found.end() :] if found else text
    lines = text.splitlines(keepends=True)
    line = int(place * len(lines))
    if how == "repeat":
        lines[line:line] = lines[line : line + what % 7] * (what % 50)
    elif how == "shuffle":
        Random(what).shuffle(lines)
    elif lines:
        lines[line] = lines[line].rstrip(b"\n")
    return b"".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@settings(max_examples=8, deadline=None)
@given(st.integers(min_value=0, max_value=12), changes)
def test_a_damaged_log_is_a_number_above_zero_or_a_state(folder, dialect, lines, made):
    text = text_of(dialect, lines).encode()
    for change in made:
        text = changed(text, *change)[: 1 << 20]
    check_log(folder, dialect.name, text)
