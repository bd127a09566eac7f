"""The images that FlagPerf's cases run in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rackmark.flagperf.images import images_of
from rackmark.flagperf.importing import read_flagperf

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    return shutil.copytree(ROOT / "tests/flagperf_like", tmp_path / "FlagPerf")


def made(checkout, cases=""):
    return images_of(read_flagperf(checkout, cases))


def test_an_image_has_what_the_vendors_script_installs_and_the_case_requires(checkout):
    vendor = checkout / "training/homemade"
    (vendor / "docker_image/pytorch_1.8/pytorch_install.sh").write_text("true\n")  # not <framework>_install.sh
    (vendor / "tiny-pytorch/config/requirements.txt").write_text("numpy\n")
    (image,) = made(checkout, "tiny:pytorch_1.8:CPU:1:1:1,tiny:pytorch_1.8:CPU:2:1:1")
    assert image.name == "flagperf-homemade-pytorch_1.8-tiny:rackmark"
    assert image.files["Dockerfile"].splitlines() == [
        "FROM counting:1",
        "COPY . /flagperf-image",
        "WORKDIR /flagperf-image",
        "RUN bash ./pytorch_install.sh",
        "RUN python3 -m pip install -r case-requirements.txt",
    ]
    assert image.files["case-requirements.txt"] == "numpy\n"
    assert image.files["pytorch_install.sh"] == "true\n"


def test_names_are_what_docker_takes(checkout):
    folder = checkout / "training/homemade/docker_image"
    shutil.copytree(folder / "pytorch_1.8", folder / "megatron")
    (image,) = made(checkout, "Qwen1.5+MoE:megatron:CPU:1:8:1")
    assert image.name == "flagperf-homemade-megatron-qwen1.5-moe:rackmark"


def test_a_dockerfile_that_is_missing_is_named(checkout):
    with pytest.raises(ValueError) as refused:
        made(checkout, "tiny:pytorch_2.0:CPU:1:1:1,tinylm:megatron:CPU:1:1:1")
    first, second = str(refused.value).splitlines()
    assert "docker_image/pytorch_2.0/Dockerfile is not there. Name an image of your own with -e runtime=docker" in first
    assert "docker_image/megatron/Dockerfile is not there." in second
