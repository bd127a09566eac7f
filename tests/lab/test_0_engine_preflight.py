from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib import metadata

import pytest
from lab.engine_fixture import Run
from rackmark.node.code_digest import write_list


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


@pytest.fixture
def dataset(tmp_path):
    for part, images in (("train", 3), ("val", 1)):
        for name in ("cat", "dog"):
            folder = tmp_path / "data" / part / name
            folder.mkdir(parents=True)
            for number in range(images):
                (folder / f"{number}.jpg").write_bytes(bytes(100))
    return tmp_path / "data"


def look(run, *flags, accelerator="none", ranks=1, program=sys.executable, **fields):
    """What the node itself says: its facts, its problems, and the seconds of processor time it took."""
    (run.folder / ".preflight").mkdir(exist_ok=True)
    (run.folder / ".preflight" / "token").write_text("secret")
    run.record(devices_per_node=ranks, accelerator=accelerator, **{"program": [program], **fields})
    words = ["--folder", str(run.folder), "--token", "secret", "--first-node", "node1", "--index", "0", "--job", "7"]
    words += flags
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-SE", str(run.engine / "preflight.py"), *words],
        env=run.environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    after = os.times()
    said = [json.loads(line.partition(" ")[2]) for line in done.stdout.splitlines()]
    facts = {entry["name"]: entry["value"] for entry in said if entry["name"] != "problem"}
    problems = [entry["value"] for entry in said if entry["name"] == "problem"]
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return facts, problems, spent


def test_what_is_recorded_of_a_node(run):
    run(package="ansible-core")
    found = run.read("preflight.json")
    (node,) = found["nodes"].values()
    assert (found["schema"], found["ok"], found["problems"]) == ("rackmark.preflight/1", True, [])
    assert node["cpus"] == os.cpu_count()
    assert node["memory_mb"] > 100
    assert node["free_mb"] > 200
    assert node["kernel"] == os.uname().release
    assert (node["python"], node["package_version"]) == (sys.version.split()[0], metadata.version("ansible-core"))
    assert (node["devices"], node["driver"], node["image_digest"], node["clock_offset_s"]) == ([], None, None, 0.0)
    assert node["code_digest"] is None  # beside this engine is no code
    assert node["os"]
    assert node["model"]


def test_all_faults_are_said_at_once_and_nothing_is_started(run, tmp_path):
    data = {"dataset": str(tmp_path / "nothing"), "data": "imagefolder"}
    assert run(package="no-such-package", accelerator="ascend", **data) == 3
    end, found = run.read("end.json"), run.read("preflight.json")
    assert (end["state"], found["ok"]) == ("preflight_failed", False)
    for words in ("needs 2", "no package no-such-package", f"The dataset has no folder {tmp_path}/nothing/train"):
        assert [problem for problem in found["problems"] if words in problem], words
        assert words in end["reason"]
        assert words in run.output
    assert all(problem.startswith(f"{end['nodes'][0]}: ") for problem in found["problems"])
    assert not list(run.folder.glob("rank-*"))


def test_the_question_for_a_version_costs_little_and_imports_nothing(run, tmp_path):
    package = tmp_path / "lib" / "heavy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (tmp_path / "lib" / "heavy-1.2.dist-info").mkdir()
    (tmp_path / "lib" / "heavy-1.2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: heavy\nVersion: 1.2\n"
    )
    run.environment["PYTHONPATH"] = str(tmp_path / "lib")
    facts, problems, spent = look(run, package="heavy")
    assert (facts["package_version"], problems) == ("1.2", [])
    assert spent < 0.5


def test_another_folder_under_the_same_name_is_noticed(run):
    facts, problems, _ = look(run, "--token", "other")
    assert "is not the folder that node1 has under this name" in problems[0]
    assert facts["clock_against_storage"] is None


def test_a_folder_that_cannot_be_written_to(run):
    look(run)
    if os.geteuid() == 0:  # whom nothing keeps from writing but a folder in the way
        (run.folder / ".preflight" / "node-0").unlink()
        (run.folder / ".preflight" / "node-0").mkdir()
    else:
        (run.folder / ".preflight").chmod(0o555)
    _, problems, _ = look(run)
    assert f"{run.folder} cannot be written to" in problems[0]


def test_a_program_that_does_not_run_is_quoted(run, tmp_path):
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho 'libpython is missing' >&2\nexit 127\n")
    broken.chmod(0o755)
    _, problems, _ = look(run, program=str(broken))
    assert problems == [f"{broken} does not run: libpython is missing"]


@pytest.mark.parametrize(
    ("vendor", "variables", "seen"),
    [
        ("nvidia", {}, [0, 1, 2, 10]),
        ("nvidia", {"CUDA_VISIBLE_DEVICES": "1,3"}, [1, 10]),
        ("nvidia", {"CUDA_VISIBLE_DEVICES": "-1"}, []),
        ("nvidia", {"CUDA_VISIBLE_DEVICES": "GPU-8a6f2c"}, [0, 1, 2, 10]),
        ("nvidia", {"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_JOB_GPUS": "2,10"}, [2, 10]),
        ("nvidia", {"SLURM_JOB_GPUS": "0-2"}, [0, 1, 2]),
        ("ascend", {"ASCEND_RT_VISIBLE_DEVICES": "2,10"}, [2, 10]),
    ],
)
def test_the_devices_of_the_job_are_counted(run, tmp_path, vendor, variables, seen):
    prefix = devices_in(tmp_path, vendor)
    run.environment.update(variables)
    facts, problems, _ = look(run, "--dev", str(tmp_path / "dev"), accelerator=vendor, ranks=4)
    assert facts["devices"] == [f"{prefix}{number}" for number in seen]
    missing = [f"The job can use {len(seen)} {vendor} devices and needs 4; 4 device files"] if len(seen) < 4 else []
    assert [problem[: len(missing[0])] for problem in problems] == missing


def test_a_process_that_holds_a_device_is_named(run, tmp_path):
    prefix = devices_in(tmp_path, "ascend")
    with subprocess.Popen(["sleep", "60"], stdin=open(f"{prefix}1", "rb")) as holder:  # noqa: PTH123
        _, problems, _ = look(run, "--dev", str(tmp_path / "dev"), accelerator="ascend", ranks=2)
        holder.kill()
    assert [problem for problem in problems if f"process {holder.pid} (sleep) already works on the devices" in problem]


def test_what_the_driver_lists_counts_too(run, tmp_path):
    devices_in(tmp_path, "nvidia")
    run.tool(
        "nvidia-smi",
        "import sys\n"
        "print('GPU 0: NVIDIA H100 (UUID: GPU-1)' if '-L' in sys.argv else\n"
        "      '535.1' if '--query-gpu=driver_version' in sys.argv else '4711, python')\n",
    )
    facts, problems, _ = look(run, "--dev", str(tmp_path / "dev"), accelerator="nvidia", ranks=2)
    assert facts["driver"] == "535.1"
    assert "The driver lists 1 nvidia devices, and the job needs 2." in problems
    assert [problem for problem in problems if problem.startswith("process 4711 (python) already works")]


def test_a_dataset_is_counted(run, dataset):
    facts, problems, _ = look(run, dataset=str(dataset), data="imagefolder")
    assert problems == []
    assert {name: facts["dataset"][name] for name in ("classes", "train", "val", "bytes")} == {
        "classes": 2,
        "train": 6,
        "val": 2,
        "bytes": 800,
    }


def test_a_dataset_whose_halves_do_not_fit(run, dataset):
    (dataset / "val" / "dog").rename(dataset / "val" / "wolf")
    (dataset / "train" / "empty").mkdir()
    _, problems, _ = look(run, dataset=str(dataset), data="imagefolder")
    assert f"train and val of the dataset {dataset} have different classes: 3 are in one of them alone" in problems[0]
    assert problems[1].endswith("hold no images, such as train/empty.")


DOCKER = """
import json, os, sys
if "inspect" in sys.argv:
    if "absent" in sys.argv:
        sys.exit("Error: No such image: absent")
    if "down" in sys.argv:
        sys.exit("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    print('["registry/image@sha256:abc"] "sha256:def"')
else:
    print('["3.10.1", "2.9", null]')
"""


def test_the_code_and_the_packages_have_digests(run):
    code = run.engine.parent / "code"
    code.mkdir()
    (code / "train.py").write_text("print()")
    digest = write_list(run.engine.parent, ["train.py"])
    found = []
    for content in ("print()", "print(1)"):
        (code / "train.py").write_text(content)
        facts, problems, _ = look(run)
        assert problems == []
        found.append(facts["code_digest"])
    assert found[0] == digest != found[1]
    in_environment = sys.prefix != sys.base_prefix
    assert (facts["packages_digest"] is not None) == in_environment


def test_the_image_is_looked_at_on_the_node(run):
    run.tool("docker", DOCKER)
    facts, problems, _ = look(run, image="there", package="torch", program="python3")
    assert problems == []
    seen = (facts["image_digest"], facts["python"], facts["package_version"])
    assert seen == ("registry/image@sha256:abc", "3.10.1", "2.9")


@pytest.mark.parametrize(
    ("image", "words"), [("absent", "Docker has no image absent."), ("down", "Cannot connect to the Docker daemon")]
)
def test_an_image_that_is_missing_or_a_daemon_that_is_silent(run, image, words):
    run.tool("docker", DOCKER)
    _, problems, _ = look(run, image=image, program="python3")
    assert words in problems[0]


def test_the_clock_is_compared_with_the_storage(run):
    before = time.time()
    facts, _, _ = look(run)
    least, most = facts["clock_against_storage"]
    assert -1 < least <= most < 1 + time.time() - before


def devices_in(folder, vendor):
    """Plain files stand for devices: who may open them is asked in the same way."""
    prefix = folder / "dev" / {"nvidia": "nvidia", "ascend": "davinci"}[vendor]
    prefix.parent.mkdir()
    for name in ("0", "1", "2", "10", "ctl", "_manager"):
        prefix.with_name(prefix.name + name).touch()
    return str(prefix)
