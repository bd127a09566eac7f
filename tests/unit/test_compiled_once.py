"""What Python reads out of a zip file is compiled once on a virtual node."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from rackmark.lab import compiled_once

USE = """
import sys, traceback
sys.path[:0] = [{parent!r}]
import {name}
{name}.install({kept!r})
sys.path[:0] = [{archive!r}]
import told
print(told.WORD)
try:
    told.fail()
except ValueError:
    print(traceback.format_exc())
"""


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


@pytest.fixture
def use(tmp_path, kept):
    def use(word, archive="a.zip"):
        with zipfile.ZipFile(tmp_path / archive, "w") as file:
            file.writestr("told.py", f"WORD = {word!r}\ndef fail():\n    raise ValueError\n")
        source = Path(compiled_once.__file__)
        script = USE.format(
            parent=str(source.parent), name=source.stem, kept=str(kept), archive=str(tmp_path / archive)
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return done.stdout

    return use


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_the_same_source_is_compiled_once_wherever_it_lies(use, kept):
    assert use("first").startswith("first\n")
    once = files(kept)
    assert len(once) == 1
    assert '/b.zip/told.py", line 3, in fail' in use("first", "b.zip")
    assert files(kept) == once


def test_another_source_is_not_mistaken_for_it(use, kept):
    use("first")
    assert use("other").startswith("other\n")
    assert len(files(kept)) == 2


@pytest.mark.parametrize("spoiled", [b"", b"\xe3\x00\x00", b"no code"])
def test_what_was_spoiled_is_compiled_anew(use, kept, spoiled):
    use("first")
    (one,) = files(kept)
    one.write_bytes(spoiled)
    assert use("first").startswith("first\n")
    assert one.read_bytes() != spoiled


def test_without_a_folder_it_compiles_as_ever(use, kept):
    kept.rmdir()
    assert use("first").startswith("first\n")
