"""benchmark_environment with small wheels: environments are built once, and failures are told with the fix."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lab.small_wheels import source_of_hammer, wheel
from rackmark.environments.compiled import Compiled, build_environ
from rackmark.environments.pip_failure import explanation

ROOT = Path(__file__).parents[2]
HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def shelf(tmp_path):
    """A folder of wheels: packages for every Python, and a `net` that comes as a CPU build and with CUDA."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "anvil", "1.0")
    wheel(folder, "anvil", "1.1")
    wheel(folder, "bellows", "2.0", "anvil==1.0")
    wheel(folder, "net", "3.0+cpu", tag=f"{HERE}-none-linux_{platform.machine()}")
    wheel(folder, "net", "3.0", tag=f"{HERE}-none-linux_{platform.machine()}")
    return folder


def of_pip(shelf, **more):
    pip = {"PIP_FIND_LINKS": str(shelf), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_COLOR": "1"}
    return {**os.environ, "ANSIBLE_NOCOLOR": "1", **pip, **more}


@pytest.fixture
def pip(tmp_path, shelf):
    """What pip says to an installation that it only tries."""

    def pip(*requirements, **environ):
        command = [sys.executable, "-m", "pip", "install", "--dry-run", f"--target={tmp_path / 'tried'}"]
        command += ["--disable-pip-version-check", *requirements]
        done = subprocess.run(command, env=of_pip(shelf, **environ), capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return pip


@pytest.fixture
def start(tmp_path, shelf):
    def start(requirements, environ=None, check=False, **options):
        arguments = {"directory": str(tmp_path / "envs"), "name": "demo", "requirements": requirements, **options}
        command = [str(Path(sys.executable).with_name("ansible")), "localhost", "-i", os.devnull]
        command += ["-m", "benchmark_environment", "-a", json.dumps(arguments), "-o", *(["--check"] if check else [])]
        environment = of_pip(shelf, **(environ or {}))
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)

    return start


def result(process):
    output = process.communicate()[0]
    head, _, content = output.partition("=>")
    return {"failed": "FAILED" in head, **json.loads(content)}


@pytest.fixture
def build(start):
    return lambda *arguments, **options: result(start(*arguments, **options))


def imported(python, module):
    return subprocess.run(
        [python, "-c", f"import {module}; print({module}.version)"], capture_output=True, text=True, check=False
    ).stdout.strip()


def test_an_environment_is_built_once_and_other_requirements_make_another(build, tmp_path):
    shown = build(["anvil==1.1"], check=True)
    assert (shown["changed"], shown["packages"]) == (True, [])
    assert not (tmp_path / "envs").exists()

    first = build(["anvil==1.1"], environ={"PIP_USER": "1"})  # as where users install into their homes
    assert (first["changed"], first["source"], first["packages"]) == (True, "index", ["anvil==1.1"])
    assert imported(first["python"], "anvil") == "1.1"
    assert Path(first["path"]).name == f"demo-{first['digest'][:10]}"
    assert first["path"] == shown["path"]

    made = Path(first["python"]).lstat().st_ino
    again = build(["anvil==1.1"])
    assert not again["changed"]
    assert Path(again["python"]).lstat().st_ino == made
    assert all(again[key] == first[key] for key in ("path", "python", "source", "packages", "digest"))

    second = build(["anvil==1.0", "bellows==2.0"])
    assert second["packages"] == ["anvil==1.0", "bellows==2.0"]
    assert imported(first["python"], "anvil") == "1.1"
    assert not build(["bellows==2.0", "anvil==1.0"], check=True)["changed"]


def test_what_an_interrupted_build_left_is_built_again(build):
    path = Path(build(["anvil==1.0"], check=True)["path"])
    (path / "lib").mkdir(parents=True)
    (path / "lib/rest").touch()
    dead = {"host": platform.node(), "pid": 2**22 + 1, "id": "0"}
    path.with_name(f".{path.name}.lock").write_text(json.dumps(dead))
    finished = build(["anvil==1.0"])
    assert (finished["changed"], finished["packages"]) == (True, ["anvil==1.0"])
    assert not (path / "lib/rest").exists()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_of_two_runs_at_the_same_time_one_builds(start, shelf):
    processes = [start(["anvil==1.0"]) for _ in range(3)]
    results = [result(process) for process in processes]
    assert sorted(each["changed"] for each in results) == [False, False, True]
    assert [each["packages"] for each in results] == [["anvil==1.0"]] * 3


def test_a_cpu_takes_the_cpu_build(build, shelf):
    built = build(["net==3.0", "anvil==1.1"], cpu_wheel="net")
    assert (built["source"], built["packages"]) == ("wheel", ["anvil==1.1", "net==3.0+cpu"])


def test_without_a_cpu_build_the_distributions_packages_show_through(build, shelf):
    (shelf / f"net-3.0+cpu-{HERE}-none-linux_{platform.machine()}.whl").unlink()
    built = build(["net==3.0", "anvil==1.1"], cpu_wheel="net")
    assert (built["source"], built["packages"]) == ("distribution", [])
    assert imported(built["python"], "net") == ""
    settings = (Path(built["path"]) / "pyvenv.cfg").read_text()
    assert "include-system-site-packages = true" in settings
    wheel(shelf, "net", "3.1+cpu", tag=f"{HERE}-none-linux_{platform.machine()}")
    later = build(["net==3.0", "anvil==1.1"], cpu_wheel="net", check=True)
    assert (later["changed"], later["source"]) == (True, "wheel")
    assert later["path"] != built["path"]


def test_three_equal_signs_keep_the_cpu_build_away_from_an_accelerator(pip):
    assert "Would install net-3.0+cpu" in pip("net==3.0")
    assert pip("net===3.0").endswith("Would install net-3.0\n")


def test_no_requirements_are_no_environment(build, tmp_path):
    found = build([])
    assert (found["changed"], found["packages"]) == (False, [])
    assert Path(found["python"]).name == "python3"
    assert not (tmp_path / "envs").exists()


def test_another_interpreter_makes_another_environment(build, tmp_path):
    other = tmp_path / "python-of-ours"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    of_ours = build(["anvil==1.0"], python=str(other), check=True)
    assert of_ours["path"] != build(["anvil==1.0"], check=True)["path"]
    missing = build(["anvil==1.0"], python="python9.9")
    assert missing["failed"]
    assert "There is no interpreter python9.9 on this host" in missing["msg"]


def test_a_version_that_does_not_exist(build, tmp_path):
    failed = build(["anvil==7.7"])
    assert failed["failed"]
    assert f"There is no anvil==7.7 for Python {MINOR}" in failed["msg"]
    assert "the newest that there are: 1.0, 1.1. Change the pin in workload.yml." in failed["msg"]
    assert list((tmp_path / "envs").iterdir()) == []


def explained(output, pythons=()):
    return explanation(output, "3.11", "x86_64", lambda pin: list(pythons))


def test_a_package_that_other_pythons_can_have(build, shelf):
    wheel(shelf, "forge", "1.0", tag="cp39-none-any")
    wheel(shelf, "forge", "1.0", tag="cp310-none-any")
    sentence = build(["forge==1.0"], instead=["-e framework=bellows"])["msg"]
    assert sentence == (
        f"forge==1.0 is not offered for Python {MINOR} on {platform.machine()}, only for Python 3.9, 3.10: set"
        " ansible_python_interpreter of this host to one of them, or benchmark_python to a Python that has it, or give"
        " -e framework=bellows."
    )


def test_a_package_that_nobody_has(pip):
    sentence = explained(pip("tongs==1.0"))
    assert sentence.startswith("No package index or wheel folder of pip's settings offers tongs==1.0 for x86_64")


def test_an_index_that_cannot_be_reached(pip):
    output = pip("tongs==1.0", PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1")
    assert "pip reaches no package index from here" in explained(output) and "/etc/pip.conf" in explained(output)


def test_requirements_that_exclude_each_other(pip):
    sentence = explained(pip("anvil==1.1", "bellows==2.0"))
    assert "The requirements exclude each other" in sentence and "anvil==1.1 and bellows==2.0" in sentence


def test_a_folder_that_cannot_be_made(build, tmp_path):
    (tmp_path / "envs").touch()
    sentence = build(["anvil==1.0"])["msg"]
    assert f"cannot be built in {tmp_path / 'envs'}" in sentence and "benchmark_dir" in sentence


def test_a_full_disk(build, tmp_path):
    """pip is told by a wrapper that the disk is full: a real full disk takes root."""
    python = tmp_path / "python-without-space"
    python.write_text(
        "#!/bin/sh\n"
        f'[ "$2" != venv ] && exec {sys.executable} "$@"\n'
        f'mkdir -p "$3/bin"\n'
        """printf '#!/bin/sh\\necho "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on"""
        """ device" >&2\\nexit 1\\n' >"$3/bin/python"\n"""
        'chmod +x "$3/bin/python"\n'
    )
    python.chmod(0o755)
    sentence = build(["anvil==1.0"], python=str(python))["msg"]
    assert "The disk is full, or a quota is used up" in sentence
    assert f"MB are free in {tmp_path / 'envs'}" in sentence
    assert list((tmp_path / "envs").iterdir()) == []


def test_a_failure_that_nobody_knows_is_quoted():
    output = "Collecting anvil\nERROR: first\nERROR: the hash is wrong\n"
    assert (
        explanation(output, "3.11", "x86_64", lambda pin: []) == "pip failed: ERROR: first / ERROR: the hash is wrong"
    )


@pytest.fixture
def hammer(shelf):
    """A package without wheels that needs another one to be built."""
    source_of_hammer(shelf)
    return {"name": "hammer", "requirement": "hammer==1.0", "needs": ["libc6"], "environ": {"HAMMER_WITH": "gloo"}}


def test_a_package_without_wheels_is_compiled_against_the_environment(build, hammer):
    made = build(["anvil==1.1"], build=[hammer])
    assert (made["changed"], made["packages"]) == (True, ["anvil==1.1", "hammer==1.0"])
    against, with_what, at_once = imported(made["python"], "hammer").split()
    assert (against, with_what) == ("1.1", "gloo")
    assert 1 <= int(at_once[len("-j") :]) <= os.cpu_count()
    assert not build(["anvil==1.1"], build=[hammer])["changed"]
    other = build(["anvil==1.1"], build=[{**hammer, "environ": {"HAMMER_WITH": "mpi"}}], check=True)
    assert other["changed"]
    assert other["path"] not in (made["path"], build(["anvil==1.1"], check=True)["path"])


def test_a_long_build_tells_how_far_it_is(hammer, shelf, tmp_path):
    hammer["environ"]["HAMMER_TAKES"] = "30"
    arguments = {"directory": str(tmp_path / "envs"), "name": "demo", "requirements": ["anvil==1.1"], "build": [hammer]}
    tasks = [{"name": "Build the environment", "benchmark_environment": arguments}, {"name": "Go on", "ping": {}}]
    playbook = tmp_path / "build.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", os.devnull, str(playbook)]
    environment = {**of_pip(shelf), "ANSIBLE_STDOUT_CALLBACK": "rackmark"}
    shown = [
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False).stdout
        for _ in "12"
    ]
    first, *told, took, after = shown[0].partition("\nPLAY RECAP")[0].strip("\n").splitlines()[1:]
    assert first == "   0:00  Build the environment"
    assert any(re.fullmatch(r"     0:\d\d  compiling hammer, 45 %; \d+ MB so far", line) for line in told)
    assert re.fullmatch(r" {70,}[ \d.]+ s  1 changed", took)
    assert re.search(r"Go on  .* s  1 ok$", after)
    assert [entry.name[:5] for entry in (tmp_path / "envs").iterdir()] == ["demo-"]
    assert re.search(r"Build the environment  .* s  1 ok$", shown[1].splitlines()[2])


def test_what_compiling_takes_is_missed_before_it_begins(build, hammer, shelf, tmp_path):
    hammer["needs"] = ["libc6", "horseshoe-dev"]
    assert build(["anvil==1.1"], build=[hammer], check=True)["lacking"] == ["horseshoe-dev"]
    sentence = build(["anvil==1.1"], build=[hammer])["msg"]
    assert sentence.startswith("hammer has to be compiled, which takes horseshoe-dev: install that on the host")
    wheel(shelf, "forge", "1.0", tag="cp39-none-any")  # with another Python, compilers would be installed for nothing
    sentence = build(["forge==1.0"], build=[hammer], check=True)["msg"]
    assert sentence.startswith(f"forge==1.0 is not offered for Python {MINOR}")
    assert not (tmp_path / "envs").exists()


def test_why_something_could_not_be_compiled(build, hammer, tmp_path):
    hammer["environ"] = {"HAMMER_FAILS": "yes"}
    sentence = build(["anvil==1.1"], build=[hammer])["msg"]
    (log,) = (tmp_path / "envs").iterdir()
    cause = "hammer.c:1:10: fatal error: mpi.h: No such file or directory"
    assert sentence == f"hammer could not be compiled: {cause}. All that was said is in {log}."
    assert cause in log.read_text()


def test_no_more_compilers_run_than_fit_into_memory():
    package = Compiled("hammer", "hammer==1.0")
    assert build_environ(package, "MemAvailable:    1600000 kB\n")["MAKEFLAGS"] == "-j1"
    most = len(os.sched_getaffinity(0))
    assert build_environ(package, "MemAvailable: 9999999999 kB\n")["MAKEFLAGS"] == f"-j{most}"
    assert build_environ(Compiled("hammer", "hammer", environ={"MAKEFLAGS": "-j7"}), "")["MAKEFLAGS"] == "-j7"
