"""Runs that something happens to: the right state, a sentence, nothing left running, nothing lost.

The workload only counts, so that a run takes seconds; jobs, ranks and nodes are real.
"""

from __future__ import annotations

import re

import pytest
from lab.counting_runs import HELD, LONG, held, only_repeat, release, repeats, run, running


@pytest.fixture(autouse=True)
def nothing_is_left(provisioned):
    yield
    assert provisioned.on("head", "squeue --noheader --states=pending,running --user=rackmark") == ""
    for node in provisioned.node_states():
        assert provisioned.on(node, "pgrep -u rackmark -f count.py", check=False) == ""


def jobs(cluster):
    """Name and number of the jobs that run."""
    rows = cluster.on("head", "squeue --noheader --states=running --user=rackmark --format='%j %i'").splitlines()
    return dict(row.split() for row in rows)


def wait_for_step(cluster, case, repeat=1):
    """Until rank 0 of the job that runs this case counts; returns the name of its run."""

    def log():
        names = [name for name in jobs(cluster) if name.endswith(f":{case}:{repeat}")]
        run_id = names[0].split(":")[1] if names else "none"
        return f"/userhome/rackmark/runs/{run_id}/cases/{case}/r{repeat}/rank-0.log"

    cluster.wait_until(lambda: '"event": "step"' in cluster.on("head", f"cat {log()}", check=False), f"{case} counts")
    return log().split("/")[4]


def test_a_killed_rank(provisioned):
    with held(provisioned, 4), running(provisioned, cases="4n1g", repeats=1, **HELD) as playbook:
        wait_for_step(provisioned, "4n1g")
        provisioned.on("node3", "pkill -KILL -u rackmark -f '[p]ython.*code/count.py' --newest")
        assert playbook.wait(60) != 0
    found = only_repeat(provisioned, "4n1g")
    assert (found["state"], found["throughput"]) == ("incomplete", None)
    assert re.search(r"[Rr]ank 2\b.*SIGKILL", found["reason"])


def test_a_job_that_somebody_cancels(provisioned):
    with held(provisioned, 2), running(provisioned, cases="1n1g,2n1g", repeats=1, **HELD) as playbook:
        wait_for_step(provisioned, "2n1g")
        provisioned.on("head", f"scancel {next(j for n, j in jobs(provisioned).items() if ':2n1g:' in n)}")
        assert playbook.wait(90) != 0
    assert only_repeat(provisioned, "1n1g")["state"] == "ok"
    found = only_repeat(provisioned, "2n1g")
    assert (found["state"], found["throughput"]) == ("cancelled", None)


@pytest.mark.parametrize(
    ("how", "state", "words"),
    [
        ("nan", "nan_loss", "The loss of step 3 on rank 1 is not a finite number"),
        ("memory", "oom", "asked to run out of memory here"),
        ("exit", "incomplete", "asked to fail here"),
    ],
)
def test_training_that_fails(provisioned, how, state, words):
    flags = ["--fail", how, "--fail-rank", "1"]
    run(provisioned, cases="2n1g", repeats=1, benchmark_flags=flags).failed_with(state, words)
    assert only_repeat(provisioned, "2n1g")["state"] == state


def test_a_rank_that_hangs(provisioned):
    flags = ["--fail", "hang", "--fail-rank", "1"]
    play = run(provisioned, cases="2n1g", repeats=1, benchmark_flags=flags, benchmark_stalled_after=8)
    play.failed_with("stalled", "rank 1 on node2")


def test_slurmctld_restarts_under_a_run(provisioned):
    with held(provisioned, 2), running(provisioned, cases="2n1g", repeats=2, **HELD) as playbook:
        wait_for_step(provisioned, "2n1g")
        provisioned.on("head", "systemctl stop slurmctld; sleep 8; systemctl start slurmctld")
        release(provisioned, 2)
        assert playbook.wait(120) == 0
    assert [found["state"] for found in repeats(provisioned, "2n1g")] == ["ok", "ok"]


def test_a_run_whose_playbook_is_killed_is_taken_up_again(provisioned):
    with held(provisioned, 1), running(provisioned, cases="1n1g", repeats=2, **HELD) as playbook:
        run_id = wait_for_step(provisioned, "1n1g")
        playbook.kill()
    log = f"/userhome/rackmark/runs/{run_id}/cases/1n1g/r1/rank-0.log"
    provisioned.wait_until(lambda: '"end"' in provisioned.on("head", f"cat {log}"), "the first repeat ends")
    written = provisioned.on("head", f"stat -c %Y {log}")
    run(provisioned, run_id=run_id).succeeded()
    assert [found["state"] for found in repeats(provisioned, "1n1g", run_id)] == ["ok", "ok"]
    assert provisioned.on("head", f"stat -c %Y {log}") == written


def test_stopping_one_of_two_runs_ends_only_that(provisioned):
    with held(provisioned, 1, 2), running(provisioned, cases="2n1g", repeats=2, **HELD) as first:
        first_id = wait_for_step(provisioned, "2n1g")
        with running(provisioned, cases="1n1g", repeats=1, **HELD) as second:
            provisioned.wait_until(lambda: len(jobs(provisioned)) == 2, "both runs run")
            play = provisioned.play("playbooks/stop.yml", run_id=first_id).succeeded()
            assert "2 jobs of" in play.output
            assert len(jobs(provisioned)) == 1
            assert first.wait(60) != 0
            release(provisioned, 1)
            assert second.wait(90) == 0
    assert [found["state"] for found in repeats(provisioned, "2n1g", first_id)] == ["cancelled", "cancelled"]
    # Taken up again, it is completed; what the stopped attempt left is kept.
    run(provisioned, run_id=first_id).succeeded()
    assert [found["state"] for found in repeats(provisioned, "2n1g", first_id)] == ["ok", "ok"]
    assert (provisioned.runs_dir / first_id / "cases/2n1g/r1/attempt-1/rank-0.log").exists()


def test_more_nodes_than_can_take_jobs(provisioned):
    provisioned.play("playbooks/drain.yml", nodes="node4", reason="fan is broken").succeeded()
    try:
        play = run(provisioned, cases="4n1g")
        play.failed_with("Case 4n1g needs 4 nodes, the cluster has 3", "node4 is drained (fan is broken)")
    finally:
        provisioned.play("playbooks/resume.yml", nodes="node4").succeeded()


def test_an_option_that_slurm_does_not_take(provisioned):
    run(provisioned, cases="1n1g", benchmark_partition="gold").failed_with("partition")
    run(provisioned, cases="1n1g", benchmark_constraint="a100").failed_with("Slurm would not take the largest job")


def test_a_node_that_is_not_as_the_run_needs_it(provisioned):
    """Everything that is wrong on all nodes is said at once, and no rank starts."""
    missing = {"benchmark_python": "/userhome/rackmark/no/python", "data": "/userhome/none"}
    play = run(provisioned, cases="2n1g", repeats=1, **missing)
    play.failed_with("preflight_failed", *missing.values(), "node1", "node2")
    assert list((provisioned.latest_run() / "cases/2n1g/r1").glob("rank-*.log")) == []


def test_a_node_whose_own_check_fails_when_the_job_starts(provisioned):
    """Slurm cancels such a job; the report says why, and once the node is well the run can be completed."""
    config = "/etc/slurm/rackmark-health.conf"
    provisioned.on("node1", f"cp --preserve {config} /root/ && mkdir -p /mnt/small")
    provisioned.on("node1", "mount -t tmpfs -o size=1m small /mnt/small && fallocate -l 1m /mnt/small/full")
    provisioned.on("node1", f"sed -i 's|^folders = /$|folders = /mnt/small\\n    /|' {config}")
    try:
        play = run(provisioned, cases="4n1g", repeats=1)
        play.failed_with("preflight_failed", "node1", "/mnt/small has 0.0 % of its space free")
    finally:
        provisioned.on("node1", f"mv /root/rackmark-health.conf {config}; umount /mnt/small; rackmark-health || true")
        provisioned.wait_until_idle()
    run(provisioned, run_id=provisioned.latest_run().name).succeeded()


def test_a_partition_that_is_down_is_waited_for_no_longer_than_patience(provisioned):
    provisioned.on("head", "scontrol update PartitionName=compute State=DOWN")
    try:
        play = run(provisioned, cases="1n1g", repeats=1, benchmark_patience=5)
        play.failed_with("launch_failed", "its partition starts no jobs (PartitionDown): 'scontrol show partition'")
    finally:
        provisioned.on("head", "scontrol update PartitionName=compute State=UP")


def test_a_run_on_a_node_that_died_can_be_stopped_and_resumed_before_slurm_has_noticed(provisioned):
    try:
        with held(provisioned, 3), running(provisioned, cases="3n1g", repeats=1, **HELD) as playbook:
            run_id = wait_for_step(provisioned, "3n1g")
            provisioned.kill_power("node3")
            stopped = provisioned.play("playbooks/stop.yml", run_id=run_id).succeeded()
            assert playbook.wait(90) != 0
        assert "node3 did not get its job ended yet" in stopped.output
        assert only_repeat(provisioned, "3n1g")["state"] == "cancelled"
        run(provisioned, run_id=run_id).succeeded()
        assert only_repeat(provisioned, "3n1g")["state"] == "ok"
    finally:
        provisioned.hang_up("node3")
        provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
        provisioned.wait_until_idle()


def test_a_node_that_loses_power(provisioned):
    # Slurm takes its time to call a node lost, five minutes unless told otherwise.
    provisioned.play("site.yml", cmdline="--tags slurm", slurm_config={"SlurmdTimeout": 15}).succeeded()
    try:
        with running(provisioned, cases="4n1g", repeats=2, benchmark_patience=10, **LONG) as playbook:
            wait_for_step(provisioned, "4n1g")
            provisioned.kill_power("node3")
            assert playbook.wait(180) != 0
        states = [found["state"] for found in repeats(provisioned, "4n1g")]
        assert states == ["node_fail", "node_fail"]
        assert "node3" in repeats(provisioned, "4n1g")[0]["reason"]
    finally:
        provisioned.hang_up("node3")
        provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
        provisioned.play("site.yml", cmdline="--tags slurm").succeeded()
        provisioned.wait_until_idle()
