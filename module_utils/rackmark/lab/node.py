"""One node of a virtual cluster: its disk, its identity and the command that boots it."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import uuid
from pathlib import Path

from .carryover import Carried
from .host import run
from .spec import LabError, LabSpec, NodeSpec

NSPAWN_RUN = Path("/run/systemd/nspawn")


class Node:
    def __init__(self, lab: LabSpec, node: NodeSpec) -> None:
        self.lab = lab
        self.spec = node
        self.directory = lab.directory / "nodes" / node.name
        self.root = self.directory / "root"
        self.console = self.directory / "console.log"
        self.control_socket = lab.directory / "ssh" / node.name

    @property
    def exists(self) -> bool:
        return (self.directory / "made").exists()

    def create(self, carried: Carried, public_key: str) -> None:
        """A fresh disk over the base image with the node's own name, address, machine id and SSH host key."""
        self.delete()
        for part in ("upper", "work", "root"):
            (self.directory / part).mkdir(parents=True)
        self.mount()
        identity = {
            "etc/hostname": f"{self.spec.name}\n",
            "etc/hosts": f"127.0.0.1 localhost\n{self.spec.address} {self.spec.name}\n",
            "etc/machine-id": f"{uuid.uuid4().hex}\n",
            # Sorts before systemd's own 80-container-host0.network, which would ask for DHCP.
            "etc/systemd/network/10-host0.network": self._network_unit(),
            "root/.ssh/authorized_keys": public_key,
        }
        for path, text in {**carried.files, **identity}.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        (self.root / "root/.ssh").chmod(0o700)
        host_key = self.root / "etc/ssh/ssh_host_ed25519_key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.spec.name, "-f", str(host_key))
        (self.directory / "host_key.pub").write_text(host_key.with_suffix(".pub").read_text())
        (self.directory / "made").touch()

    def mount(self) -> None:
        if not self.root.is_mount():
            layers = f"lowerdir={self.lab.image},upperdir={self.directory}/upper,workdir={self.directory}/work"
            try:
                run("mount", "-t", "overlay", f"rackmark-{self.spec.machine}", "-o", layers, str(self.root))
            except LabError as error:
                raise LabError(
                    f"{error} If {self.directory} is on a file system that overlayfs cannot write to (another overlay,"
                    " NFS), name another place with RACKMARK_STATE_DIR=DIR in the environment."
                ) from error

    def delete(self) -> None:
        """Remove the disk and what nspawn remembers of the machine; the node must not be running."""
        while self.root.is_mount():
            place = self.root.stat()
            (NSPAWN_RUN / "locks" / f"inode-{place.st_dev}:{place.st_ino}").unlink(missing_ok=True)
            run("umount", str(self.root))
        for kept in ("propagate", "unix-export"):
            shutil.rmtree(NSPAWN_RUN / kept / self.spec.machine, ignore_errors=True)
        if self.directory.exists():
            shutil.rmtree(self.directory)

    def boot_command(self, folders: list[Path]) -> list[str]:
        return [
            "systemd-nspawn",
            "--quiet",
            f"--directory={self.root}",
            f"--machine={self.spec.machine}",
            f"--hostname={self.spec.name}",
            "--boot",
            "--keep-unit",
            "--register=no",
            "--settings=no",
            f"--network-bridge={self.lab.bridge}",
            "--resolv-conf=off",
            "--timezone=off",
            "--link-journal=no",
            # Docker and Slurm inside need nearly everything; the machine's clock and modules are not theirs.
            "--capability=all",
            "--drop-capability=CAP_SYS_TIME,CAP_SYS_MODULE",
            "--system-call-filter=@keyring bpf @mount",
            f"--bind={self.lab.directory}/shared:{self.lab.shared_dir}",
            *[f"--bind-ro={folder}" for folder in folders],
        ]

    def answers_ssh(self) -> bool:
        try:
            with socket.create_connection((self.spec.address, 22), timeout=0.5) as connection:
                connection.settimeout(2)
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def hang_up(self) -> set[int]:
        """End a kept SSH connection, which would outlive the node it leads to; the process that held it."""
        if not self.control_socket.is_socket():
            return set()

        def ask(request: str) -> str:
            command = ["ssh", "-O", request, "-o", f"ControlPath={self.control_socket}", self.spec.name]
            return subprocess.run(command, capture_output=True, text=True, check=False).stderr

        master = re.search(r"pid=(\d+)", ask("check"))
        ask("exit")
        self.control_socket.unlink(missing_ok=True)
        return {int(master[1])} if master else set()

    def not_up(self) -> LabError:
        lines = self.console.read_text(errors="replace").splitlines()[-15:] if self.console.exists() else []
        return LabError(
            f"{self.spec.name} does not answer SSH at {self.spec.address}."
            f" The end of its console log ({self.console}):\n" + "\n".join(f"  {line}" for line in lines or ["(empty)"])
        )

    def _network_unit(self) -> str:
        prefix = self.lab.network.prefixlen
        return (
            "[Match]\nName=host0\n\n"
            f"[Network]\nAddress={self.spec.address}/{prefix}\nGateway={self.lab.gateway}\n"
            "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        )
