"""setup.sh, test.sh and demo.sh, as a stranger meets them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import lock_requirements
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


def made_with(folder, **environment):
    done = run(folder / "setup.sh", env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return (folder / ".venv/pyvenv.cfg").read_text().splitlines()[0]


def test_setup_prefers_the_systems_python_to_another_one_in_the_path(folder):
    system = Path("/usr/bin/python3")
    usable = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    if not system.exists() or run(system, "-c", usable).returncode:
        pytest.skip("the system has no Python that Rackmark can use")
    other = folder / "bin/python3"
    other.parent.mkdir()
    other.symlink_to(sys._base_executable)
    assert made_with(folder, PATH=f"{other.parent}:{os.environ['PATH']}") == "home = /usr/bin"


def test_setup_takes_the_python_that_it_is_told_and_no_other(folder):
    other = folder / "bin/python3"
    other.parent.mkdir()
    other.symlink_to(sys._base_executable)
    assert made_with(folder, RACKMARK_PYTHON=str(other)) == f"home = {other.parent}"
    refused = run(folder / "setup.sh", env={**os.environ, "RACKMARK_PYTHON": "/bin/false"})
    assert refused.returncode == 1
    assert "RACKMARK_PYTHON is '/bin/false', which is no Python 3.11 or newer" in refused.stderr


@pytest.fixture
def package(tmp_path):
    """A package in a folder that pip looks into; its requirement without a checksum, and its checksum."""
    wheel = tmp_path / "wheels/tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return "tiny==1.0", hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_setup_installs_the_files_that_it_knows_and_no_others(folder, package):
    requirement, checksum = package
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "wheels")}
    (folder / "requirements.txt").write_text(f"{requirement} --hash=sha256:{'0' * 64}\n")
    failed = run(folder / "setup.sh", env=offline)
    assert failed.returncode == 1
    assert "setup.sh: a package is not the file that requirements.txt names" in failed.stderr
    assert checksum in failed.stderr
    assert not (folder / ".venv").exists()
    (folder / "requirements.txt").write_text(f"{requirement} --hash=sha256:{checksum}\n")
    done = run(folder / "setup.sh", env=offline)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "setup.sh: installing 1 packages of requirements.txt into .venv\n"


def test_every_requirement_has_checksums():
    for name in lock_requirements.FILES:
        lines = (ROOT / name).read_text().replace(" \\\n", "").splitlines()
        assert [line for line in lines if "==" in line and "--hash=sha256:" not in line] == []


def test_checksums_are_those_of_files_that_a_promised_host_can_install():
    page = "".join(
        f'<a href="../../x/{name}#sha256={number}" data-requires-python="&gt;=3.8">{name}</a>'
        for number, name in enumerate(
            (
                *(
                    "a-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                    "a-1.0-cp39-abi3-linux_aarch64.whl",
                ),
                *("a-1.0-cp311-cp311-musllinux_1_2_x86_64.whl", "a-1.0-cp311-cp311-win_amd64.whl", "a-1.0.tar.gz"),
                *("a-1.1-py3-none-any.whl", "a-1.0-cp314-cp314t-manylinux_2_28_x86_64.whl", "a-dev.zip"),
            )
        )
    )
    found = lock_requirements.Links(page).found
    assert lock_requirements.chosen(found, "1.0") == ["0", "1", "4"]  # some hosts have only the source
    assert lock_requirements.chosen(found, "1.1") == ["5"]
    assert lock_requirements.chosen(found, "2") == []
    old = "# words\na==1.0 \\\n    --hash=sha256:9\n"
    assert lock_requirements.locked(old, {"a==1.0": ["0", "1"]}) == (
        "# words\na==1.0 \\\n    --hash=sha256:0 \\\n    --hash=sha256:1\n"
    )


def test_setup_leaves_no_half_made_environment(folder):
    (folder / "requirements.txt").write_text(f"no-such-package-of-rackmark==1.0 --hash=sha256:{'0' * 64}\n")
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
        ("setup.sh", "unknown option 'x'; the options are --tests and --modelarts"),
        ("demo.sh", "unknown demo 'x': use modelarts, or nothing"),
        ("test.sh", "unknown tier 'x': use unit, lab, vm, soak, or nothing"),
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
