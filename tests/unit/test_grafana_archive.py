"""What unpacks Grafana's archive on a host."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "roles/grafana/files/unpack-archive.sh"


@pytest.fixture
def unpack(tmp_path):
    def run(member: str, checksum: str | None = None) -> subprocess.CompletedProcess[str]:
        archive = tmp_path / "grafana.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            entry = tarfile.TarInfo(f"grafana-v12.1.0/{member}")
            entry.mode, entry.size, entry.uid = 0o777, 2, 4711
            tar.addfile(entry, io.BytesIO(b"#!"))
        checksum = checksum or hashlib.sha256(archive.read_bytes()).hexdigest()
        command = ["sh", str(SCRIPT), str(archive), checksum, str(tmp_path / "grafana")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def test_the_archives_own_folder_is_left_out_and_the_archive_removed(unpack, tmp_path):
    assert unpack("bin/grafana").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["grafana"]
    program = tmp_path / "grafana/bin/grafana"
    assert (program.stat().st_mode & 0o777, program.stat().st_uid) == (0o755, tmp_path.stat().st_uid)


def test_a_file_that_differs_is_refused_and_nothing_is_left(unpack, tmp_path):
    done = unpack("bin/grafana", "0" * 64)
    assert done.returncode != 0
    assert "0" * 64 in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_archive_without_the_program_is_refused_and_nothing_is_left(unpack, tmp_path):
    done = unpack("docs/readme")
    assert done.returncode != 0
    assert "bin/grafana" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_an_interrupted_run_left_is_in_nobodys_way(unpack, tmp_path):
    (tmp_path / "grafana.partial/bin").mkdir(parents=True)
    (tmp_path / "grafana.partial/bin/old").touch()
    assert unpack("bin/grafana").returncode == 0
    assert not (tmp_path / "grafana/bin/old").exists()
