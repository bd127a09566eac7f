"""What comes back from the machine that a run was on, whatever its jobs have left there."""

from __future__ import annotations

import base64
import importlib.util
import io
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def unpack(monkeypatch):
    """With the tarfile of Python 3.11.2, which is Debian 12's."""

    def extract(self, member, path="", set_attrs=True, *, numeric_owner=False):
        raise AssertionError("knows no filters and would write anything anywhere")

    monkeypatch.setattr(tarfile.TarFile, "extract", extract)
    spec = importlib.util.spec_from_file_location("collect", ROOT / "action_plugins/benchmark_collect.py")
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    return plugin._unpack


def archive(**members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for number, (kind, (name, content)) in enumerate(members.items()):
            member = tarfile.TarInfo(name)
            member.mtime = 1000 + number
            if kind.startswith("link"):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content.encode()))
    return base64.b64encode(packed.getvalue()).decode()


def test_files_come_with_their_times_and_replace_older_ones(unpack, tmp_path):
    packed = archive(one=("manifest.json", "{}"), two=("cases/1n1g/r1/rank-0.log", "a line\n"))
    for _ in range(2):
        assert unpack(packed, tmp_path / "run") == {"manifest.json", "cases/1n1g/r1/rank-0.log"}
    log = tmp_path / "run/cases/1n1g/r1/rank-0.log"
    assert (log.read_text(), log.stat().st_mtime) == ("a line\n", 1001)


def test_nothing_is_written_elsewhere_and_no_link_is_followed(unpack, tmp_path):
    kept = tmp_path / "kept.log"
    kept.write_text("kept")
    hostile = archive(
        above=("../kept.log", "lost"),
        whole=(str(kept), "lost"),
        link=("cases/link.log", "../../kept.log"),
        behind=("cases/link.log", "ours"),
    )
    assert unpack(hostile, tmp_path / "run") == {"cases/link.log"}
    assert kept.read_text() == "kept"
    assert (tmp_path / "run/cases/link.log").read_text() == "ours"
