"""One node of a virtual cluster: its disk, its identity and the command that boots it."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import uuid
from pathlib import Path

from . import accelerators, compiled_once
from .carryover import Carried
from .compiled_once_files import compiled_once_files
from .host import run
from .spec import LabError, LabSpec, NodeSpec

NSPAWN_RUN = Path("/run/systemd/nspawn")

# Container engines keep layers of overlayfs there, which the kernel refuses on top of a node's own overlayfs.
_FOLDERS_OF_ENGINES = ("docker", "containerd")
_BOOT_SCRIPT = "usr/local/lib/rackmark-node"
_PCI_ENTRIES = "usr/local/lib/rackmark-pci"
_BOOT_UNIT = "rackmark-node.service"
_BOOT_UNIT_TEXT = f"""\
[Unit]
Description=What Slurm and containers need of a virtual node
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/{_BOOT_SCRIPT}
"""
# nspawn mounts the controllers of cgroup version 1 read-only. One that is busy becomes writable at this place alone.
_WRITABLE_CGROUPS = """\
#!/bin/sh
set -e
while read -r _ folder type options _; do
    case "$type $options" in
        "cgroup ro,"*) mount -o remount,rw "$folder" 2>/dev/null || mount -o remount,bind,rw "$folder" ;;
    esac
done </proc/mounts
"""


class Node:
    def __init__(self, lab: LabSpec, node: NodeSpec) -> None:
        self.lab = lab
        self.spec = node
        self.directory = lab.directory / "nodes" / node.name
        self.root = self.directory / "root"
        self.console = self.directory / "console.log"
        self.control_socket = lab.directory / "ssh" / node.name
        self.equipment = self.directory / "accelerators"

    @property
    def exists(self) -> bool:
        return (self.directory / "made").exists()

    @property
    def has_other_accelerators(self) -> bool:
        """Whether the node was last booted with others than it should have."""
        return (self.equipment.read_text() if self.equipment.exists() else "") != self._wanted_equipment()

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
        for path, text in {**carried.files, **compiled_once_files(), **identity}.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        (self.root / compiled_once.FOLDER.lstrip("/")).mkdir(mode=0o755)
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

    def equip(self) -> None:
        """What a node finds when it boots: writable cgroups, its devices, and room for container engines."""
        for engine in _FOLDERS_OF_ENGINES:
            (self.directory / engine).mkdir(exist_ok=True)
        script = self.root / _BOOT_SCRIPT
        script.write_text(self._boot_script())
        script.chmod(0o755)
        unit = self.root / "etc/systemd/system" / _BOOT_UNIT
        unit.write_text(_BOOT_UNIT_TEXT)
        wish = unit.parent / "sysinit.target.wants" / _BOOT_UNIT
        wish.parent.mkdir(exist_ok=True)
        if not wish.is_symlink():
            wish.symlink_to(f"../{_BOOT_UNIT}")
        pci = self.root / _PCI_ENTRIES
        if pci.exists():
            shutil.rmtree(pci)
        for path, text in self._pci_entries().items():
            (pci / path).parent.mkdir(parents=True, exist_ok=True)
            (pci / path).write_text(text)
        self.equipment.write_text(self._wanted_equipment())

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
            *[f"--bind={self.directory}/{engine}:/var/lib/{engine}" for engine in _FOLDERS_OF_ENGINES],
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

    def _wanted_equipment(self) -> str:
        return str(self.spec.accelerators or "")

    def _boot_script(self) -> str:
        wanted = self.spec.accelerators
        if wanted is None:
            return _WRITABLE_CGROUPS
        devices = accelerators.device_files(wanted, accelerators.majors_in_use())
        made = [f"mknod -m 0666 /dev/{device.name} c {device.major} {device.minor}\n" for device in devices]
        # Not a bind of nspawn's own, which lays the machine's /sys/bus over it.
        shown = f"mount -o bind,ro /{_PCI_ENTRIES} {accelerators.PCI_DEVICES}\n"
        return "".join([_WRITABLE_CGROUPS, *made, shown])

    def _pci_entries(self) -> dict[str, str]:
        return accelerators.pci_entries(self.spec.accelerators) if self.spec.accelerators else {}

    def _network_unit(self) -> str:
        prefix = self.lab.network.prefixlen
        return (
            "[Match]\nName=host0\n\n"
            f"[Network]\nAddress={self.spec.address}/{prefix}\nGateway={self.lab.gateway}\n"
            "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        )
