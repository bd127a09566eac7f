"""A node made of a temporary folder, and the programs that its health check asks."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from pathlib import Path

from shipped import ROLES, ship

FILES = ROLES / "slurm_health/files"
HEALTHY = "NodeName=n1 State=IDLE ThreadsPerCore=1"


class Node:
    """A node made of a temporary folder: its configuration, and the programs that the check asks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told = folder / "told"
        self.tools = folder / "bin"
        self.config = folder / "health.conf"
        self.program = ship(FILES / "health", folder / "health")
        self.sections: dict[str, dict[str, str]] = {
            "node": {
                "name": "n1",
                "resume": "yes",
                "time_limit": "5",
                "lock": str(folder / "lock"),
                "memory": str(folder / "memory"),
            },
            "shared": {"folder": str(folder), "user": getpass.getuser()},
            "disk": {"folders": str(folder), "free_percent": "0"},
        }
        self.tools.mkdir()
        self.tool("munge", "echo credential")
        self.tool("unmunge", "grep -q credential")
        self.slurm_says(HEALTHY)

    def tool(self, name: str, script: str) -> None:
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def slurm_says(self, line: str) -> None:
        self.tool("scontrol", f'case "$1" in update) shift; echo "$*" >> {self.told};; *) echo "{line}";; esac')

    def devices(self, *names: str) -> None:
        folder = self.folder / "dev"
        folder.mkdir()
        for name in names:
            (folder / name).touch()
        self.sections["devices"] = {"vendor": "nvidia", "count": "2", "folder": str(folder)}

    def check(self, *options: str) -> subprocess.CompletedProcess[str]:
        sections = (
            f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items()) for name, keys in self.sections.items()
        )
        self.config.write_text("\n".join(sections))
        command = [sys.executable, "-B", "-IS", str(self.program), "--config", str(self.config), *options]
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    def what_slurm_was_told(self) -> str:
        return self.told.read_text() if self.told.exists() else ""
