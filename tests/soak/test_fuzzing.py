"""Damaged logs at length: more examples than the unit tier has time for, and texts led by the lines of our code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_check import check_log
from rackmark.dialects.catalog import DIALECTS
from unit.test_dialect_fuzz import changed, changes, text_of

ROOT = Path(__file__).parents[2]
MINUTES = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@settings(max_examples=500, deadline=None, derandomize=False)
@given(st.integers(min_value=0, max_value=40), changes)
def test_a_damaged_log_is_a_number_above_zero_or_a_state(folder, dialect, lines, made):
    text = text_of(dialect, lines).encode()
    for change in made:
        text = changed(text, *change)[: 1 << 20]
    check_log(folder, dialect.name, text)


def test_texts_led_by_the_lines_of_our_code_that_they_reach_break_nothing(tmp_path):
    pytest.importorskip("atheris", reason="pip install -r tests/fuzz/requirements.txt")
    command = [sys.executable, str(ROOT / "tests/fuzz/fuzz_dialects.py"), f"-max_total_time={60 * MINUTES}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
