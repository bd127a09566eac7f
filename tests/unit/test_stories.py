"""Every file of tests with nodes belongs to one story: tests without one would each boot a cluster of their own."""

from __future__ import annotations

import re
from pathlib import Path

from stories import STORIES

TESTS = Path(__file__).parents[1]


def test_every_file_belongs_to_one_story():
    for tier in ("lab", "vm"):
        for path in TESTS.glob(f"{tier}/test_*.py"):
            found = [story for story, pattern in STORIES.items() if re.match(pattern, f"tests/{tier}/{path.name}")]
            assert len(found) == 1, (path.name, found)


def test_every_story_is_told_by_a_file():
    names = [
        f"tests/{path.parent.name}/{path.name}" for tier in ("lab", "vm") for path in TESTS.glob(f"{tier}/test_*.py")
    ]
    assert [story for story, pattern in STORIES.items() if not any(re.match(pattern, name) for name in names)] == []
