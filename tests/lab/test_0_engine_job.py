from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from lab.engine_fixture import Run, wait_until
from shipped import oldest_python


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_a_job_in_which_all_ranks_end_well(run):
    assert run() == 0
    end = run.read("end.json")
    assert (end["schema"], end["state"], end["reason"], end["exit_status"]) == ("rackmark.end/1", "ok", None, 0)
    assert (end["attempt"], end["nodes"]) == (1, [socket.gethostname()])
    assert end["started"] < end["ended"]
    assert run.statuses() == {0: "0", 1: "0"}
    assert [len(run.records(rank)) for rank in (0, 1)] == [5, 5]
    assert not run.processes()


def test_the_oldest_python_runs_a_job(run):
    _, *job = run.command(telemetry=0.1)
    assert run.begin([str(oldest_python()), *job]).wait(30) == 0
    assert run.statuses() == {0: "0", 1: "0"}
    assert len(list(run.folder.glob("telemetry-*.jsonl"))) == 1


def test_every_rank_is_told_who_it_is(run):
    run(threads=3)
    for rank in (0, 1):
        start = run.records(rank)[0]
        told = {name: start[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK")}
        assert told == {
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": "2",
            "NODE_RANK": "0",
        }
        assert (start["MASTER_ADDR"], start["GLOO_SOCKET_IFNAME"], start["NCCL_SOCKET_IFNAME"]) == (
            "127.0.0.1",
            "lo",
            "lo",
        )
        assert start["OMP_NUM_THREADS"] == "3"
    assert run.records(0)[0]["MASTER_PORT"] == run.records(1)[0]["MASTER_PORT"]


def test_threads_are_a_share_of_the_processors_that_the_job_may_use(run):
    command = run.command(devices_per_node=1)
    run.begin(["taskset", "--cpu-list", "0", *command]).communicate(timeout=60)
    assert run.records(0)[0]["OMP_NUM_THREADS"] == "1"


def test_a_rank_that_fails_ends_the_others_and_is_named(run):
    assert run("--fail=1") == 1
    end = run.read("end.json")
    assert (end["state"], end["exit_status"], end["first_failed"]) == ("failed", 1, 1)
    assert f"rank 1 on {socket.gethostname()} ended with exit status 1" in end["reason"]
    assert run.statuses() == {0: "143", 1: "1"}
    assert "ValueError: the data ends here" in (run.folder / "rank-1.log").read_text()
    assert not run.processes()


def test_a_program_that_is_missing_is_found_before_the_start(run):
    assert run(program=["/no/such/python"]) == 3
    assert "/no/such/python is missing" in run.read("end.json")["reason"]
    assert not list(run.folder.glob("rank-*"))


def test_a_rank_that_hangs_is_noticed_and_named(run):
    assert run("--hang=1", stalled_after=2) == 4
    end = run.read("end.json")
    assert end["state"] == "stalled"
    assert f"No line came for 2 s after step 2 of rank 1 on {socket.gethostname()}" in end["reason"]
    assert run.statuses()[0] == "0"
    assert not run.processes()


def with_bars(run):
    """The program draws a progress bar, which ends no line, before everything it prints and after it."""
    bar = "sys.stderr.write('\\r 33%|###     | 1/3 [00:01<00:01,  3.99it/s]'); sys.stderr.flush()\n"
    program = run.training.read_text().replace(
        "import json, os, signal, sys, time\n", f"import json, os, signal, sys, time\n{bar}"
    )
    run.training.write_text(program.replace("    if step == 3:\n", f"    {bar}    if step == 3:\n"))


def test_a_rank_that_hangs_behind_a_progress_bar_is_named_with_its_step(run):
    with_bars(run)
    assert run("--hang=1", stalled_after=2) == 4
    assert "No line came for 2 s after step 2 of rank 1 on" in run.read("end.json")["reason"]


def test_a_rank_that_is_stopped_behind_a_progress_bar_is_named(run):
    with_bars(run)
    assert run("--stop=1", stalled_after=2) == 4
    assert "The process of rank 1 on 127.0.0.1 was stopped by SIGSTOP" in run.read("end.json")["reason"]


def test_a_rank_that_is_stopped_is_named_though_all_are_at_the_same_step(run):
    assert run("--stop=1", stalled_after=2) == 4
    assert "The process of rank 1 on 127.0.0.1 was stopped by SIGSTOP" in run.read("end.json")["reason"]
    assert not run.processes()


def test_ranks_that_hang_together_do_not_get_one_of_them_blamed(run):
    run("--hang=all", stalled_after=4)
    assert "the logs cannot tell which of them hangs" in run.read("end.json")["reason"]


def test_a_folder_that_cannot_be_read_for_a_while_ends_no_job(run):
    """As when its file server answers nobody. The guard looks every two seconds."""
    run.training.write_text(
        "import os, sys, time\nprint('at work', flush=True)\n"
        f"while not os.path.exists({str(run.training.with_name('go'))!r}): time.sleep(0.05)"
    )
    job = run.begin(run.command(stalled_after=60))
    wait_until(lambda: len(list(run.folder.glob("rank-*.log"))) == 2)
    away = run.folder.with_name("away")
    run.folder.rename(away)
    time.sleep(5)
    assert job.poll() is None
    away.rename(run.folder)
    run.training.with_name("go").touch()
    assert job.wait(20) == 0
    assert run.read("end.json")["state"] == "ok"


def test_the_wall_limit_ends_the_ranks(run):
    assert run("--hang=all", minutes=0.03) == 5
    end = run.read("end.json")
    assert (end["state"], end["reason"]) == ("timeout", "The job reached its limit of 0.03 minutes.")
    assert not run.processes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_job_that_is_asked_to_end_leaves_no_process(run, number):
    job = run.begin(run.command("--hang=all"))
    run.wait_for_steps(2)
    job.send_signal(number)
    assert job.wait(20) == 128 + number
    end = run.read("end.json")
    assert (end["state"], end["reason"]) == ("cancelled", f"The job was ended from outside by {number.name}.")
    assert run.statuses() == {0: "143", 1: "143"}
    assert not run.processes()


@pytest.mark.parametrize("program", ["job.py", "node.py"])
def test_a_program_of_the_engine_that_is_killed_leaves_no_process(run, program):
    job = run.begin(run.command("--hang=all"))
    run.wait_for_steps(2)
    assert run.processes()
    subprocess.run(["kill", "-KILL", str(_process(run, program))], check=True)
    job.wait(20)
    wait_until(lambda: not run.processes())


def test_a_rank_that_is_killed_is_named(run):
    job = run.begin(run.command("--hang=all"))
    run.wait_for_steps(2)
    subprocess.run(["kill", "-KILL", str(_process(run, "training.py", "RANK=1"))], check=True)
    assert job.wait(20) == 137
    end = run.read("end.json")
    assert (end["state"], end["first_failed"]) == ("failed", 1)
    assert "The process of rank 1 on 127.0.0.1 was ended by SIGKILL." in (run.folder / "rank-1.log").read_text()


def test_a_rank_that_is_killed_with_its_wrapper_is_named(run):
    job = run.begin(run.command("--hang=all"))
    run.wait_for_steps(2)
    os.kill(_parent(_process(run, "training.py", "RANK=1")), signal.SIGKILL)
    assert job.wait(20) == 137
    end = run.read("end.json")
    assert (end["state"], end["first_failed"]) == ("failed", 1)
    killed = f"First of all, rank 1 on {socket.gethostname()} ended without an exit status"
    assert end["reason"] == f"{killed}: its process, or the one that started it, was killed."
    assert run.statuses() == {0: "143"}
    assert not run.processes()


def test_what_an_earlier_attempt_left_is_set_aside(run):
    for name in ("job.sh", "slurm.log", "job.json"):  # record.json is there as well
        (run.folder / name).write_text("{}")
    assert run("--fail=0") == 1
    assert run() == 0
    assert run() == 0
    assert run.read("end.json")["attempt"] == 3
    assert run.read("attempt-1/end.json")["state"] == "failed"
    assert (run.folder / "attempt-1" / "rank-0.exit").read_text() == "1\n"
    assert {path.name for path in run.folder.iterdir()} == {
        *("attempt-1", "attempt-2", "job.sh", "slurm.log", "job.json", "record.json"),
        *("hostfile", "preflight.json", "end.json"),
        *(f"rank-{rank}.{kind}" for rank in (0, 1) for kind in ("log", "exit")),
    }


def test_jobs_side_by_side_meet_at_different_ports(tmp_path):
    runs = [Run(tmp_path / number) for number in ("41", "42", "43")]
    jobs = []
    for number, run in enumerate(runs, start=41):
        run.environment["RACKMARK_JOB_ID"] = str(number)
        jobs.append(run.begin(run.command()))
    assert [job.wait(60) for job in jobs] == [0, 0, 0]
    ports = {int(run.records(0)[0]["MASTER_PORT"]) for run in runs}
    assert len(ports) == 3
    assert all(20000 <= port < 32768 for port in ports)


def test_a_port_that_is_taken_is_not_given_to_a_job(run):
    run.environment["RACKMARK_JOB_ID"] = "41"
    run()
    port = int(run.records(0)[0]["MASTER_PORT"])
    with socket.socket() as taken:
        taken.bind(("", port))
        taken.listen()
        run()
    assert int(run.records(0)[0]["MASTER_PORT"]) != port


def test_more_than_one_local_node_is_refused(run):
    assert run(nodes=2) == 6
    end = run.read("end.json")
    assert (end["state"], end["reason"]) == (
        "launch_failed",
        "launcher=local has one node, this machine, and not 2: take launcher slurm or ssh.",
    )
    assert not list(run.folder.glob("rank-*"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda record: record.pop("nodes"), "record.json has no field nodes."),
        (lambda record: record.update(nodes="two"), "record.json has nodes='two', which is not a whole number."),
        (lambda record: record.update(launcher="pigeon"), "launcher=pigeon is unknown: use one of slurm, ssh, local."),
    ],
)
def test_a_record_that_cannot_be_used_is_a_failed_launch(run, spoil, words):
    command = run.command()
    record = run.read("record.json")
    spoil(record)
    (run.folder / "record.json").write_text(json.dumps(record))
    assert run.begin(command).wait(20) == 6
    assert words in run.read("end.json")["reason"]


def test_the_end_is_written_on_a_full_disk(tmp_path):
    """A file system of its own that the training fills."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=220m", "tmpfs", str(place)], check=True)
    try:
        run = Run(place)
        # A file for each rank: one that starts late would empty the other's, and is ended before it has filled it.
        run.training.write_text(
            "import os\nwith open('filler-' + os.environ['RANK'], 'wb') as f:\n"
            "    while True: f.write(bytes(2**20)); f.flush()\n"
        )
        assert run() != 0
        end = run.read("end.json")
        assert end["state"] == "failed"
        assert end["free_mb"] == 0
        assert " MB " not in end["reason"], "the judge says it, by the number"
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _process(run, program, variable=""):
    """The process that runs this very program (its path is the first argument that ends in .py)."""
    for line in subprocess.run(["ps", "ewwx", "-o", "pid=,args="], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        scripts = [word for word in words if word.endswith(".py")]
        of_this_run = scripts and scripts[0] in (str(run.engine / program), str(run.training.with_name(program)))
        if of_this_run and (not variable or variable in words):
            return int(words[0])
    raise AssertionError(f"{program} does not run")
