"""Machines of an inventory of their own, which site.yml sets up from here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml
from vm.machine import Machine

ROOT = Path(__file__).parents[2]


class Site:
    def __init__(
        self, directory: Path, machines: list[Machine], groups: dict[str, list[str]], variables: dict[str, object]
    ) -> None:
        self.directory = directory
        self.hosts = {machine.name: machine.as_host() for machine in machines}
        self.variables = variables
        self.write_inventory(groups)

    def write_inventory(self, groups: dict[str, list[str]]) -> None:
        children = {group: {"hosts": {name: {} for name in names}} for group, names in groups.items()}
        inventory = {"vars": self.variables, "hosts": self.hosts, "children": children}
        (self.directory / "hosts.yml").write_text(yaml.safe_dump({"all": inventory}))

    def play(self, *options: str, status: int = 0) -> str:
        done = subprocess.run(
            ["ansible-playbook", "site.yml", "-i", str(self.directory / "hosts.yml"), *options],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.directory / "facts")},
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
        assert done.returncode == status, done.stdout[-6000:] + done.stderr[-2000:]
        return done.stdout + done.stderr
