"""Slurm as site.yml makes it: jobs are confined, and changes come into force with running jobs surviving."""

from __future__ import annotations

import pytest
from lab.cluster import ROOT


@pytest.fixture(scope="module", autouse=True)
def as_it_was(provisioned):
    """Whatever the tests here change is put back for the ones after them."""
    yield
    provisioned.play("site.yml", cmdline="--tags slurm").succeeded()
    provisioned.wait_until_idle()


def test_a_job_has_the_cores_it_asked_for_and_no_more(provisioned):
    groups = provisioned.on("head", "srun --ntasks=1 --cpus-per-task=1 cat /proc/self/cgroup")
    assert "/job_" in groups
    assert provisioned.on("head", "srun --ntasks=1 --cpus-per-task=1 nproc") == "1"
    assert provisioned.on("head", "srun --ntasks=1 --cpus-per-task=2 nproc") == "2"


@pytest.mark.parametrize(("kind", "variable"), [("pmix", "PMIX_RANK"), ("pmi2", "PMI_RANK")])
def test_mpi_programs_learn_their_rank(provisioned, kind, variable):
    assert kind in provisioned.on("head", "srun --mpi=list 2>&1")
    ranks = provisioned.on("head", f"srun --nodes=2 --ntasks=2 --mpi={kind} env").splitlines()
    assert sorted(line for line in ranks if line.startswith(f"{variable}=")) == [f"{variable}=0", f"{variable}=1"]


def test_a_partition_changes_under_a_running_job_without_a_restart(provisioned):
    before = provisioned.service_started("head", "slurmctld"), provisioned.service_started("node1", "slurmd")
    partitions = [
        {"name": "compute", "default": True, "options": {"MaxTime": 60}},
        {"name": "short", "nodes": ["node1"]},
    ]
    with provisioned.job_meanwhile("--nodes=1"):
        changed = provisioned.play("site.yml", cmdline="--tags slurm", slurm_partitions=partitions).succeeded()
    assert changed.changed == ["head: Write Slurm's configuration and bring it into force"]
    assert provisioned.on("head", "sinfo --noheader --format='%R %l %N'").splitlines() == [
        "compute 1:00:00 node[1-4]",
        "short infinite node1",
    ]
    assert (provisioned.service_started("head", "slurmctld"), provisioned.service_started("node1", "slurmd")) == before


def test_what_needs_a_restart_gets_one_and_the_running_job_survives(provisioned):
    slurmctld, slurmd = provisioned.service_started("head", "slurmctld"), provisioned.service_started("node1", "slurmd")
    config = {"JobAcctGatherType": "jobacct_gather/linux"}
    with provisioned.job_meanwhile("--nodes=4"):
        changed = provisioned.play("site.yml", cmdline="--tags slurm", slurm_config=config).succeeded()
    assert len(changed.changed) == 1 + 4 + 4, changed.changed  # configuration, slurmd's settings, slurmd's restarts
    assert provisioned.service_started("head", "slurmctld") != slurmctld
    assert provisioned.service_started("node1", "slurmd") != slurmd
    assert "jobacct_gather/linux" in provisioned.on("head", "scontrol show config")


def test_one_step_of_a_role_writes_files_and_another_restarts_what_reads_them(provisioned):
    provisioned.play("site.yml", cmdline="--tags slurm").succeeded()  # whatever others have left
    before = provisioned.service_started("node1", "slurmd")
    provisioned.on("node1", "echo '# by hand' >> /etc/default/slurmd")
    written = provisioned.play("site.yml", cmdline="--tags slurm_configure").succeeded()
    assert written.changed == ["node1: Write Slurm's files of this host"]
    assert provisioned.service_started("node1", "slurmd") == before
    run = provisioned.play("site.yml", cmdline="--tags slurm_run").succeeded()
    assert run.changed == ["node1: Run slurmd"]
    assert provisioned.service_started("node1", "slurmd") != before


def test_a_parameter_that_slurm_does_not_know_changes_nothing(provisioned):
    before = provisioned.on("head", "md5sum /etc/slurm/slurm.conf")
    later = {"CertgenType": "certgen/script"}  # which Debian 12 does not have yet
    wrong = provisioned.play("site.yml", cmdline="--tags slurm", slurm_config=later)
    wrong.failed_with("CertgenType", "Slurm refuses the new slurm.conf, the old one is left as it is")
    assert provisioned.on("head", "md5sum /etc/slurm/slurm.conf") == before


def test_a_configuration_that_slurmctld_would_not_come_up_with_never_lands(provisioned):
    before = provisioned.on("head", "md5sum /etc/slurm/slurm.conf"), provisioned.service_started("head", "slurmctld")
    wrong = provisioned.play("site.yml", cmdline="--tags slurm", slurm_config={"SelectType": "select/none_such"})
    wrong.failed_with("the old one is left as it is", "Can't find plugin for select/none_such")
    after = provisioned.on("head", "md5sum /etc/slurm/slurm.conf"), provisioned.service_started("head", "slurmctld")
    assert after == before
    assert provisioned.on("head", "pgrep -cx slurmctld") == "1"  # the trial has ended


def test_a_controller_that_does_not_come_up_runs_again_with_what_was_in_force(provisioned):
    """What no trial can show: here the real slurmctld alone is kept from starting."""
    spoiled = "[Service]\\nExecStartPre=/bin/sh -c '! grep -q JobAcctGatherFrequency /etc/slurm/slurm.conf'\\n"
    drop_in = "/etc/systemd/system/slurmctld.service.d/99-spoiled.conf"
    before = provisioned.on("head", "md5sum /etc/slurm/slurm.conf")
    provisioned.on("head", f'printf "{spoiled}" >{drop_in}')
    try:
        wrong = provisioned.play("site.yml", cmdline="--tags slurm", slurm_config={"JobAcctGatherFrequency": 20})
        wrong.failed_with("does not come up with the new configuration", "the old one is back in place")
    finally:
        provisioned.on("head", f"rm {drop_in}; systemctl daemon-reload")
    assert provisioned.on("head", "md5sum /etc/slurm/slurm.conf") == before
    provisioned.wait_until_idle()


def test_a_controller_that_dies_of_a_reconfiguration_runs_again_with_what_was_in_force(provisioned, tmp_path):
    stub = tmp_path / "scontrol"
    stub.write_text(
        '#!/bin/sh\nif [ "$1" = reconfigure ] && grep -q MaxTime=77 /etc/slurm/slurm.conf; then\n'
        "    systemctl kill --signal=KILL slurmctld; echo Zero Bytes were transmitted >&2; exit 1\nfi\n"
        'exec /usr/bin/scontrol "$@"\n'
    )
    provisioned.copy(stub, "head", "/usr/local/bin/scontrol")
    before = provisioned.on("head", "md5sum /etc/slurm/slurm.conf")
    try:
        partitions = [{"name": "compute", "default": True, "options": {"MaxTime": 77}}]
        wrong = provisioned.play("site.yml", cmdline="--tags slurm", slurm_partitions=partitions)
        wrong.failed_with("Zero Bytes were transmitted", "the old one is back in place")
    finally:
        provisioned.on("head", "rm /usr/local/bin/scontrol")
    assert provisioned.on("head", "md5sum /etc/slurm/slurm.conf") == before
    provisioned.wait_until_idle()


def test_a_configuration_that_was_written_and_not_brought_into_force_is_made_good(provisioned):
    """As when the playbook was ended between the two."""
    provisioned.on("head", "sed -i 's/^PartitionName=.*/& MaxNodes=2/' /var/lib/rackmark/slurm_in_force/slurm.conf")
    again = provisioned.play("site.yml", cmdline="--tags slurm").succeeded()
    assert again.changed == ["head: Write Slurm's configuration and bring it into force"]
    assert provisioned.play("site.yml", cmdline="--tags slurm").succeeded().changed == []


def test_a_host_unlike_the_others_is_refused_by_name(provisioned, tmp_path):
    extra = tmp_path / "odd.yml"
    extra.write_text("all: {hosts: {node3: {cluster_accelerator: nvidia, cluster_devices_per_node: 8}}}")
    wrong = provisioned.play("site.yml", cmdline=f"--tags slurm --check -i {ROOT}/inventory -i {extra}")
    wrong.failed_with("are not alike: node3 has", "8 nvidia devices; node[1-2,4] has", "a group of their own")
