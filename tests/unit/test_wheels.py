from __future__ import annotations

from rackmark.wheels import Interpreter, cpu_build

CP311 = Interpreter("cp311", "x86_64")


def wheels(folder, *names):
    for name in names:
        (folder / name).touch()
    return [folder]


def test_the_newest_cpu_build_that_fits(tmp_path):
    folders = wheels(
        tmp_path,
        "torch-2.9.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.14.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl",
        "torch-2.14.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl",
        "torchvision-2.20.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
    )
    assert cpu_build("torch", folders, CP311) == "torch==2.13.0+cpu"


def test_a_build_with_cuda_is_never_taken(tmp_path):
    folders = wheels(
        tmp_path,
        "torch-2.14.1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.14.1+cu130-cp311-cp311-manylinux_2_28_x86_64.whl",
    )
    assert cpu_build("torch", [*folders, tmp_path / "missing"], CP311) is None
