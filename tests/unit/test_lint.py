"""The tools that read the whole project must find nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def scripts():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    # FlagPerf reads single lines of its scripts, which name no shell.
    ours = [name for name in tracked if not name.startswith("tests/flagperf_like/")]
    return [name for name in ours if name.endswith(".sh") or name == ".ci/run"]


PLUGINS = ("action_plugins", "callback_plugins", "filter_plugins")
OF_PLUGINS = ("--allow-subclassing-any", "--no-warn-return-any")  # what they extend has no types
LINTERS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "mypy of modules": ["mypy", "library"],
    **{f"mypy of {folder}": ["mypy", *OF_PLUGINS, folder] for folder in PLUGINS},
    "mypy of the engine": ["mypy", "roles/benchmark/files/engine"],
    "yamllint": ["yamllint", "--strict", "."],
    "ansible-lint": ["ansible-lint", "--strict", "--offline", "-q"],
    "shellcheck": ["shellcheck", *scripts()],
}


@pytest.fixture(scope="module")
def typing(tmp_path_factory):
    """What modules see of Ansible, with `rackmark` where Ansible puts it."""
    folder = tmp_path_factory.mktemp("typing")
    shutil.copytree(ROOT / "tests/typing", folder, dirs_exist_ok=True)
    (folder / "ansible/module_utils/rackmark").symlink_to(ROOT / "module_utils/rackmark")
    return folder


@pytest.mark.parametrize("linter", LINTERS)
def test_nothing_found(linter, typing):
    program, *arguments = LINTERS[linter]
    path = f"{BIN}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "MYPYPATH": str(typing)}
    done = subprocess.run(
        [str(BIN / program), *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_is_longer_than_a_person_can_hold_in_the_head():
    tracked = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in tracked.split()]
    lines = {path: len(path.read_text().splitlines()) for path in paths if path.is_file()}
    assert not {path: count for path, count in lines.items() if count > 300}
