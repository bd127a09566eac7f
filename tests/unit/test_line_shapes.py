"""Reading lines that look alike all at once says the same as reading each by itself."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackmark.logs import lines_alike
from rackmark.logs.anchors import Anchors
from rackmark.logs.kinds import kind
from rackmark.logs.line_shapes import LineShapes
from rackmark.logs.matching import Matcher

KINDS = (
    kind("both", "epoch {epoch:int} took {seconds:float} s of {total:float} s"),
    kind("alone", "epoch {epoch:int} took {seconds:float} s"),
    kind("first", "Epoch[0] loss {loss:float}"),
    kind("named", "host {host:word} says {_}{what:rest}", head="[{hour:int}:{minute:int}]"),
    kind("glued", "took {minutes:int} min;", head="at {hour:int} "),
    kind("of number", " of job {job:int};", head="{hour:int} of "),
    kind("end", "|\n", head="| {step:int} |"),
    kind("last", "rate: {rate:float}"),
)
SHAPES = (
    "epoch # took #.## s of 1e# s\n",
    "epoch ## took -#.#e-## s\n",
    "epoch # took nan s\n",
    "epoch #epoch # took .# s took #. s\n",
    "x Epoch[#] loss #.#######\n",
    "Epoch[#] loss ############.####\n",
    "[##:##] host a#b says \t so # or nothing\n",
    "[##:##] host plain says it\n",
    "at ## a took # min; b took # min;\n",
    "at ## a took # min;at ## b took # min;\n",
    "at ## a toat # at # b took # min; took ## min;\n",
    "atat # at # took # min;at #\n",
    "x at # took # min;\n",
    "at at at # took # min; at # at # took ## min;at #\n",
    "## of # of job #; ## of job #;\n",
    "## of job #;\n",
    "| ## | ##.## |\n",
    "| ## | ## |\n",
    "rate: ###.####################\n",
    "rate: #.\n",
    "rate: #e###\n",
    "rate: #.#Epoch[#] loss inf\n",
    "nothing # at all\n",
    "\n",
)


# What stands beside the digits in ASCII must not pass for one.
NEARLY_DIGITS = "0123456789" * 10 + "/:"


@pytest.fixture(scope="module")
def two_are_enough():
    few, lines_alike.FEW = lines_alike.FEW, 2
    yield
    lines_alike.FEW = few


def found_by(matcher: Matcher, pieces: list[bytes]) -> list[dict[str, object]]:
    return [
        {
            name: (table.at.tolist(), {key: list(column) for key, column in table.fields.items()})
            for name, table in found.items()
        }
        for found in map(matcher.find, pieces)
    ]


@given(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=6), st.integers(), st.booleans())
def test_lines_that_look_alike_are_read_as_each_alone(two_are_enough, shapes, seed, torn):
    digits = random.Random(seed)
    pieces = []
    for _ in range(3):
        lines = [re.sub("#", lambda _: digits.choice(NEARLY_DIGITS), digits.choice(shapes)) for _ in range(30)]
        pieces.append("".join(lines).encode())
    pieces[-1] += b"epoch 1 took 2 s" if torn else b""
    alone = Matcher(KINDS)
    alone._shapes.explain = lambda text: None
    np.testing.assert_equal(found_by(Matcher(KINDS), pieces), found_by(alone, pieces))


def test_nearly_all_lines_of_a_training_are_read_at_once():
    lines = [f"epoch {step} took {step / 7:.3f} s\nsome words {step}\n" for step in range(2000)]
    text = "".join(lines).encode()
    explained = LineShapes(KINDS).explain(text)
    assert len(explained.others) < len(text) / 20


def test_digits_that_are_looked_for_are_not_those_of_other_lines():
    text = b"".join(b"Epoch[%d] loss 1.5\n" % (number % 10) for number in range(2000))
    assert len(Matcher(KINDS).find(text)["first"]) == 200


@given(st.lists(st.binary(min_size=1, max_size=9), max_size=20), st.binary(max_size=200), st.randoms())
def test_many_texts_are_found_as_one_by_one(anchors, text, chance):
    for one in chance.sample(anchors, len(anchors) // 2):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + one + text[at:]
    assert Anchors(anchors).in_text(text) == {one for one in anchors if one in text}
