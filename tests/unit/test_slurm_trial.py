"""The copy of a configuration that a slurmctld tries, and what is understood of its words."""

from __future__ import annotations

from rackmark import slurm_trial

CONF = """\
# ours
SlurmctldHost=a
SlurmctldHost=b(b.east)
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmctldPidFile = /run/slurmctld.pid
AccountingStorageType=accounting_storage/slurmdbd
accountingstorageenforce=limits
ResumeProgram=/usr/local/bin/buy-a-node
SlurmctldPrimaryOnProg=/usr/local/bin/move-the-address
SelectType=select/cons_tres
NodeName=node[1-2] RealMemory=100
PartitionName=x Nodes=nosuch
"""
REFUSED = """\
slurmctld: error: Could not open job state file /tmp/t/state/job_state: No such file or directory
slurmctld: error: NOTE: Trying backup state save file. Jobs may be lost!
slurmctld: error: _find_node_record: lookup failure for node "nosuch"
slurmctld: build_part_bitmap: invalid node name nosuch in partition
slurmctld: fatal: Invalid node names in partition x
"""


def test_the_trial_reaches_nothing_outside_its_folder():
    lines = slurm_trial.trial_copy(CONF, "/tmp/t", "b").splitlines()
    assert [line for line in lines if "Host=" in line] == ["SlurmctldHost=b"]
    assert [line for line in lines if "ccounting" in line] == ["AccountingStorageType=accounting_storage/none"]
    assert "StateSaveLocation=/tmp/t/state" in lines
    assert "SlurmctldPidFile=/tmp/t/pid" in lines
    assert "ResumeProgram=/bin/true" in lines
    assert "SlurmctldPrimaryOnProg=/bin/true" in lines


def test_all_else_is_tried_as_it_is():
    lines = slurm_trial.trial_copy(CONF, "/tmp/t", "b").splitlines()
    assert lines[-3:] == CONF.splitlines()[-3:]


def test_a_refusal_is_the_fatal_line_with_what_led_to_it():
    assert slurm_trial.refusal(REFUSED) == (
        "Invalid node names in partition x (build_part_bitmap: invalid node name nosuch in partition)"
    )
    plugin = "slurmctld: slurmctld version 22.05.8 started\nslurmctld: fatal: Can't find plugin for select/none_such\n"
    assert slurm_trial.refusal(plugin) == "Can't find plugin for select/none_such"
    stamped = "[2026-11-19T08:48:46.033] fatal: Unable to determine this slurmd's NodeName\n"
    assert slurm_trial.refusal(stamped) == "Unable to determine this slurmd's NodeName"
    assert slurm_trial.refusal("slurmctld: error: something\n") is None


def test_who_is_in_charge_has_read_it_all():
    assert not slurm_trial.is_in_charge("slurmctld: slurmctld version 22.05.8 started on cluster c\n")
    assert slurm_trial.is_in_charge("slurmctld: Running as primary controller\n")
