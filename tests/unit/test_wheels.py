from __future__ import annotations

import subprocess
import sys

import pytest
from rackmark.environments import pip_config
from rackmark.environments.wheels import Interpreter, Pin, pin, with_cpu_build

CP311 = Interpreter("cp311", "x86_64")
PINS = ["torch==2.13.0", "numpy==2.2.6"]


def wheels(folder, *names):
    for name in names:
        (folder / name).touch()
    return [folder]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("torch==2.13.0", Pin("torch", "2.13.0")),
        ("torch===2.13.0", Pin("torch", "2.13.0")),
        ("torch_npu == 2.9.0.post9 ; python_version < '3.13'", Pin("torch_npu", "2.9.0.post9")),
        ("torch==2.13.0+cpu", Pin("torch", "2.13.0+cpu")),
        ("torch>=2.13.0", None),
        ("torch", None),
    ],
)
def test_the_exact_version_of_a_requirement(requirement, expected):
    assert pin(requirement) == expected


def test_the_cpu_build_of_the_pinned_version_that_fits(tmp_path):
    folders = wheels(
        tmp_path,
        "torch-2.9.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.14.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torchvision-2.20.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
    )
    assert with_cpu_build(PINS, "torch", folders, CP311) == ["torch==2.13.0+cpu", "numpy==2.2.6"]


def test_the_newest_cpu_build_that_fits_where_the_pinned_version_is_not_there(tmp_path):
    folders = wheels(
        tmp_path,
        "torch-2.9.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.10.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl",
        "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl",
    )
    assert with_cpu_build(PINS, "torch", folders, CP311) == ["torch==2.10.0+cpu", "numpy==2.2.6"]


def test_a_build_with_cuda_is_never_taken(tmp_path):
    folders = wheels(
        tmp_path,
        "torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.13.0+cu130-cp311-cp311-manylinux_2_28_x86_64.whl",
    )
    assert with_cpu_build(PINS, "torch", [*folders, tmp_path / "missing"], CP311) is None


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"PIP_FIND_LINKS": "/of/environment  /and/another"},
        {"PIP_CONFIG_FILE": "{home}/named.conf"},
        {"PIP_CONFIG_FILE": "{home}/missing.conf"},
        {"PIP_CONFIG_FILE": "/dev/null"},
        {"XDG_CONFIG_HOME": "{home}/elsewhere", "XDG_CONFIG_DIRS": "{home}/system"},
    ],
)
def test_settings_are_those_that_pip_itself_finds(tmp_path, environ):
    for name, content in {
        "system/pip/pip.conf": "[global]\nfind-links = /of/system\ntimeout = 7\n",
        ".config/pip/pip.conf": "[global]\nfind-links =\n    /of/user\n    https://wheels.example.org\n",
        "elsewhere/pip/pip.conf": "[install]\nfind-links = /of/install\n[global]\nfind-links = /of/global\n",
        "named.conf": "[global]\nindex-url = https://index.example.org/simple\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    environ = {name: value.format(home=tmp_path) for name, value in environ.items()}
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env={"HOME": str(tmp_path), **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    assert pip_config.read(environ, tmp_path) == pip_config.parse(listed.stdout)


def test_settings_that_nobody_can_read_are_named(tmp_path):
    broken = tmp_path / "pip.conf"
    broken.write_text("find-links = /wheels\n")
    with pytest.raises(ValueError, match=r"pip's settings cannot be read: .*pip\.conf"):
        pip_config.read({"PIP_CONFIG_FILE": str(broken)}, tmp_path)
