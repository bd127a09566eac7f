"""A node's health check and what ends a job's leftovers, run as Slurm runs them: as programs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit.health_node_fixture import FILES, Node


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def test_a_healthy_node_bothers_nobody(node):
    done = node.check()
    assert (done.returncode, done.stdout, node.what_slurm_was_told()) == (0, "", "")
    assert [path.name for path in node.folder.glob(".rackmark*")] == []


def test_all_faults_are_in_one_reason(node):
    node.sections["disk"] = {"folders": f"{node.folder}\n    /nowhere", "free_percent": "101"}
    node.sections["munge"] = {}
    node.tool("munge", "echo 'is munged running?' >&2; exit 1")
    node.devices("nvidia0", "nvidiactl")
    assert node.check().returncode == 0
    told = node.what_slurm_was_told()
    assert told.startswith(f"nodename=n1 state=drain reason=rackmark: disk: {node.folder} has ")
    assert "and needs 101 %; disk: /nowhere is missing; " in told
    assert f"devices: 1 of 2 nvidia device files are there, without {node.folder}/dev/nvidia1; " in told
    assert "munge: no credential can be made and read back (is munged running?)" in told


def test_what_is_there_can_be_shown_without_changing_anything(node):
    node.sections["disk"]["folders"] = "/nowhere"
    done = node.check("--show")
    assert (done.returncode, node.what_slurm_was_told()) == (1, "")
    assert done.stdout.splitlines() == ["shared  ok", "disk    /nowhere is missing"]


def test_before_a_job_a_fault_drains_and_fails(node):
    assert node.check("--prolog").returncode == 0
    node.sections["disk"]["folders"] = "/nowhere"
    assert node.check("--prolog").returncode == 1
    assert "state=drain" in node.what_slurm_was_told()


@pytest.mark.parametrize(
    "state",
    [
        "State=IDLE+DRAIN Reason=fan is broken [root@2026-11-18T10:00:00]",
        "State=DOWN Reason=fan is broken [ann@2026-11-18T10:00:00]",
        "State=IDLE+DRAIN Reason=Low RealMemory [slurm@2026-11-18T10:00:00]",
    ],
)
def test_what_others_have_drained_is_left_alone(node, state):
    node.slurm_says(f"NodeName=n1 {state}")
    assert node.check().returncode == 0
    node.sections["disk"]["folders"] = "/nowhere"
    done = node.check()
    assert done.returncode == 0
    assert node.what_slurm_was_told() == ""


def test_a_node_that_slurm_has_given_up_is_drained_before_it_comes_back(node):
    node.slurm_says("NodeName=n1 State=DOWN Reason=Not responding [slurm@2026-11-18T10:00:00]")
    node.sections["disk"]["folders"] = "/nowhere"
    node.check()
    assert "state=drain reason=rackmark: disk: /nowhere is missing" in node.what_slurm_was_told()


@pytest.fixture
def drained(node):
    """By the check itself, for a folder that is missing."""
    node.sections["disk"]["folders"] = "/nowhere"
    node.check()
    node.slurm_says(
        "NodeName=n1 State=IDLE+DRAIN Reason=rackmark: disk: /nowhere is missing [root@2026-11-18T10:00:00]"
    )
    node.told.unlink()
    return node


def test_a_node_that_was_drained_here_comes_back_when_it_is_healthy(drained):
    drained.sections["disk"]["folders"] = str(drained.folder)
    drained.sections["node"]["resume"] = "no"
    drained.check()
    assert drained.what_slurm_was_told() == ""
    drained.sections["node"]["resume"] = "yes"
    drained.check()
    assert drained.what_slurm_was_told() == "nodename=n1 state=resume\n"


def test_a_person_may_begin_a_reason_as_the_check_does(drained):
    """By drain.yml it is root who gives the reason, as it is by the check."""
    drained.slurm_says("NodeName=n1 State=IDLE+DRAIN Reason=rackmark: disk swap [root@2026-11-18T11:00:00]")
    drained.sections["disk"]["folders"] = str(drained.folder)
    drained.check()
    assert drained.what_slurm_was_told() == ""


def test_a_reason_is_remembered_where_no_byte_more_can_be_written(drained):
    before = (drained.folder / "memory").stat()
    drained.sections["disk"]["folders"] = "/nowhere\n    /nothing"
    drained.check()
    after = (drained.folder / "memory").stat()
    assert (after.st_size, after.st_ino) == (before.st_size, before.st_ino)


def test_a_reason_that_stands_is_not_given_again_and_a_new_one_is(drained):
    drained.check()
    assert drained.what_slurm_was_told() == ""
    drained.sections["disk"]["folders"] = "/nowhere\n    /nothing"
    drained.check()
    assert "/nothing is missing" in drained.what_slurm_was_told()


def test_a_shared_directory_that_hangs_is_a_fault_and_holds_nobody_up(node):
    """A file lock makes a process wait as a dead file server does; it is the one that the check itself takes."""
    node.sections["node"]["time_limit"] = "0.5"
    node.check()
    with (node.folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = node.check("--show")  # comes back while the lock is held
    assert done.stdout.splitlines()[0] == "shared  no answer within 0.5 s"


def test_a_shared_directory_that_is_not_mounted_or_not_writable(node):
    node.sections["shared"]["mount"] = str(node.folder)
    assert f"{node.folder} is not mounted" in node.check("--show").stdout
    del node.sections["shared"]["mount"]
    node.sections["shared"]["folder"] = "/nowhere"
    assert "/nowhere cannot be written to by" in node.check("--show").stdout


@pytest.mark.parametrize("doing", ["mkdir {0}", "mkfifo {0}", "ln -s /etc/nowhere {0}", "chmod 500 ."])
def test_what_a_user_does_in_its_own_folder_is_no_fault_of_the_node(node, doing):
    node.check()  # its lock and memory are in the same folder here
    own = node.folder / "own"
    own.mkdir()
    node.sections["shared"]["folder"] = str(own)
    subprocess.run(doing.format(".rackmark-health-n1"), shell=True, cwd=own, check=True)
    assert node.check("--prolog").returncode == 0
    assert node.what_slurm_was_told() == ""


def test_what_the_user_may_open_holds_nobody_up(node):
    node.sections["node"]["time_limit"] = "2"
    node.check()
    assert (node.folder / "lock").stat().st_mode & 0o777 == 0o600
    with node.config.open() as configuration:
        fcntl.flock(configuration, fcntl.LOCK_EX)
        assert node.check("--prolog").returncode == 0


@pytest.mark.parametrize(
    ("listed", "finding"),
    [("GPU 0: NVIDIA X\nGPU 1: NVIDIA X", "ok"), ("GPU 0: NVIDIA X", "the driver's tool lists 1 of 2 nvidia devices")],
)
def test_devices_are_counted_by_the_driver_too(node, listed, finding):
    node.devices("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm")
    node.tool("nvidia-smi", f"echo '{listed}'")
    assert f"devices {finding}" in node.check("--show").stdout


def test_a_tool_that_hangs_is_named(node):
    node.sections["node"]["time_limit"] = "3"  # on a busy machine the answer needs some of the tenth that is left
    node.devices("nvidia0", "nvidia1")
    node.tool("nvidia-smi", "exec sleep 30")
    assert "nvidia-smi" in node.check("--show").stdout


def test_npus_are_counted_by_their_tool(node):
    node.devices()
    for number in range(4):
        (node.folder / f"dev/davinci{number}").touch()
    node.sections["devices"].update(vendor="ascend", count="4")
    node.tool(
        "npu-smi",
        "printf '\\tTotal Count : 2\\n\\tNPU ID : 0\\n\\tChip Count : 2\\n\\tNPU ID : 1\\n\\tChip Count : 1\\n'",
    )
    assert "the driver's tool lists 3 of 4 ascend devices" in node.check("--show").stdout


CHRONY = "C0A80101,head,3,1763460000.0,{offset},0.0,0.0,1.0,0.0,0.1,0.01,0.01,64.0,{leap}"


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        ("echo " + CHRONY.format(offset="-0.000012", leap="Normal"), "ok"),
        ("echo " + CHRONY.format(offset="-7.25", leap="Normal"), "the clock is 7.2 s off and may be 1 s"),
        ("echo '506 Cannot talk to daemon'; exit 1", "chronyd does not answer"),
    ],
)
def test_the_clock(node, answer, finding):
    node.sections["clock"] = {"max_skew": "1"}
    node.tool("chronyc", answer)
    assert f"clock   {finding}" in node.check("--show").stdout


def test_a_controller_that_takes_no_word_is_said(node):
    node.tool("scontrol", "echo 'Protocol authentication error' >&2; exit 1")
    done = node.check()
    assert done.returncode == 1
    assert "Slurm's controller takes no word from n1 (Protocol authentication error)" in done.stdout


def left_behind(job: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={"SLURM_JOB_ID": job}, start_new_session=True)


def test_only_what_the_ended_job_left_behind_is_ended():
    mine, sibling, longer_number = (left_behind(job) for job in ("990001", "990002", "9900012"))
    folder = Path("/tmp/rackmark-job-990001")
    folder.mkdir()
    try:
        command = [sys.executable, str(FILES / "end_leftovers.py")]
        environment = {**os.environ, "SLURM_JOB_ID": "990001", "SLURM_JOB_UID": str(os.getuid())}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout
        assert mine.poll() == -15
        assert (sibling.poll(), longer_number.poll()) == (None, None)
        assert not folder.exists()
        assert f"job 990001 left process {mine.pid}" in done.stdout
    finally:
        for process in (mine, sibling, longer_number):
            process.kill()
            process.wait()
