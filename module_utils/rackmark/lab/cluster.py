"""A whole virtual cluster: what differs from what is wanted, and making it so."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Iterable

from . import host, network
from .carryover import Carried
from .node import NSPAWN_RUN, Node
from .spec import LabError, LabSpec, NodeSpec
from .supervisor import supervisor, wait_until_reaped

SSH_SECONDS = 90.0


@dataclass
class Changes:
    """Names of the nodes that a change touches, by what happens to them, and whether the host itself is touched."""

    created: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    resized: list[str] = field(default_factory=list)
    host: bool = False

    def __bool__(self) -> bool:
        return any(asdict(self).values())


class Lab:
    def __init__(self, spec: LabSpec) -> None:
        self.spec = spec
        self.supervisor = supervisor(spec.name)
        self.settings = host.SharedSettings(spec.state_dir)
        self.nodes = [Node(spec, node) for node in spec.node_specs()]

    @property
    def record_path(self) -> Path:
        return self.spec.directory / "lab.json"

    def changes(self) -> Changes:
        """What has to be done; nothing is touched."""
        self._check_same_lab()
        changes = Changes(removed=sorted(self._nodes_on_disk() - {node.spec.name for node in self.nodes}))
        for node in self.nodes:
            if not node.exists:
                changes.created.append(node.spec.name)
            elif not self.supervisor.is_running(node.spec.name):
                changes.started.append(node.spec.name)
            elif node.has_other_accelerators:
                changes.restarted.append(node.spec.name)
            elif self.supervisor.cpu_share_differs(node.spec.name, node.spec.cpu_share):
                changes.resized.append(node.spec.name)
        changes.host = (
            not network.is_up(self.spec)
            or self.settings.claim(self.spec.name, apply=False)
            or self._record() != self._record_of(self.nodes)
        )
        return changes

    def bring_up(self, changes: Changes, carried: Carried, owner: int) -> None:
        host.check_subnet_is_free(self.spec)
        if self.spec.accelerators:
            host.check_pci_bus()
        host.check_disk(self.spec.state_dir, host.FREE_MB_PER_NEW_NODE * len(changes.created))
        self._make_directories(owner)
        self.settings.claim(self.spec.name, apply=True)
        network.bring_up(self.spec)
        if changes.removed:
            self._remove(changes.removed)
            self._write_record()
        public_key = (self.spec.directory / "key.pub").read_text()
        for node in self.nodes:
            if node.spec.name in changes.created:
                self.supervisor.kill(node.spec.name)
                node.create(carried, public_key)
            if node.spec.name in changes.created + changes.started + changes.restarted:
                self._start(node, carried.folders)
            elif node.spec.name in changes.resized:
                self.supervisor.set_cpu_share(node.spec.name, node.spec.cpu_share)
        self._write_ssh_files()
        self._write_record()

    def take_down(self) -> bool:
        """Remove every trace; true when there was one."""
        was_there = self.spec.directory.exists()
        self._remove(self._nodes_on_disk())
        network.take_down(self.spec)
        self.supervisor.cleanup()
        self.settings.release(self.spec.name)
        if was_there:
            shutil.rmtree(self.spec.directory)
        nspawn = [NSPAWN_RUN / part for part in ("locks", "propagate", "unix-export")]
        host.remove_if_empty(*nspawn, NSPAWN_RUN, self.spec.directory.parent, self.spec.state_dir)
        return was_there

    def _node(self, name: str) -> Node:
        """A node by name, also one that is on disk and no longer wanted."""
        known = {node.spec.name: node for node in self.nodes}
        return known.get(name) or Node(self.spec, NodeSpec(name, "", f"{self.spec.name}-{name}", None))

    def _start(self, node: Node, folders: list[Path]) -> None:
        self.supervisor.kill(node.spec.name)  # what a dead node left running would hold its name and address
        network.pull_cable(node.spec.machine)
        node.hang_up()
        node.mount()
        node.equip()
        self.supervisor.start(node.spec.name, node.boot_command(folders), node.console, node.spec.cpu_share)

    def _remove(self, names: Iterable[str]) -> None:
        ended: set[int] = set()
        for node in map(self._node, names):
            ended |= node.hang_up() | self.supervisor.kill(node.spec.name)
            network.pull_cable(node.spec.machine)
            node.delete()
        wait_until_reaped(ended)

    def wait_for_ssh(self) -> None:
        waiting = {node.spec.name: node for node in self.nodes}
        deadline = time.monotonic() + SSH_SECONDS
        while waiting:
            for name, node in list(waiting.items()):
                if node.answers_ssh():
                    del waiting[name]
                elif time.monotonic() > deadline or not self.supervisor.is_running(name):
                    raise node.not_up()
            time.sleep(0.1)

    def _check_same_lab(self) -> None:
        record = self._record()
        for key in ("suite", "subnet"):
            if record and record[key] != getattr(self.spec, key):
                raise LabError(
                    f"The virtual cluster {self.spec.name!r} exists with {key} {record[key]},"
                    f" not {getattr(self.spec, key)}: take it down first (ansible-playbook playbooks/lab_down.yml)."
                )

    def _nodes_on_disk(self) -> set[str]:
        directory = self.spec.directory / "nodes"
        return {path.name for path in directory.iterdir()} if directory.is_dir() else set()

    def _make_directories(self, owner: int) -> None:
        for part in ("nodes", "shared"):
            (self.spec.directory / part).mkdir(parents=True, exist_ok=True)
        sockets = self.spec.directory / "ssh"
        sockets.mkdir(mode=0o700, exist_ok=True)
        os.chown(sockets, owner, -1)
        key = self.spec.directory / "key"
        if not key.exists():
            host.run(
                "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"rackmark lab {self.spec.name}", "-f", str(key)
            )
            os.chown(key, owner, -1)

    def _record_of(self, nodes: list[Node]) -> dict[str, Any]:
        return {
            "name": self.spec.name,
            "suite": self.spec.suite,
            "subnet": self.spec.subnet,
            "cpu_share": self.spec.cpu_share,
            "shared_dir": self.spec.shared_dir,
            "nodes": {node.spec.name: node.spec.address for node in nodes},
            "accelerators": {
                node.spec.name: str(node.spec.accelerators) for node in nodes if node.spec.accelerators is not None
            },
        }

    def _record(self) -> dict[str, Any]:
        return json.loads(self.record_path.read_text()) if self.record_path.exists() else {}

    def _write_record(self) -> None:
        """The nodes that exist: what the inventory shows."""
        made = [node for node in self.nodes if node.exists]
        self.record_path.write_text(json.dumps(self._record_of(made), indent=2) + "\n")

    def _write_ssh_files(self) -> None:
        """What ssh needs to reach the nodes and to know them: `ssh -F .../ssh_config head`."""
        directory = self.spec.directory
        keys = {node: (node.directory / "host_key.pub").read_text().rsplit(" ", 1)[0] for node in self.nodes}
        known = "".join(f"{node.spec.address},{node.spec.name} {key}\n" for node, key in keys.items())
        (directory / "known_hosts").write_text(known)
        hosts = "".join(f"Host {node.spec.name}\n    HostName {node.spec.address}\n" for node in self.nodes)
        common = (
            f"Host *\n    User root\n    IdentityFile {directory}/key\n    IdentitiesOnly yes\n"
            f"    UserKnownHostsFile {directory}/known_hosts\n    GlobalKnownHostsFile /dev/null\n"
            "    StrictHostKeyChecking yes\n"
        )
        (directory / "ssh_config").write_text(hosts + common)
