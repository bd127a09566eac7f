"""What jobs, logins and containers see of a node's accelerators."""

from __future__ import annotations

import subprocess

import pytest

ALLOWED = """
import errno, os
for number in range(8):
    try:
        os.open("{device}%d" % number, os.O_RDWR)
    except OSError as error:
        print(number) if error.errno == errno.ENXIO else None
"""


@pytest.mark.parametrize(
    ("node", "gres", "device"), [("node1", "gpu", "/dev/nvidia"), ("node2", "gpu:ascend", "/dev/davinci")]
)
def test_a_job_sees_the_devices_it_asked_for_and_no_other(whole, node, gres, device):
    whole.on(node, f"cat > /userhome/allowed.py << 'END'\n{ALLOWED.format(device=device)}\nEND")

    def allowed(options: str) -> list[str]:
        return whole.on("head", f"srun --nodelist={node} {options} python3 /userhome/allowed.py").split()

    assert allowed(f"--gres={gres}:8") == list("01234567")
    assert len(allowed(f"--gres={gres}:2")) == 2
    assert allowed("") == []
    assert whole.on("head", f"srun --nodelist=node3 --gres={gres}:1 true 2>&1 || true").startswith("srun: error")


def test_a_login_to_a_node_is_part_of_the_users_job_there(whole):
    """It has the job's device alone, whatever is run by it; without a job there is none."""
    allowed, user = "python3 /userhome/allowed.py", "cd / && runuser -u rackmark --"
    ssh = "ssh -o BatchMode=yes"
    whole.on("node1", f"cat > /userhome/allowed.py << 'END'\n{ALLOWED.format(device='/dev/nvidia')}\nEND")
    before = whole.cluster.on("head", f"{user} {ssh} node1 {allowed} 2>&1", check=False)
    assert "you have no active jobs on this node" in before

    # pam_systemd, which real hosts have, would take the login out of the job again.
    whole.on("node1", "apt-get install -y -qq --no-install-recommends libpam-systemd")
    assert whole.play("site.yml", cmdline="--tags slurm_access").succeeded().changed == [
        "node1: Require a job for SSH logins"
    ]
    own = whole.on(
        "head", f"{user} srun --nodelist=node1 --gres=gpu:1 sh -c '{allowed}; {ssh} node1 {allowed}'"
    ).split()
    assert len(own) == 2
    assert own[0] == own[1]

    job = whole.cluster.start_job(300, "--nodelist=node1", "--gres=gpu:1")
    try:
        for options in ("", "-tt"):
            assert len(whole.on("head", f"{user} {ssh} {options} node1 {allowed} 2>/dev/null").split()) == 1, options
        rc = (
            f"{user} {ssh} node1 'echo \"{allowed} > /tmp/rc\" > .ssh/rc'; {user} {ssh} node1 'cat /tmp/rc; rm .ssh/rc'"
        )
        assert len(whole.on("head", rc).split()) == 1
        groups = whole.on("head", f"{user} {ssh} node1 cat /proc/self/cgroup")
        assert f"/job_{job}/step_extern" in groups
        assert "user.slice" not in groups
        assert "you have no active jobs" in whole.cluster.on("head", f"{user} {ssh} node2 true 2>&1", check=False)

        # What a login leaves behind ends with the job.
        whole.on("head", f"{user} {ssh} node1 'setsid sleep 86399 > /dev/null 2>&1 < /dev/null &'")
        assert whole.on("node1", "pgrep -u rackmark -f 'sleep 8639[9]'") != ""
    finally:
        whole.on("head", f"scancel {job}")
    gone = "! pgrep -u rackmark -f 'sleep 8639[9]' && echo gone"
    whole.cluster.wait_until(
        lambda: whole.cluster.on("node1", gone, check=False) == "gone", "the job takes the rest along"
    )


def test_administrators_log_in_as_ever_even_without_slurm(whole):
    whole.on("node1", "useradd --create-home --groups sudo ada && cp -r /root/.ssh ~ada/ && chown -R ada: ~ada/.ssh")
    key = whole.cluster.directory / "key"
    ssh = ["ssh", "-F", str(whole.cluster.directory / "ssh_config"), "-o", "ControlPath=none", "-i", str(key)]
    whole.on("node1", "systemctl stop slurmd")
    try:
        for user in ("root", "ada"):
            login = [*ssh, f"{user}@node1", "cat /proc/self/cgroup"]
            done = subprocess.run(login, capture_output=True, text=True, check=True, timeout=60)
            assert "/user.slice/" in done.stdout, user  # pam_systemd made a session, as everywhere
        whole.on("node1", "gpasswd --delete ada sudo")
        refused = subprocess.run([*ssh, "ada@node1", "true"], capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 255
    finally:
        whole.on("node1", "systemctl start slurmd && userdel --remove --force ada")
    whole.cluster.wait_until_idle()


def test_who_would_lock_ansible_out_is_refused(whole):
    """A login is tried with the new stack before anything is written: here one that root fails."""
    stack = whole.on("node1", "cat /etc/pam.d/sshd")
    whole.on("node1", "sed -i '/BEGIN Rackmark: account/,/END Rackmark: account/d' /etc/pam.d/sshd")
    kept = whole.on("node1", "cat /etc/pam.d/sshd")
    whole.on(
        "node1", "cp /etc/pam.d/common-session /root/ && echo session required pam_deny.so >> /etc/pam.d/common-session"
    )
    try:
        failed = whole.play("site.yml", cmdline="--tags slurm_access")
        failed.failed_with("with the new one administrators could not log in (root:")
        assert whole.on("node1", "cat /etc/pam.d/sshd") == kept
    finally:
        whole.on("node1", "cp /root/common-session /etc/pam.d/common-session")
    whole.play("site.yml", cmdline="--tags slurm_access").succeeded()
    assert whole.on("node1", "cat /etc/pam.d/sshd") == stack


def test_jobs_side_by_side_get_different_devices(whole):
    shown = "srun --nodelist=node1 --gres=gpu:4 sh -c 'nvidia-smi -L; sleep 3'"
    lines = [line for line in whole.on("head", f"({shown} & {shown} & wait)").splitlines() if "UUID" in line]
    assert len(set(lines)) == len(lines) == 8


def test_an_ascend_job_is_told_which_devices_are_its_own(whole):
    said = whole.on("head", "srun --nodelist=node2 --gres=gpu:2 sh -c 'echo $ASCEND_RT_VISIBLE_DEVICES'")
    assert len(said.split(",")) == 2


def test_docker_has_the_runtime_of_its_node(whole):
    runtimes = {
        node: whole.on(node, "docker info --format '{{json .Runtimes}}'") for node in ("node1", "node2", "node3")
    }
    assert ["nvidia" in said for said in runtimes.values()] == [True, False, False]
    assert ["ascend" in said for said in runtimes.values()] == [False, True, False]
