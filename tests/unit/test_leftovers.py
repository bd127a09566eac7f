"""What a host keeps of roles that it no longer has: which are looked for, how they are found, and how they stop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from rackmark.leftovers import is_there

ROOT = Path(__file__).parents[2]
LOADER = DataLoader()
VARIABLES = {
    name: value
    for path in ("defaults/main.yml", "vars/main/leftovers.yml")
    for name, value in LOADER.load_from_file(str(ROOT / "roles/cluster" / path), trusted_as_template=True).items()
}
SETUP = {
    "slurm_controller": ["head"],
    "slurm_compute": ["node1"],
    "slurm_login": ["login"],
    "slurm_database": ["head"],
    "docker_hosts": ["node1"],
    "nfs_server": ["head"],
    "nfs_clients": ["node1", "login"],
    "monitoring_server": ["head"],
}
HOSTS = ["head", "node1", "login", "other"]
OF_MONITORING = {"node_exporter", "accelerator_exporter", "dcgm_exporter", "slurm_exporter", "monitoring_access"}
OF_SERVER = {"prometheus", "alertmanager", "grafana"}
OF_NODE = {"slurm_access", "slurm_health", "slurm/compute_absent.yml"}


def looked_for(groups, leaving=(), tags=("all",), skipped=()):
    """By host: names of roles, with the tasks where a role has several parts."""
    variables = {
        **VARIABLES,
        "groups": groups,
        "cluster_leaving": list(leaving),
        "cluster_shared_storage": "nfs" if "nfs_server" in groups else "existing",
        "ansible_run_tags": list(tags),
        "ansible_skip_tags": list(skipped),
    }
    asked = trust_as_template("{{ _cluster_marks_to_find }}")
    found = {
        host: Templar(LOADER, variables={**variables, "inventory_hostname": host}).template(asked) for host in HOSTS
    }
    return {
        host: {mark["role"] if mark["tasks"] == "absent.yml" else f"{mark['role']}/{mark['tasks']}" for mark in marks}
        for host, marks in found.items()
    }


def test_what_an_inventory_gives_a_host_is_not_looked_for(tmp_path):
    nothing = {
        "nfs/client_absent.yml",
        "nfs/server_absent.yml",
        "slurm/controller_absent.yml",
        "slurm_database",
        "docker",
    }
    found = looked_for(SETUP)
    assert found["head"] == {*OF_NODE, "docker", "nfs/client_absent.yml"}
    assert found["node1"] == {
        *OF_SERVER, "slurm_exporter", "slurm_database", "slurm/controller_absent.yml", "nfs/server_absent.yml",
    }  # fmt: skip
    assert found["other"] == {
        *nothing, *OF_NODE, *OF_SERVER, "slurm_exporter", "munge", "slurm/configuration_absent.yml",
    }  # fmt: skip


def test_a_group_that_is_empty_is_looked_for_everywhere():
    groups = {name: hosts for name, hosts in SETUP.items() if name not in ("monitoring_server", "docker_hosts")}
    found = looked_for(groups)
    assert all({*OF_MONITORING, *OF_SERVER, "docker"} <= roles for roles in found.values())


def test_storage_that_is_the_sites_own_is_never_looked_for():
    groups = {name: hosts for name, hosts in SETUP.items() if not name.startswith("nfs_")}
    found = looked_for(groups)
    assert not any(role.startswith("nfs") for roles in found.values() for role in roles)


def test_a_host_that_leaves_is_rid_of_everything():
    found = looked_for(SETUP, leaving=["node1"])
    assert {
        "base",
        "firewall",
        "docker",
        "munge",
        "slurm_access",
        "nfs/client_absent.yml",
        *OF_NODE,
        *OF_MONITORING,
    } <= (found["node1"])
    assert not {"base", "firewall"} & found["login"]


def test_a_tag_is_looked_for_alone():
    assert looked_for({}, tags=["prometheus"])["head"] == {"prometheus"}
    assert "prometheus" not in looked_for({}, skipped=["prometheus"])["head"]


@pytest.mark.parametrize("mark", VARIABLES["_cluster_marks"], ids=lambda mark: f"{mark['role']}-{mark['tasks']}")
def test_what_is_looked_for_has_tasks_and_its_roles_tag(mark):
    assert (ROOT / "roles" / mark["role"] / "tasks" / mark["tasks"]).is_file()
    plays = yaml.safe_load((ROOT / "playbooks/roles.yml").read_text())
    tags = next(task["tags"] for play in plays for task in play["tasks"] if "leftovers" in task["tags"])
    assert mark["role"] in tags or mark["role"] in ("base", "firewall")  # which only remove_nodes.yml takes away


def test_a_mark_is_all_of_its_files_and_a_text(tmp_path):
    file, link, missing = tmp_path / "file", tmp_path / "link", tmp_path / "missing"
    file.write_text("# BEGIN Rackmark: x\n")
    link.symlink_to(missing)
    assert is_there([str(file), str(link)], "Rackmark: x")
    assert not is_there([str(file)], "Rackmark: y")
    assert not is_there([str(file), str(missing)])


SYSTEMCTL = """#!/bin/sh
case $1 in
  show) test "$3" = runs && echo ActiveState=active || echo LoadState=not-found; echo UnitFileState=;;
  *) echo "$* $(test -e {folder}/unit && echo before || echo after)" >> {folder}/log;;
esac
"""


def stopped(tmp_path, *options, **arguments):
    """The module on this machine with a systemctl that writes down what it is asked for."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(SYSTEMCTL.replace("{folder}", str(tmp_path)))
    (tmp_path / "bin/systemctl").chmod(0o755)
    (tmp_path / "unit").write_text("ours")
    (tmp_path / "folder/deep").mkdir(parents=True)
    (tmp_path / "log").write_text("")
    files = [str(tmp_path / name) for name in ("unit", "folder", "missing")]
    words = json.dumps({"names": ["runs", "missing"], "files": files, **arguments})
    local = ["-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    done = subprocess.run(
        ["ansible", "localhost", *local, "-m", "stopped_service", "-a", words, *options],
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_STDOUT_CALLBACK": "minimal",
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.partition("=>")[2])


def test_a_service_stops_before_its_files_go_and_what_is_not_there_is_no_fault(tmp_path):
    said = stopped(tmp_path)
    assert (said["stopped"], said["removed"]) == (["runs"], [str(tmp_path / "unit"), str(tmp_path / "folder")])
    assert (tmp_path / "log").read_text().splitlines()[0] == "disable --quiet --now runs before"
    assert not (tmp_path / "unit").exists() and not (tmp_path / "folder").exists()


def test_check_mode_says_what_would_stop_and_stops_nothing(tmp_path):
    said = stopped(tmp_path, "--check")
    assert (said["changed"], said["stopped"]) == (True, ["runs"])
    assert (tmp_path / "log").read_text() == ""
    assert (tmp_path / "unit").exists()


def test_what_somebody_uses_goes_on(tmp_path):
    sleeper = subprocess.Popen(["sleep", "120"])
    try:
        said = stopped(tmp_path, unless_running="sleep")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert (said["changed"], said["stopped"]) == (False, [])
    assert said["in_use"] >= 1
    assert (tmp_path / "unit").exists()
