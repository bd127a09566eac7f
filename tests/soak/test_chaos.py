"""Runs in a cluster to which things happen at any moment: each ends with a reason, leaves nothing, can be completed.

RACKMARK_CHAOS_SEED repeats the order of events that a failed test names.
"""

from __future__ import annotations

import os
import random

import pytest
from lab.counting_runs import repeats, run, running
from lab.test_3_broken_runs import jobs, wait_for_step

ROUNDS = 12
CASE = "4n1g"
SEED = int(os.environ.get("RACKMARK_CHAOS_SEED") or random.randrange(1 << 16))


def kill_a_rank(cluster, node, playbook):
    cluster.on(node, "pkill -KILL -u rackmark -f 'python.*code/[c]ount.py' --newest", check=False)


def cancel_the_job(cluster, node, playbook):
    for job in jobs(cluster).values():
        cluster.on("head", f"scancel {job}")


def restart_slurmctld(cluster, node, playbook):
    cluster.on("head", "systemctl restart slurmctld")


def kill_slurmd(cluster, node, playbook):
    cluster.on(node, "systemctl kill --kill-who=main --signal=KILL slurmd", check=False)


def stop_munge_for_a_while(cluster, node, playbook):
    cluster.on(node, "systemctl stop munge; sleep 5; systemctl start munge")


def fill_a_disk(cluster, node, playbook):
    cluster.on(
        node, "mkdir -p /mnt/full && mount -t tmpfs -o size=1m full /mnt/full; dd if=/dev/zero of=/mnt/full/x", False
    )


def kill_the_playbook(cluster, node, playbook):
    playbook.kill()


def cut_the_power(cluster, node, playbook):
    cluster.kill_power(node)


EVENTS = (
    *(kill_a_rank, cancel_the_job, restart_slurmctld, kill_slurmd, stop_munge_for_a_while, fill_a_disk),
    *(kill_the_playbook, cut_the_power),
)


@pytest.fixture(scope="module")
def chance(provisioned):
    """With a Slurm that calls a node lost after seconds, not minutes."""
    provisioned.play("site.yml", cmdline="--tags slurm", slurm_config={"SlurmdTimeout": 15}).succeeded()
    return random.Random(SEED)


@pytest.mark.parametrize("number", range(ROUNDS), ids=lambda number: f"seed {SEED} round {number}")
def test_whatever_happens_to_a_run_it_ends_with_a_reason_and_can_be_completed(provisioned, chance, number):
    event, node = EVENTS[number % len(EVENTS)], f"node{chance.randint(1, 4)}"
    with running(provisioned, cases=CASE, repeats=2, benchmark_patience=10, steps=chance.choice([60, 200])) as playbook:
        run_id = wait_for_step(provisioned, CASE)
        event(provisioned, node, playbook)
        playbook.wait(300)
    if event is cut_the_power:
        provisioned.hang_up(node)
        provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    provisioned.on(node, "systemctl start slurmd; umount /mnt/full; rackmark-health", check=False)
    provisioned.wait_until(lambda: jobs(provisioned) == {}, "no job runs any more", 120)
    provisioned.wait_until_idle()
    if event is not kill_the_playbook:  # then nobody has written the summary yet
        for found in repeats(provisioned, CASE, run_id):
            assert found["state"] == "ok" or (found["reason"] and found["throughput"] is None), (event.__name__, found)
    run(provisioned, run_id=run_id).succeeded()
    assert [found["state"] for found in repeats(provisioned, CASE, run_id)] == ["ok", "ok"]
    for each in ("node1", "node2", "node3", "node4"):
        assert provisioned.on(each, "pgrep -u rackmark -f count.py", check=False) == ""
