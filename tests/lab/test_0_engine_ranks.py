"""How many processes a job has, where they run, and what they are told to find each other."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from lab.engine_fixture import Run, wait_until
from lab.test_0_engine_launchers import DOCKER, SCONTROL, SRUN, SSH, calls, in_slurm

# Keeps what it was told.
TOLD = """
import json, os
json.dump(dict(os.environ), open(f"told-{os.environ['RANK']}.json", "w"))
print("RACKMARK {}", flush=True)
"""
# Starts ranks of its own as mpirun does, each in a process group of its own, and never ends them.
LAUNCHER = """
import os, subprocess, sys, time
mark = sys.argv[1]
sleep = [sys.executable, "-c", "import time; time.sleep(600)", mark]
ranks = [subprocess.Popen(sleep, preexec_fn=os.setpgrp) for _ in range(3)]
print("started", os.environ["RACKMARK_HOSTFILE"], flush=True)
if "--fail" in sys.argv:
    sys.exit(7)
ranks[0].wait()
"""


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    run.training.write_text(TOLD)
    run.environment["CALLS"] = str(tmp_path / "calls")
    for name, program in (("ssh", SSH), ("srun", SRUN), ("scontrol", SCONTROL), ("docker", DOCKER)):
        run.tool(name, program)
    return run


def told(run, *names):
    """What each process was told under these names, None for nothing."""
    found = [run.read(path.name) for path in sorted(run.folder.glob("told-*.json"))]
    return [tuple(each.get(name) for name in names) for each in found]


PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK")


@pytest.mark.parametrize("launcher", ["slurm", "ssh"])
def test_one_process_for_each_node(run, launcher):
    in_slurm(run)
    assert run(launcher=launcher, nodes=2, ranks="node", hosts=("127.0.0.1", "localhost")) == 0, run.output
    assert told(run, *PLACE) == [("0", "2", "0", "1", "0"), ("1", "2", "0", "1", "1")]
    assert told(run, "RACKMARK_NODES", "RACKMARK_DEVICES_PER_NODE") == [("2", "2")] * 2
    assert run.statuses() == {0: "0", 1: "0"}
    assert {path.name for path in run.folder.glob("rank-*.log")} == {"rank-0.log", "rank-1.log"}


def test_a_process_of_a_node_has_all_its_processors(run):
    assert run(ranks="node", devices_per_node=2) == 0
    assert told(run, "OMP_NUM_THREADS") == [(str(len(os.sched_getaffinity(0))),)]


@pytest.mark.parametrize("launcher", ["slurm", "ssh", "local"])
def test_one_process_for_the_whole_job_runs_here_and_in_no_step_of_slurm(run, launcher):
    in_slurm(run)
    nodes = 1 if launcher == "local" else 2
    hosts = ("127.0.0.1", "localhost") if launcher == "ssh" else ()
    assert run(launcher=launcher, nodes=nodes, ranks="job", meet="none", hosts=hosts) == 0, run.output
    names = run.read("end.json")["nodes"]
    assert told(run, *PLACE) == [("0", "1", "0", "1", "0")]
    assert told(run, "RACKMARK_NODES", "RACKMARK_DEVICES_PER_NODE") == [(str(nodes), "2")]
    assert told(run, "RACKMARK_HOSTFILE", "OMP_NUM_THREADS") == [(f"{run.folder}/hostfile", None)]
    assert (run.folder / "hostfile").read_text() == "".join(f"{name} slots=2\n" for name in names)
    assert run.statuses() == {0: "0"}
    asked = calls(run) if nodes > 1 else []
    assert all("preflight.py" in str(call) for call in asked), "nothing else was started on other nodes"


def test_what_such_a_process_started_ends_with_the_job(run):
    run.training.write_text(LAUNCHER)
    job = run.begin(run.command(ranks="job", meet="none"))
    log = run.folder / "rank-0.log"
    wait_until(lambda: log.exists() and "started" in log.read_text() and len(run.processes()) >= 7)
    job.send_signal(signal.SIGTERM)
    assert job.wait(20) == 143
    wait_until(lambda: not run.processes())


def test_what_such_a_process_left_behind_ends_as_well_and_it_is_named(run):
    run.training.write_text(LAUNCHER)
    assert run("--fail", ranks="job", meet="none") == 7
    end = run.read("end.json")
    assert end["reason"] == f"First of all, the program on {socket.gethostname()} ended with exit status 7."
    wait_until(lambda: not run.processes())


@pytest.mark.parametrize("launcher", ["slurm", "ssh"])
def test_all_nodes_are_sampled_though_the_process_runs_on_one(run, launcher):
    in_slurm(run)
    run.training.write_text("import time\ntime.sleep(1.5)")
    assert run(launcher=launcher, nodes=2, ranks="job", meet="none", telemetry=0.1, hosts=("127.0.0.1", "n2")) == 0
    files = [run.folder / f"telemetry-{node}.jsonl" for node in run.read("end.json")["nodes"]]
    assert [len(path.read_text().splitlines()) > 5 for path in files] == [True, True]
    assert [json.loads(path.read_text().splitlines()[-1])["end"] for path in files] == [None, None]
    assert not run.processes()


def test_such_a_process_in_a_container(run):
    assert run(ranks="job", meet="none", image="image:1") == 0, run.output
    assert told(run, "RACKMARK_HOSTFILE") == [(f"{run.folder}/hostfile",)]


def test_a_job_that_hangs_is_said_without_steps_where_its_lines_are_of_another_dialect(run):
    run.training.write_text(
        "import os, time\nprint('iteration 5 of 9', flush=True)\n"
        "while os.environ['RANK'] == '0' or time.sleep(600): print('iteration', flush=True); time.sleep(0.1)"
    )
    assert run(dialect="deepspeed", stalled_after=4) == 4
    assert run.read("end.json")["reason"] == f"No line came for 4 s of rank 1 on {socket.gethostname()}."


def test_nobody_is_blamed_where_all_are_silent_and_the_dialect_is_another(run):
    run.training.write_text("import time\nprint('iteration 5 of 9', flush=True)\ntime.sleep(600)")
    assert run(dialect="deepspeed", stalled_after=4) == 4
    assert run.read("end.json")["reason"] == (
        "No line came for 4 s of all 2 ranks that were still at work, so the logs cannot tell which of them hangs."
    )


def test_no_step_is_claimed_where_the_end_of_a_log_shows_none(run):
    run.training.write_text(
        'import time\nprint(\'RACKMARK {"event": "step", "step": 7}\')\n'
        "print(('x' * 99 + '\\n') * 1000, flush=True)\ntime.sleep(600)"
    )
    assert run(stalled_after=4, devices_per_node=1) == 4
    assert run.read("end.json")["reason"] == f"No line came for 4 s of rank 0 on {socket.gethostname()}."


def test_ranks_of_torch_are_told_over_which_interface(run):
    assert run() == 0
    assert (
        told(run, "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "HOROVOD_RANK", "RANK_ID")
        == [("lo", "lo", None, None)] * 2
    )


def test_who_needs_no_meeting_is_told_of_none(run):
    assert run(meet="none") == 0
    assert told(run, "RANK", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "HOROVOD_RANK", "MS_ROLE") == [
        (rank, None, None, None, None) for rank in ("0", "1")
    ]


def test_ranks_of_horovod(run):
    assert run(launcher="ssh", nodes=2, hosts=("127.0.0.1", "localhost"), meet="horovod") == 0, run.output
    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
    assert told(run, *(f"HOROVOD_{name}" for name in names)) == [
        ("0", "4", "0", "2", "0", "2"),
        ("1", "4", "1", "2", "0", "2"),
        ("2", "4", "0", "2", "1", "2"),
        ("3", "4", "1", "2", "1", "2"),
    ]
    assert (
        told(run, "HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HOROVOD_GLOO_TIMEOUT_SECONDS")
        == [("gloo", "gloo", "600")] * 4
    )
    meeting = told(run, "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT", "HOROVOD_GLOO_IFACE")
    assert meeting == [("127.0.0.1", told(run, "MASTER_PORT")[0][0], "lo")] * 4
    assert [host for (host,) in told(run, "HOROVOD_HOSTNAME")] == ["127.0.0.1"] * 2 + ["localhost"] * 2


def test_ranks_of_mindspore(run):
    assert run(meet="mindspore") == 0
    port = told(run, "MASTER_PORT")[0][0]
    names = ("MS_WORKER_NUM", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_ROLE", "MS_NODE_ID", "MS_WORKER_IP")
    assert told(run, *names) == [("2", "127.0.0.1", port, "MS_WORKER", rank, "127.0.0.1") for rank in ("0", "1")]


def test_ranks_of_hccl(run):
    run.environment["HCCL_CONNECT_TIMEOUT"] = "1200"  # what a person has set stays
    assert run(meet="hccl") == 0
    names = ("RANK_ID", "RANK_SIZE", "DEVICE_ID", "ASCEND_DEVICE_ID", "HCCL_SOCKET_IFNAME", "HCCL_CONNECT_TIMEOUT")
    assert told(run, *names) == [(rank, "2", rank, rank, "=lo", "1200") for rank in ("0", "1")]
    assert told(run, "RANK_TABLE_FILE") == [(None,)] * 2


def test_a_rank_table_in_the_folder_is_named(run):
    run.record(meet="hccl")
    (run.folder / "rank_table.json").write_text("{}")
    place = ["--rank", "1", "--local-rank", "1", "--node-rank", "0", "--address", "127.0.0.1"]
    command = [sys.executable, "-SE", str(run.engine / "rank.py"), *place, "--master", "127.0.0.1:20123"]
    subprocess.run(command, cwd=run.folder, env=run.environment, check=True)
    assert json.loads((run.folder / "told-1.json").read_text())["RANK_TABLE_FILE"] == f"{run.folder}/rank_table.json"
