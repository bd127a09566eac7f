"""Templates of lines: blanks, and numbers whose thousands are parted."""

from __future__ import annotations

import pytest
from rackmark.logs.kinds import kind
from rackmark.logs.matching import Matcher


def test_blanks_between_numbers_may_be_as_many_as_a_template_allows():
    blanks = [" " * number for number in range(1, 66)] + ["\t", " \t ", "\t" * 9, " " * 7 + "x"]
    text = "".join(f"step {number:03d}:{between}{number}\n" for number, between in enumerate(blanks)).encode()
    fields = Matcher([kind("step", "step {step:int}:{_}{same:int}")]).find(text)["step"].fields
    assert fields["same"].tolist() == fields["step"].tolist() == [*range(64), 65, 66, 67]


@pytest.mark.parametrize("count", [3, 500])
def test_thousands_parted_by_commas_are_one_number(count):
    text = "".join(f"tps: {1000 + number:,}  p99 {12345.5 + number:,.2f} ms, {number} ok\n" for number in range(count))
    line = kind("step", "tps: {tps:grouped}  p99 {p99:grouped} ms, {number:int} ok")
    fields = Matcher([line]).find(text.encode())["step"].fields
    assert fields["tps"].tolist() == [1000 + number for number in range(count)]
    assert fields["p99"].tolist() == [12345.5 + number for number in range(count)]
    assert "step" not in Matcher([kind("step", "tps: {tps:grouped}")]).find(b"tps: 1,23\n")
