"""Accounting: jobs on record, a password nobody sees, and a cluster that goes on without it."""

from __future__ import annotations

import pytest

CONFIG = "/etc/slurm/slurmdbd.conf"


def password(cluster):
    return cluster.on("head", f"sed -n s/^StoragePass=//p {CONFIG}")


def run_job(cluster):
    return cluster.on("head", "sudo -u rackmark sbatch --parsable --wait --output=/dev/null --chdir=/ --wrap true")


def test_a_job_is_on_record_under_its_account(provisioned):
    assert provisioned.recorded(run_job(provisioned)) == "rackmark|benchmark|COMPLETED"


def test_users_see_their_own_jobs_alone(provisioned):
    job = provisioned.start_job(900, "--comment=secret")

    def seen_by(user):
        questions = ("squeue --noheader", f"scontrol show job {job}", f"sacct --allusers --noheader --jobs={job}")
        return provisioned.on("head", f"cd / && runuser -u {user} -- sh -c '{'; '.join(questions)}' 2>&1", check=False)

    try:
        for user in ("rackmark", "rackmark-exporter", "root"):
            assert seen_by(user).count(job) >= 3, user
        hidden = seen_by("nobody")
        assert "secret" not in hidden
        assert "rackmark" not in hidden
    finally:
        provisioned.on("head", f"scancel {job}")


def test_the_password_is_private_and_the_database_is_for_this_host_alone(provisioned):
    assert provisioned.on("head", f"stat -c '%U:%G %a' {CONFIG}") == "slurm:slurm 600"
    assert len(password(provisioned)) >= 32
    assert provisioned.on("head", "ss -Hltn sport = 3306 | awk '{print $4}'") in ("", "127.0.0.1:3306")
    provisioned.on("node1", f"test ! -e {CONFIG}")


def test_the_cluster_goes_on_without_accounting_and_tells_it_later(provisioned):
    provisioned.on("head", "systemctl stop slurmdbd && systemctl restart slurmctld")
    try:
        number = run_job(provisioned)
    finally:
        provisioned.on("head", "systemctl start slurmdbd")
    assert provisioned.recorded(number) == "rackmark|benchmark|COMPLETED"


def test_a_password_that_the_file_and_the_database_disagree_on_is_put_right(provisioned):
    """As after a power cut between the two."""
    provisioned.on("head", "mariadb --execute \"ALTER USER slurm@localhost IDENTIFIED BY 'another one'\"")
    before = password(provisioned)
    again = provisioned.play("site.yml", cmdline="--tags slurm_database").succeeded()
    assert any("Give slurmdbd its database" in task for task in again.changed)
    assert password(provisioned) == before
    assert provisioned.play("site.yml", cmdline="--tags slurm_database").succeeded().changed == []
    # slurmctld may have asked for its users while nobody could answer, and asks again when it likes.
    provisioned.on("head", "systemctl restart slurmctld")
    provisioned.wait_until_idle()


def test_a_password_from_the_operator_wins_and_is_not_shown(provisioned, tmp_path):
    before, given = password(provisioned), "Vault!Pw=12,3;x"
    (tmp_path / "vault.yml").write_text(f"slurm_database_password: '{given}'\n")
    command = f"--tags slurm_database --diff -e @{tmp_path}/vault.yml"
    try:
        shown = provisioned.play("site.yml", cmdline=command, verbosity=3).succeeded()
        assert password(provisioned) == given
        assert given not in shown.output
        (tmp_path / "vault.yml").write_text(f"slurm_database_password: '{before}'\n")
    finally:
        provisioned.play("site.yml", cmdline=command).succeeded()
    assert password(provisioned) == before


@pytest.mark.parametrize("wrong", ["short", "with#sign in"])
def test_a_password_that_slurmdbd_cannot_read_is_refused(provisioned, wrong):
    before = password(provisioned)
    failed = provisioned.play("site.yml", cmdline="--tags slurm_database", slurm_database_password=wrong)
    failed.failed_with("slurm_database_password is wrong (its value is not shown) (-e): use a password of 8 or more")
    assert password(provisioned) == before
