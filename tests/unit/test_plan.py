from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rackmark.run.job_script import Launch, SlurmOptions, job_script
from rackmark.run.place import Place
from rackmark.run.plan import Asked, as_data, make_plan

ROOT = Path(__file__).parents[2]
RESNET = yaml.safe_load((ROOT / "workloads/resnet50/workload.yml").read_text())
LAB = Asked(preset="lab")
GPUS = Place(nodes=4, devices_per_node=8, accelerator="nvidia", resource="gpu", device="cuda")


def plan(asked=LAB, place=None):
    return make_plan(RESNET, asked, "20261118-101500-resnet50", place or Place(nodes=4, devices_per_node=1))


def flag(job, name):
    return job.arguments[job.arguments.index(name) + 1]


def test_the_lab_preset_measures_one_two_and_four_nodes_twice():
    made = plan()
    assert [(case.case, case.repeats) for case in made.cases] == [("1n1g", 3), ("2n1g", 3), ("4n1g", 3)]
    assert [job.name for job in made.jobs][:2] == [
        "rackmark:20261118-101500-resnet50:1n1g:1",
        "rackmark:20261118-101500-resnet50:1n1g:2",
    ]
    assert made.jobs[-1].folder == "cases/4n1g/r3"


def test_what_the_operator_gives_wins_over_the_preset():
    made = plan(replace(LAB, cases="2n1g", repeats="5", batch="32", precision="bf16", steps="7", warmup="0"))
    assert [(c.case, c.repeats, c.batch_per_device, c.precision) for c in made.cases] == [("2n1g", 5, 32, "bf16")]
    assert (len(made.jobs), made.steps, made.warmup) == (5, 7, 0)
    job = made.jobs[0]
    assert [flag(job, name) for name in ("--batch", "--precision", "--steps", "--warmup")] == ["32", "bf16", "7", "0"]


def test_single_settings_and_further_flags():
    made = plan(replace(LAB, settings={"image_size": 96}, flags=["--deterministic", "--checkpoint", "a {b}"]))
    job = made.jobs[0]
    assert flag(job, "--image-size") == "96"
    assert job.arguments[-3:] == ["--deterministic", "--checkpoint", "a {b}"]
    assert made.settings["image_size"] == 96


def test_data_of_ones_own_comes_with_its_options():
    assert "--data" not in plan().jobs[0].arguments
    made = plan(replace(LAB, data="/userhome/imagenet"))
    assert flag(made.jobs[0], "--data") == "/userhome/imagenet"
    assert made.data == "/userhome/imagenet"


def test_dlperf_protocol():
    made = plan(Asked(preset="dlperf"), GPUS)
    assert [case.case for case in made.cases] == ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]
    assert {(case.batch_per_device, case.precision, case.repeats) for case in made.cases} == {(128, "fp32", 5)}
    assert (made.warmup, made.warmup + made.steps) == (100, 200)
    half = plan(Asked(preset="dlperf", precision="fp16"), GPUS)
    assert {case.batch_per_device for case in half.cases} == {256}


def test_strong_scaling_divides_one_batch():
    made = plan(replace(LAB, scaling="strong", batch="32"))
    assert [case.batch_per_device for case in made.cases] == [32, 16, 8]
    assert [flag(job, "--batch") for job in made.jobs[::3]] == ["32", "16", "8"]
    with pytest.raises(ValueError, match="batch=6 cannot be divided among the 4 devices of 4n1g"):
        plan(replace(LAB, scaling="strong", batch="6"))


def test_flagperf_cases_bring_their_repeats_and_framework():
    made = plan(replace(LAB, cases="resnet50:pytorch_2.0:A100:1:8:2,2n8g"), GPUS)
    assert [(case.case, case.repeats) for case in made.cases] == [("1n8g", 2), ("2n8g", 3)]
    assert (made.framework, made.hardware) == ("pytorch", "A100")


def test_costs_are_told():
    table = "\n".join(plan(replace(LAB, minutes="30")).table())
    assert "4n1g         3      4            16                  6.0" in table


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (replace(LAB, nodes="9"), "nodes=9 needs 9 nodes, the cluster has 4"),
        (replace(LAB, precision="fp7"), "precision=fp7 is unknown to pytorch on cpu: use bf16, fp32"),
        (replace(LAB, framework="caffe"), "framework=caffe is unknown: use mindspore, pytorch"),
        (replace(LAB, preset="huge"), "preset=huge is unknown: use dlperf, full, lab, tiny"),
        (replace(LAB, batch="0"), "batch=0 is not a whole number"),
        (replace(LAB, repeats="many"), "repeats=many is not a whole number"),
        (replace(LAB, cases="8x"), "'8x' is not a case"),
        (replace(LAB, scaling="odd"), "scaling=odd is unknown: use strong, weak"),
        (replace(LAB, baseline="1n8g"), "baseline=1n8g is not a case of this run: use one of 1n1g, 2n1g, 4n1g"),
        (replace(LAB, settings={"colour": 1}), "The preset lab has no setting colour: use image_size, seed, workers"),
        (replace(LAB, cases="bert:pytorch:A100:1:1:1"), "Case 1n1g is for the model 'bert'"),
        (replace(LAB, cases="resnet50:mindspore:A100:1:1:1", framework="pytorch"), "mindspore, pytorch were given"),
    ],
)
def test_nonsense_is_refused_with_what_is_valid(asked, words):
    with pytest.raises(ValueError, match=words):
        plan(asked)


def test_a_command_with_a_setting_that_no_preset_has_is_refused():
    broken = {**RESNET, "frameworks": {"pytorch": {**RESNET["frameworks"]["pytorch"], "command": "t.py {colour}"}}}
    with pytest.raises(ValueError, match="has colour in braces: use batch, data, device"):
        make_plan(broken, LAB, "r", Place(nodes=1, devices_per_node=1))


def script(made, launch=None, slurm=None):
    data = as_data(made)
    launch = launch or Launch("slurm", "/shared/runs/r", "/shared/env/bin/python", "torch")
    return job_script(data["jobs"][-1], data, launch, slurm or SlurmOptions())


def test_the_job_script_asks_slurm_for_what_the_operator_said():
    options = SlurmOptions("gpu", "physics", "high", "a100&nvlink", ["--reservation=tests"])
    text = script(plan(LAB, GPUS), slurm=options)
    wanted = ["nodes=4", "ntasks-per-node=8", "gres=gpu:8", "exclusive", "time=10", "partition=gpu", "account=physics"]
    for option in (*wanted, "qos=high", "constraint=a100&nvlink", "reservation=tests"):
        assert f"#SBATCH --{option}\n" in text
    assert text.startswith("#!/bin/bash\n#SBATCH --job-name=rackmark:20261118-101500-resnet50:4n8g:3\n")


def test_a_cluster_without_devices_is_not_asked_for_any():
    assert "gres" not in script(plan())


def test_hosts_without_slurm_are_named_in_the_script():
    launch = Launch("ssh", "/shared/runs/r", "/shared/env/bin/python", "torch", hosts=["a", "b", "c"])
    text = script(plan(replace(LAB, nodes="2")), launch)
    assert "--host a" in text
    assert "--host b" in text
    assert "--host c" not in text


def test_a_container_gets_image_and_folders():
    launch = Launch("slurm", "/s/runs/r", "python3", "torch", image="train:1", shm_size="8g", mounts=["/s"])
    text = script(plan(), launch)
    assert "--image train:1" in text
    assert "--mount /s" in text
