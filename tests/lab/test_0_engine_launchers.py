"""ssh, srun and docker are stood in for by programs that do on this machine what the real ones do elsewhere."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from lab.engine_fixture import Run, wait_until
from lab.stand_ins import DOCKER, SCONTROL, SRUN, SSH, STAYING_SRUN


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    run.environment["CALLS"] = str(tmp_path / "calls")
    for name, program in (("ssh", SSH), ("srun", SRUN), ("scontrol", SCONTROL), ("docker", DOCKER)):
        run.tool(name, program)
    return run


def calls(run):
    return [json.loads(line) for line in (run.folder.parents[3] / "calls").read_text().splitlines()]


TWO_HOSTS = ("127.0.0.1", "localhost")


def test_over_ssh_every_node_gets_its_ranks(run):
    assert run(launcher="ssh", nodes=2, hosts=TWO_HOSTS) == 0, run.output
    assert [run.records(rank)[0]["RANK"] for rank in range(4)] == ["0", "1", "2", "3"]
    assert [run.records(rank)[0]["NODE_RANK"] for rank in range(4)] == ["0", "0", "1", "1"]
    assert {run.records(rank)[0]["WORLD_SIZE"] for rank in range(4)} == {"4"}
    assert {run.records(rank)[0]["MASTER_ADDR"] for rank in range(4)} == {"127.0.0.1"}
    assert set(run.read("preflight.json")["nodes"]) == {"127.0.0.1", "localhost"}
    assert all(call[-2] == "localhost" and "BatchMode=yes" in call for call in calls(run)), "the first node is this one"
    assert len(calls(run)) == 2


def test_a_rank_that_fails_ends_those_on_other_nodes(run):
    assert run("--fail=3", launcher="ssh", nodes=2, hosts=TWO_HOSTS) == 1
    assert run.read("end.json")["first_failed"] == 3
    assert "rank 3 on localhost" in run.read("end.json")["reason"]
    assert run.statuses() == {0: "143", 1: "143", 2: "143", 3: "1"}
    assert not run.processes()


def test_a_host_that_cannot_be_reached_is_named(run):
    assert run(launcher="ssh", nodes=2, hosts=("127.0.0.1", "unreachable")) == 3
    (problem,) = run.read("preflight.json")["problems"]
    assert problem.startswith("unreachable: ")
    assert "No route to host" in problem


def test_ranks_behind_ssh_end_when_the_job_is_killed(run):
    job = run.begin(run.command("--hang=all", launcher="ssh", nodes=2, hosts=TWO_HOSTS))
    run.wait_for_steps(2, ranks=4)
    job.send_signal(signal.SIGKILL)
    job.wait(20)
    wait_until(lambda: not run.processes())


def test_the_number_of_hosts_has_to_be_that_of_the_nodes(run):
    assert run(launcher="ssh", nodes=3, hosts=TWO_HOSTS) == 6
    assert run.read("end.json")["reason"] == "launcher=ssh needs 3 hosts, not 2."


def in_slurm(run):
    run.environment.update(SLURM_JOB_ID="12", SLURM_JOB_NODELIST="node[1-2]")


def test_slurm_lays_out_the_ranks(run):
    in_slurm(run)
    assert run(launcher="slurm", nodes=2) == 0, run.output
    assert [run.records(rank)[0]["NODE_RANK"] for rank in range(4)] == ["0", "0", "1", "1"]
    assert {run.records(rank)[0]["LOCAL_WORLD_SIZE"] for rank in range(4)} == {"2"}
    assert {run.records(rank)[0]["MASTER_ADDR"] for rank in range(4)} == {"node1"}
    assert run.records(0)[0]["OMP_NUM_THREADS"] == str(min(3, len(os.sched_getaffinity(0))))
    assert list(run.read("preflight.json")["nodes"]) == run.read("end.json")["nodes"] == ["node1", "node2"]
    look, ranks = calls(run)
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--label"} <= set(look)
    assert {"--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--kill-on-bad-exit=1"} <= set(ranks)


def test_a_node_of_slurm_that_cannot_answer_is_named(run):
    in_slurm(run)
    run.environment["BROKEN"] = "node2"
    assert run(launcher="slurm", nodes=2) == 3
    (problem,) = run.read("preflight.json")["problems"]
    assert problem.startswith("node2: The node did not answer")
    assert "No such file or directory" in problem


def test_a_rank_that_fails_under_slurm_is_named(run):
    in_slurm(run)
    run.training.write_text("import os, sys\nsys.exit(7 if os.environ['RANK'] == '2' else 0)")
    assert run(launcher="slurm", nodes=2) == 7
    assert "rank 2 on node2 ended with exit status 7" in run.read("end.json")["reason"]


def test_a_rank_of_slurm_that_is_killed_with_its_wrapper_is_named(run):
    """The others are told to end for it, as srun does where a task ends badly."""
    in_slurm(run)
    run.training.write_text(
        "import os\nos.kill(os.getppid(), 9) if os.environ['RANK'] == '2' else os.kill(os.getpid(), 15)"
    )
    assert run(launcher="slurm", nodes=2) == 1
    end = run.read("end.json")
    assert end["first_failed"] == 2
    assert "rank 2 on node2 ended without an exit status" in end["reason"]
    assert run.statuses() == {0: "143", 1: "143", 3: "143"}


def test_several_ranks_that_are_killed_with_their_wrappers_are_all_named(run):
    in_slurm(run)
    run.training.write_text(
        "import os\nos.kill(os.getppid(), 9) if os.environ['RANK'] in '23' else os.kill(os.getpid(), 15)"
    )
    assert run(launcher="slurm", nodes=2) == 1
    end = run.read("end.json")
    assert end["first_failed"] is None, "nobody knows which was first"
    assert "No exit status was left by rank 2 on node2, rank 3 on node2" in end["reason"]


def test_srun_that_stays_when_all_ranks_have_ended_well_is_ended(run):
    """As it does when a slurmstepd was killed: nobody is left to tell it that the tasks are over."""
    in_slurm(run)
    run.tool("srun", STAYING_SRUN)
    job = run.begin(run.command(launcher="slurm", nodes=2, stalled_after=2))
    assert job.wait(20) == 0
    end = run.read("end.json")
    assert (end["state"], end["reason"]) == ("ok", None)
    assert "srun has not ended 2 s after all ranks had: it is ended." in job.communicate()[0].decode()
    assert not run.processes()


def test_srun_that_stays_hides_no_rank_that_failed(run):
    in_slurm(run)
    run.tool("srun", STAYING_SRUN)
    run.training.write_text("import os, sys\nsys.exit(7 if os.environ['RANK'] == '2' else 0)")
    assert run(launcher="slurm", nodes=2, stalled_after=2) == 7
    assert run.read("end.json")["first_failed"] == 2


def test_the_limit_of_slurm_is_told_from_a_cancelled_job(run):
    in_slurm(run)
    job = run.begin(run.command("--hang=all", launcher="slurm", nodes=2, minutes=0.03))
    run.wait_for_steps(2, ranks=4)
    time.sleep(2)
    assert job.poll() is None, "the limit is Slurm's to enforce"
    job.terminate()
    assert job.wait(30) == 5
    assert run.read("end.json")["state"] == "timeout"


def test_srun_that_starts_nothing_is_a_failed_launch(run):
    in_slurm(run)
    run.tool("srun", SRUN.replace("started = []", "if 'label' not in flags: sys.exit('srun: error: no')\nstarted = []"))
    assert run(launcher="slurm", nodes=2) == 6
    end = run.read("end.json")
    assert (end["state"], end["reason"]) == (
        "launch_failed",
        "srun ended with exit status 1 before any rank had started.",
    )


def test_one_container_on_each_node(run):
    in_slurm(run)
    assert run(launcher="slurm", nodes=2, image="image:1", shm_size="2g", mounts=["/etc"]) == 0, run.output
    containers = [call for call in calls(run) if call[0] == "run" and "--init" in call]
    assert len(containers) == 2
    for call in containers:
        assert {"--rm", "--interactive", "--label=rackmark.job=12", "--network=host", "--shm-size=2g"} <= set(call)
        assert {"--volume=/etc:/etc", f"--workdir={run.folder}"} <= set(call)
        assert not [word for word in call if word.startswith(("--device", "--gpus", "--ulimit=memlock"))]
    names = [word for call in containers for word in call if word.startswith("--name=rackmark-12-")]
    assert len(set(names)) == 2
    assert run.statuses() == dict.fromkeys(range(4), "0")
    assert {node["image_digest"] for node in run.read("preflight.json")["nodes"].values()} == {
        "registry/image@sha256:abc"
    }


@pytest.fixture
def container(run):
    def begin(*flags, accelerator="none", ranks=2, behaviour=("--hang=all",), mounts=(), **variables):
        run.environment.update(variables)
        (run.folder.parents[3] / "calls").touch()
        asked = {"devices_per_node": ranks, "accelerator": accelerator, "image": "image:1", "shm_size": "2g"}
        run.record(*behaviour, mounts=mounts, **asked)
        node = ["--node-rank", "0", "--address", "127.0.0.1", "--master", "127.0.0.1:20123"]
        words = ["--job", "12", *flags, "--", *node]
        return subprocess.Popen(
            [sys.executable, "-SE", str(run.engine / "container.py"), *words],
            cwd=run.folder,
            env=run.environment,
            stdin=subprocess.PIPE,
        )

    return begin


@pytest.mark.parametrize(
    ("vendor", "driver", "given"),
    [
        ("nvidia", True, ['--gpus="device=2,3"']),
        ("nvidia", False, ["--device={dev}/nvidia2", "--device={dev}/nvidia3"]),
        ("ascend", True, ["--device={dev}/davinci2", "--device={dev}/davinci3"]),
    ],
)
def test_a_container_gets_only_devices_of_its_job(run, container, tmp_path, monkeypatch, vendor, driver, given):
    dev = tmp_path / "dev"
    dev.mkdir()
    monkeypatch.chdir(dev)  # the path of a socket must be short
    for number in range(6):
        name = {"nvidia": "nvidia", "ascend": "davinci"}[vendor] + str(number)
        if driver:
            (dev / name).touch()
        else:  # a socket cannot be opened, with the same error as a device file without a driver
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(name)
    started = container("--dev", str(dev), accelerator=vendor, behaviour=(), SLURM_JOB_GPUS="2,3,5")
    assert started.wait(20) == 0
    asked = [word for word in calls(run)[0] if word.startswith(("--device", "--gpus"))]
    assert asked[: len(given)] == [word.format(dev=dev) for word in given]
    assert not [word for word in asked[len(given) :] if str(dev) in word]


def test_folders_inside_of_others_are_not_mounted_again(run, container):
    """Docker's engine may not enter the inner ones where the storage takes root for nobody."""
    top = run.folder.parents[3]
    assert container(mounts=[str(top), "/etc"], behaviour=()).wait(20) == 0
    mounts = [word for word in calls(run)[0] if word.startswith("--volume")]
    assert mounts == [f"--volume={top}:{top}", "--volume=/etc:/etc"]


def test_rdma_may_keep_memory_in_its_place(run, container, tmp_path):
    dev = tmp_path / "dev"
    (dev / "infiniband").mkdir(parents=True)
    (dev / "davinci0").touch()
    assert container("--dev", str(dev), accelerator="ascend", ranks=1, behaviour=()).wait(20) == 0
    assert {f"--device={dev}/infiniband", "--ulimit=memlock=-1"} <= set(calls(run)[0])


def test_tuning_is_passed_on_and_visible_devices_are_not(run, container):
    assert container(behaviour=(), NCCL_DEBUG="INFO", CUDA_VISIBLE_DEVICES="3").wait(20) == 0
    given = [word for word in calls(run)[0] if word.startswith("--env")]
    assert "--env=NCCL_DEBUG" in given
    assert not [word for word in given if "VISIBLE" in word]


@pytest.mark.parametrize("how", ["asked", "killed", "stdin"])
def test_a_container_does_not_outlive_who_started_it(run, container, how):
    started = container("--until-stdin-closes")
    run.wait_for_steps(2)
    if how == "stdin":
        started.stdin.close()
    else:
        started.send_signal(signal.SIGTERM if how == "asked" else signal.SIGKILL)
    started.wait(20)
    wait_until(lambda: not run.processes())
    assert run.statuses() == {0: "143", 1: "143"}


def test_a_container_that_does_not_end_is_removed_by_its_name(run, container):
    deaf = DOCKER.replace('elif sys.argv[1] == "run":', 'elif sys.argv[1] == "run":\n    import time; time.sleep(7)')
    run.tool("docker", deaf)
    started = container()
    wait_until(lambda: calls(run))
    started.terminate()
    assert started.wait(30) == 143
    assert calls(run)[-1] == ["rm", "--force", "--volumes", f"rackmark-12-{started.pid}"]


def test_a_container_whose_client_is_killed_is_removed_by_its_name(run, container):
    run.tool(
        "docker",
        DOCKER.replace('elif sys.argv[1] == "run":', 'elif sys.argv[1] == "run":\n    os.kill(os.getpid(), 9)'),
    )
    started = container()
    assert started.wait(30) == 137
    assert calls(run)[-1] == ["rm", "--force", "--volumes", f"rackmark-12-{started.pid}"]
