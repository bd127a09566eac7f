"""setup.sh, test.sh and demo.sh, as a stranger meets them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    """An empty project with nothing to install."""
    shutil.copy(ROOT / "setup.sh", tmp_path)
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    return tmp_path


def run(script, *arguments, **options):
    return subprocess.run([str(script), *arguments], capture_output=True, text=True, check=False, **options)


def test_setup_makes_an_environment_once(folder):
    assert run(folder / "setup.sh").returncode == 0
    made = (folder / ".venv/pyvenv.cfg").stat().st_mtime_ns
    again = run(folder / "setup.sh")
    assert (again.returncode, again.stdout) == (0, "")
    assert (folder / ".venv/pyvenv.cfg").stat().st_mtime_ns == made


def test_setup_leaves_no_half_made_environment(folder):
    (folder / "requirements.txt").write_text("no-such-package-of-rackmark==1.0\n")
    failed = run(folder / "setup.sh", env={**os.environ, "PIP_NO_INDEX": "1"})
    assert failed.returncode == 1
    assert "setup.sh: pip could not install requirements.txt" in failed.stderr
    assert not (folder / ".venv").exists()


def test_setup_makes_it_anew_when_requirements_change(folder):
    assert run(folder / "setup.sh").returncode == 0
    (folder / ".venv/stale").touch()
    (folder / "requirements.txt").write_text("# still nothing\n")
    activated = {**os.environ, "PATH": f"{folder}/.venv/bin:{os.environ['PATH']}"}
    assert run(folder / "setup.sh", env=activated).returncode == 0
    assert not (folder / ".venv/stale").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("setup.sh", "unknown option 'x'; the only option is --tests"),
        ("test.sh", "unknown tier 'x': use unit, lab, vm"),
    ],
)
def test_a_wrong_argument_is_named(script, words):
    done = run(ROOT / script, "x")
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("demo.sh", "run as root, or as a user whose sudo asks for no password"),
        ("test.sh", "run as root, or './test.sh unit'"),
    ],
)
def test_without_root_there_is_one_sentence(script, words):
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(ROOT / script, folder)
        for program in ("bash", "dirname", "id", "uname"):  # no sudo among them
            (folder / program).symlink_to(str(shutil.which(program)))
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        done = run(folder / script, env={"PATH": f"{folder}"}, **nobody)
    assert done.returncode == 1
    assert words in done.stderr
