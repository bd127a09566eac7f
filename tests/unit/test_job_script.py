"""The job's script and its record, as they come out of a plan."""

import json
from dataclasses import replace
from pathlib import Path

from rackmark.node.job_record import read_record
from rackmark.run.job_script import Launch, job_records, job_script, launch_of
from rackmark.run.queues import queue_for
from rackmark.run.queues.queue import Setting, jobs_of
from rackmark.run.run_plan import as_data
from unit.resnet_plan_fixture import GPUS, LAB, plan


def script(made, launch=None, options=None):
    data = as_data(made)
    launch = launch or Launch("slurm", "/shared/runs/r", "/shared/env/bin/python", more={"package": "torch"})
    queue = queue_for(launch.launcher, Setting(None, options=options or {}))
    job = jobs_of(data, Path(launch.run_dir))[-1]
    return job_script(job.folder, launch, queue.script_head(job))


def test_the_job_script_asks_slurm_for_what_the_operator_said():
    options = {"partition": "gpu", "account": "physics", "qos": "high", "constraint": "a100&nvlink"}
    text = script(plan(LAB, GPUS), options={**options, "more": ["--reservation=tests"]})
    wanted = ["nodes=4", "ntasks-per-node=8", "gres=gpu:8", "exclusive", "time=10", "partition=gpu", "account=physics"]
    for option in (*wanted, "qos=high", "constraint=a100&nvlink", "reservation=tests"):
        assert f"#SBATCH --{option}\n" in text
    assert text.startswith("#!/bin/bash\n#SBATCH --job-name=rackmark:20261118-101500-resnet50:4n8g:3\n")


def test_a_cluster_without_devices_is_not_asked_for_any():
    assert "gres" not in script(plan())


def record(made, launch):
    """That of the last job, when it has been to the host that submits."""
    data = json.loads(json.dumps(as_data(made)))
    return job_records(data, launch)[data["jobs"][-1]["name"]]


def test_hosts_without_slurm_are_named_in_the_record():
    launch = Launch("ssh", "/shared/runs/r", "/shared/env/bin/python", hosts=["a", "b", "c"])
    assert record(plan(replace(LAB, nodes="2")), launch).hosts == ["a", "b"]


def test_what_was_asked_for_stands_in_the_record_and_not_in_the_script(tmp_path):
    launch = Launch("slurm", "/s/runs/r", "/s/env/bin/python", more={"threads": 3, "telemetry": 1})
    made = record(plan(LAB, GPUS), launch)
    assert (made.name, made.case, made.repeat) == ("rackmark:20261118-101500-resnet50:4n8g:3", "4n8g", 3)
    assert (made.nodes, made.devices_per_node, made.world_size, made.threads) == (4, 8, 32, 3)
    assert made.program[:2] == ["/s/env/bin/python", "/s/runs/r/code/train_pytorch.py"]
    assert (made.ranks, made.meet, made.measure, made.dataset) == ("device", "torch", "steps", "")
    (tmp_path / "record.json").write_text(made.text())
    assert read_record(tmp_path).text() == made.text()
    assert script(plan(LAB, GPUS), launch).endswith("r3 || exit 1\nexec python3 /s/runs/r/engine/job.py\n")


def test_a_container_gets_image_and_folders():
    launch = Launch("slurm", "/s/runs/r", "python3", more={"image": "train:1", "shm_size": "8g", "mounts": ["/s"]})
    made = record(plan(), launch)
    assert (made.image, made.shm_size, made.mounts) == ("train:1", "8g", ["/s"])


def test_what_the_plan_says_nothing_of_goes_into_the_record_by_its_name():
    given = {"launcher": "local", "python": "/p", "package": "x", "threads": 2, "shm_size": "1g", "telemetry": 0.5}
    found = record(plan(replace(LAB, nodes="1")), launch_of(given, "/runs/r", "/usr/bin/python3"))
    assert (found.launcher, found.package, found.threads, found.shm_size, found.telemetry) == (
        "local",
        "x",
        2,
        "1g",
        0.5,
    )
