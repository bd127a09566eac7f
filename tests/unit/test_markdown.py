from __future__ import annotations

import pytest
from rackmark.report.markdown import Markup, escape, table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b*c`d`", r"a\_b\*c\`d\`"),
        ("<b>|[x]", r"\<b\>\|\[x\]"),
        ("C:\\new", r"C:\\new"),
        ("two\nlines", "two lines"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("speedup 1.92 - fine", "speedup 1.92 - fine"),
        (7, "7"),
    ],
)
def test_text_is_shown_as_it_is(text, shown):
    assert escape(text) == shown


def test_what_is_markdown_already_is_left_alone():
    assert escape(Markup("**a**")) == "**a**"


def test_numbers_of_a_table_stand_to_the_right():
    assert table(["case", "speed", "state"], [["1n1g", "5", "a|b"]]).splitlines() == [
        "| case | speed | state |",
        "| --- | ---: | --- |",
        r"| 1n1g | 5 | a\|b |",
    ]


def test_a_table_of_words_stands_to_the_left():
    assert table(["a", "b", "c"], [["1", "2", "3"]], words=True).splitlines()[1] == "| --- | --- | --- |"
