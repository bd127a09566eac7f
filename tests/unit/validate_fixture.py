"""Runs playbooks/validate.yml, and others, on inventories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


# A port on which nobody listens: only what asks for it may find that out.
CLOSED = 9


# Of this process: runs on the same controller wait for each other.
HEAD = f"127.{1 + os.getpid() % 250}.{os.getpid() // 250 % 250}.10"


@pytest.fixture
def validate(tmp_path):
    def validate(inventory, *arguments, playbook="playbooks/validate.yml"):
        path = tmp_path / "hosts.yml"
        path.write_text(inventory if isinstance(inventory, str) else yaml.safe_dump(inventory))
        command = [str(Path(sys.executable).with_name("ansible-playbook")), str(playbook), "-i", str(path), *arguments]
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(tmp_path / "facts"),
        }
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return validate


def inventory(of_all=None, **of_hosts):
    """A head and two nodes that cannot be reached, with variables for all hosts and for single ones."""
    hosts = {name: {"ansible_host": f"127.0.0.{number}"} for number, name in enumerate(("head", "node1", "node2"), 10)}
    hosts["head"]["ansible_host"] = HEAD
    for name, variables in of_hosts.items():
        hosts[name] = {**hosts.get(name, {}), **variables}
    nodes = {name: hosts[name] for name in hosts if name != "head"}
    children = {"slurm_controller": {"hosts": {"head": hosts["head"]}}, "slurm_compute": {"hosts": nodes}}
    defaults = {"cluster_probe": False, "ansible_port": CLOSED}
    return {"all": {"vars": {**defaults, **(of_all or {})}, "children": children}}
