"""Nodes that work by themselves: one that is lost takes nobody with it. srun and scancel are stood in for."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from lab.engine_fixture import Run, wait_until
from lab.stand_ins import SCONTROL, SRUN, SSH

# Steps go on without the srun that began them, as those of Slurm do; a signal is passed on.
FREE_SRUN = SRUN.replace("worst = max", "worst = 0 if 'no-kill' in flags else max").replace(
    "stderr=subprocess.STDOUT))",
    "stderr=subprocess.STDOUT, start_new_session=True))\nimport signal\n"
    "signal.signal(signal.SIGTERM, lambda *_: [process.terminate() for process in started])",
)
SCANCEL = """
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["scancel", *sys.argv[1:]]) + "\\n")
"""
SCONTROL_THAT_TAKES_COMMENTS = SCANCEL.replace('["scancel", *sys.argv[1:]]', "sys.argv[1:]").replace(
    "with open", "if sys.argv[1] == 'show':\n    sys.exit(print('node1\\nnode2'))\nwith open"
)
# A worker says a line ten times a second until there is a file `enough`, `--dies=1` is the rank that fails.
WORKER = """
import json, os, pathlib, sys, time
rank = os.environ["RANK"]
print("RACKMARK", json.dumps({"event": "start", "time": time.time(), "rank": int(rank)}), flush=True)
if f"--dies={rank}" in sys.argv:
    sys.exit("ValueError: this one has had it")
while not os.path.exists("enough") and f"--ends={rank}" not in sys.argv:
    print("at work", flush=True)
    time.sleep(0.1)
pathlib.Path("experiment").mkdir(exist_ok=True)
with open(f"experiment/{rank}", "a") as kept:
    kept.write("done\\n")
"""


QUICK = {"SECONDS_BETWEEN_BEATS": 0.2, "SECONDS_UNTIL_LOST": 2.0}


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    run.training.write_text(WORKER)
    run.environment["CALLS"] = str(tmp_path / "calls")
    run.environment.update(SLURM_JOB_ID="12", SLURM_JOB_NODELIST="node[1-2]")
    for name, program in (("srun", FREE_SRUN), ("scontrol", SCONTROL), ("scancel", SCANCEL)):
        run.tool(name, program)
    program = run.engine / "independent.py"
    for name, seconds in QUICK.items():
        program.write_text(re.sub(rf"^{name} = .*$", f"{name} = {seconds}", program.read_text(), flags=re.MULTILINE))
    yield run
    for process in run.processes():
        os.kill(process, signal.SIGKILL)


def begun(run, *behaviour):
    alone = {"ranks": "node", "meet": "none", "independent": True}
    job = run.begin(run.command(*behaviour, launcher="slurm", nodes=2, **alone))
    wait_until(lambda: all((run.folder / f"rank-{rank}.log").exists() for rank in (0, 1)))
    return job


def enough(run):
    (run.folder / "enough").touch()


def cut_power(run, node):
    """Ends all that runs on a node but its srun, which knows nothing of it."""
    for process in run.processes():
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
        if words[1:2] == ["-SE"] and "--node-rank" in words and words[words.index("--node-rank") + 1] == str(node):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def calls(run):
    return [json.loads(line) for line in (run.folder.parents[3] / "calls").read_text().splitlines()]


def test_every_node_has_a_step_of_its_own(run):
    job = begun(run)
    enough(run)
    assert job.wait(30) == 0
    steps = [call for call in calls(run) if "--no-kill" in call]
    assert [word for step in steps for word in step if word.startswith("--nodelist=")] == [
        "--nodelist=node1",
        "--nodelist=node2",
    ]
    assert run.read("end.json")["state"] == "ok"
    assert run.statuses() == {0: "0", 1: "0"}


def test_over_ssh_nodes_work_by_themselves_as_well(run):
    run.tool("ssh", SSH)
    alone = {"ranks": "node", "meet": "none", "independent": True}
    hosts = {"launcher": "ssh", "nodes": 2, "hosts": ("127.0.0.1", "localhost")}
    job = run.begin(run.command("--dies=1", **hosts, **alone))
    wait_until(lambda: 1 in run.statuses())
    assert job.poll() is None
    enough(run)
    assert job.wait(30) == 1
    assert run.read("end.json")["reason"] == "Rank 1 on localhost ended with exit status 1."
    assert run.statuses()[0] == "0"


def test_the_comment_of_the_job_says_how_far_all_are(run):
    said = {"event": "progress", "time": 1.0, "trials": 3, "best": 0.7131, "gflops": 812.44, "odd name": 1, "text": "x"}
    run.training.write_text(WORKER.replace('print("at work"', f"print(\"RACKMARK\", '{json.dumps(said)}'"))
    announce = run.engine / "announce.py"
    announce.write_text(announce.read_text().replace("SECONDS_BETWEEN = 15.0", "SECONDS_BETWEEN = 0.2"))
    run.tool("scontrol", SCONTROL_THAT_TAKES_COMMENTS)
    job = begun(run)
    wait_until(lambda: any("update" in call for call in calls(run)))
    enough(run)
    assert job.wait(30) == 0
    told = [call for call in calls(run) if "update" in call]
    assert told == [["update", "JobId=12", "Comment=rackmark trials=3 best=0.7131 gflops=812.44"]]


def test_one_that_fails_ends_no_other_and_is_named(run):
    job = begun(run, "--dies=1")
    wait_until(lambda: 1 in run.statuses())
    assert job.poll() is None
    enough(run)
    assert job.wait(30) == 1
    end = run.read("end.json")
    assert (end["state"], end["first_failed"]) == ("failed", 1)
    assert end["reason"] == "Rank 1 on node2 ended with exit status 1."
    assert run.statuses()[0] == "0"


def test_a_node_that_is_lost_is_named_and_the_other_goes_on(run):
    job = begun(run)
    cut_power(run, 1)
    size = (run.folder / "rank-0.log").stat().st_size
    wait_until(lambda: (run.folder / "rank-0.log").stat().st_size > size)
    enough(run)
    assert job.wait(30) == 7
    end = run.read("end.json")
    assert end["state"] == "node_fail"
    assert end["reason"] == ("node2 was lost: what ran there left no exit status. The others went on to the end.")


def test_the_last_node_ends_a_job_whose_first_node_is_lost(run):
    job = begun(run)
    wait_until(lambda: (run.folder / "alive/node-1").exists())
    job.send_signal(signal.SIGKILL)
    job.wait(10)
    cut_power(run, 0)
    size = (run.folder / "rank-1.log").stat().st_size
    wait_until(lambda: (run.folder / "rank-1.log").stat().st_size > size)
    time.sleep(QUICK["SECONDS_UNTIL_LOST"] + 0.5)
    assert not (run.folder / "end.json").exists()
    enough(run)
    wait_until(lambda: ["scancel", "12"] in calls(run))
    end = run.read("end.json")
    assert (end["schema"], end["state"], end["ended_by"]) == ("rackmark.end/1", "node_fail", "node2")
    assert end["reason"] == (
        "node1 was lost: what ran there left no exit status. The others went on to the end."
        " node2 ended the job, as node1 could not."
    )
    assert end["started"] < end["ended"]
    wait_until(lambda: not run.processes())


def test_told_to_end_all_end_in_their_own_time(run):
    job = begun(run)
    job.send_signal(signal.SIGTERM)
    assert job.wait(30) == 128 + signal.SIGTERM
    assert run.read("end.json")["state"] == "cancelled"
    wait_until(lambda: not run.processes())


def test_an_experiment_stays_where_it_is_when_it_is_resumed(run):
    job = begun(run)
    enough(run)
    assert job.wait(30) == 0
    (run.folder / "enough").unlink()
    for log in run.folder.glob("rank-*"):
        log.rename(run.folder / f"earlier-{log.name}")
    job = begun(run)
    enough(run)
    assert job.wait(30) == 0
    assert run.read("end.json")["attempt"] == 2
    assert (run.folder / "experiment/0").read_text() == "done\ndone\n"
    assert (run.folder / "attempt-1/earlier-rank-0.log").exists()
