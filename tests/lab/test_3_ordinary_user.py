"""Someone else's Slurm cluster, used by an ordinary user: no root, and one login is all that is known of it."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from lab.cluster import NAME, STATE_DIR
from lab.counting_runs import COUNTING

UID = 6200
CONFIG = "/etc/slurm/slurm.conf"
RUNS = "/userhome/alice/rackmark/runs"
CASES = {"benchmark_workload": COUNTING, "cases": "1n1g,2n1g", "repeats": 1}


class Alice:
    """A login on the head, a folder on the shared storage, an account at Slurm, and an inventory that says so."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.results = folder / "results"
        self.inventory = folder / "slurm.yml"
        lab = STATE_DIR / "labs" / NAME
        login = {
            "ansible_host": json.loads((lab / "lab.json").read_text())["nodes"]["head"],
            "ansible_user": "alice",
            "ansible_ssh_private_key_file": str(lab / "key"),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={lab}/known_hosts -o IdentitiesOnly=yes",
            "ansible_control_path": str(lab / "ssh/alice"),
        }
        cluster_of_others = {
            "benchmark_dir": "/userhome/alice/rackmark",
            "benchmark_partition": "compute",
            "benchmark_account": "vision",
            "benchmark_qos": "weekend",
            "benchmark_sbatch_options": ["--comment=measured"],
        }
        group = {"hosts": {"login": login}, "vars": cluster_of_others}
        self.inventory.write_text(yaml.safe_dump({"all": {"children": {"slurm_login": group}}}))

    def play(self, playbook="run.yml", options="", **variables):
        return self.cluster.play(
            f"playbooks/{playbook}",
            cmdline=f"-i {self.inventory} {options}",
            benchmark_runs_dir=str(self.results),
            **variables,
        )

    def playing(self, **variables):
        given = json.dumps({"benchmark_runs_dir": str(self.results), **variables})
        return self.cluster.playing("playbooks/run.yml", "-i", str(self.inventory), "-e", given)

    def jobs(self, states, columns):
        return self.cluster.on("head", f"squeue --noheader --user=alice --states={states} --format='{columns}'")

    def runs(self):
        return self.cluster.on("head", f"ls {RUNS}", check=False).split()

    def summary(self):
        return json.loads((self.results / "latest/summary.json").read_text())


@pytest.fixture(scope="module")
def alice(provisioned, tmp_path_factory):
    """On a cluster that insists on accounts, as shared ones do."""
    on = provisioned.on
    nodes = ["head", *provisioned.node_states()]
    for node in nodes:
        on(node, f"useradd --uid {UID} --create-home --shell /bin/bash alice")
    on("head", "install -d -o alice -g alice -m 700 /userhome/alice ~alice/.ssh")
    on("head", "install -o alice -g alice -m 600 /root/.ssh/authorized_keys ~alice/.ssh/")
    on("head", "sacctmgr -i add account vision && sacctmgr -i add qos weekend")
    on("head", "sacctmgr -i add user alice account=vision qos=normal,weekend")
    on("head", f"cp --preserve {CONFIG} /root/ && echo AccountingStorageEnforce=associations,qos >> {CONFIG}")
    on("head", "systemctl restart slurmctld")
    provisioned.wait_until_idle()
    try:
        yield Alice(provisioned, tmp_path_factory.mktemp("alice"))
    finally:
        on("head", "scancel --user=alice")
        provisioned.wait_until_idle()
        on("head", f"mv /root/slurm.conf {CONFIG} && systemctl restart slurmctld")
        on(
            "head",
            "sacctmgr -i delete user alice && sacctmgr -i delete account vision && sacctmgr -i delete qos weekend",
        )
        on("head", "rm -rf /userhome/alice")
        for node in nodes:
            on(node, "pkill -u alice; userdel --remove alice", check=False)
        provisioned.wait_until_idle()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"benchmark_partition": "gold"}, ["partition gold", "choose one of compute"]),
        ({"benchmark_account": "physics"}, ["Slurm would not take the largest job", "Invalid account"]),
        ({"benchmark_qos": "gold"}, ["Slurm would not take the largest job", "Invalid qos"]),
    ],
)
def test_what_slurm_would_refuse_is_refused_before_anything_is_touched(alice, option, words):
    alice.play(**CASES, **option).failed_with(*words)
    assert alice.runs() == []
    assert not alice.results.exists()


def test_the_plan_and_the_script_can_be_seen_first(alice):
    shown = alice.play(options="--check", **CASES).succeeded()
    assert "2 jobs: 1n1g x1, 2n1g x1" in shown.output
    for option in ("partition=compute", "account=vision", "qos=weekend", "comment=measured"):
        assert f"#SBATCH --{option}" in shown.output
    assert alice.runs() == []


def test_a_run_of_hers_is_hers_and_as_she_asked(alice):
    assert alice.cluster.on("head", "runuser -u alice -- sudo -n true && echo root", check=False) == ""
    alice.play(**CASES).succeeded()
    assert alice.summary()["state"] == "ok"
    (run_id,) = alice.runs()
    rows = alice.jobs("all", "%u %P %a %q %k %j").splitlines()
    assert sorted(row for row in rows if run_id in row) == [
        f"alice compute vision weekend measured rackmark:{run_id}:{case}:1" for case in ("1n1g", "2n1g")
    ]
    assert alice.cluster.on("head", "find /userhome/alice ! -user alice") == ""


def test_the_report_knows_the_nodes_that_the_inventory_does_not(alice):
    nodes = json.loads((alice.results / "latest/cases/2n1g/r1/preflight.json").read_text())["nodes"]
    assert len(nodes) == 2
    assert set(nodes) <= set(alice.cluster.node_states())
    assert re.search(r"^\| node\\\[1-\d\\\] \|", (alice.results / "latest/report.md").read_text(), re.MULTILINE)


def test_she_can_stop_her_run(alice):
    before = set(alice.runs())
    with alice.playing(**CASES, steps=400) as playbook:
        alice.cluster.wait_until(lambda: alice.jobs("running", "%i") != "", "a job of hers runs")
        (run_id,) = set(alice.runs()) - before
        stopped = alice.play("stop.yml", run_id=run_id).succeeded()
        assert "2 jobs of" in stopped.output
        assert alice.jobs("pending,running", "%i") == ""
        assert playbook.wait(60) != 0
    assert [case["runs"][0]["state"] for case in alice.summary()["cases"]] == ["cancelled", "cancelled"]
