"""A virtual machine with a kernel and an init of its own, by QEMU, for what a container cannot show."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import time
from pathlib import Path

from rackmark.lab import carryover, image

SUITE = "bookworm"
KERNEL = "linux-image-cloud-amd64"
BOOT_SECONDS = 600
NETWORK_UNIT = "[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n"
# The address at which QEMU's own network answers for the machine's name servers.
NAME_SERVER = "nameserver 10.0.2.3\n"


def run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


class Machine:
    """Debian with systemd and SSH. Without hardware acceleration it is some ten times slower than this machine."""

    def __init__(self, directory: Path, packages: list[str]) -> None:
        assert platform.machine() == "x86_64", (
            f"The vm tier boots an amd64 kernel, this machine is {platform.machine()}."
        )
        self.directory = directory
        self.root = directory / "root"
        self.disk = directory / "disk.img"
        self.key = directory / "key"
        self.packages = packages

    def build(self, base_image: Path) -> None:
        carried = carryover.collect(SUITE, run("python", "-m", "pip", "config", "list"), {})
        if not base_image.exists():
            image.build(base_image, SUITE, carried.mirror)
        run("cp", "--archive", str(base_image), str(self.root))
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key))
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / "etc/ssh/ssh_host_ed25519_key"))
        files = {
            **carried.files,
            "etc/hostname": "machine\n",
            "etc/hosts": "127.0.0.1 localhost\n127.0.1.1 machine\n",
            "etc/fstab": "/dev/vda / ext4 rw 0 1\n",
            "etc/systemd/network/10-ethernet.network": NETWORK_UNIT,
            "root/.ssh/authorized_keys": self.key.with_suffix(".pub").read_text(),
        }
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        inside = [
            "systemd-nspawn",
            "--quiet",
            f"--directory={self.root}",
            "--register=no",
            "--keep-unit",
            "--resolv-conf=off",
        ]
        environment = "--setenv=DEBIAN_FRONTEND=noninteractive"
        run(*inside, environment, "apt-get", "update", "-qq")
        wanted = [KERNEL, "initramfs-tools", *self.packages]
        run(*inside, environment, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *wanted)
        (self.root / "etc/resolv.conf").write_text(NAME_SERVER)

    def boot(self) -> None:
        run("truncate", "--size=8G", str(self.disk))
        run("mkfs.ext4", "-q", "-F", "-d", str(self.root), str(self.disk))
        kernel, initrd = (next((self.root / "boot").glob(f"{name}-*")) for name in ("vmlinuz", "initrd.img"))
        for path in (kernel, initrd):
            shutil.copy(path, self.directory / path.name.partition("-")[0])
        shutil.rmtree(self.root)
        self.port = _free_port()
        with (self.directory / "console.log").open("wb") as console:
            self.process = subprocess.Popen(
                [
                    "qemu-system-x86_64",
                    *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "4096", "-nographic"),
                    *("-kernel", str(self.directory / "vmlinuz"), "-initrd", str(self.directory / "initrd.img")),
                    *("-append", "root=/dev/vda rw console=ttyS0"),
                    *("-drive", f"file={self.disk},if=virtio,format=raw"),
                    *("-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self.port}-:22"),
                    *("-device", "virtio-net-pci,netdev=net"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + BOOT_SECONDS
        while not self.answers():
            console_end = (self.directory / "console.log").read_text(errors="replace")[-2000:]
            assert self.process.poll() is None, f"QEMU ended: {console_end}"
            assert time.monotonic() < deadline, f"The machine does not answer SSH: {console_end}"
            time.sleep(2)

    def answers(self) -> bool:
        return subprocess.run(self._ssh("true"), capture_output=True, check=False).returncode == 0

    def on(self, command: str, check: bool = True) -> str:
        done = subprocess.run(self._ssh(command), capture_output=True, text=True, check=False, timeout=1800)
        assert not check or done.returncode == 0, f"'{command}': {done.stdout[-4000:]}{done.stderr[-2000:]}"
        return done.stdout.strip()

    def put(self, folder: Path, target: str) -> None:
        """Copy what git tracks in a folder, as it is now."""
        names = run("git", "-C", str(folder), "ls-files")
        pack = subprocess.run(
            ["tar", "-C", str(folder), "-c", "-T", "-"], input=names.encode(), capture_output=True, check=True
        )
        unpack = self._ssh(f"mkdir -p {target} && tar -C {target} -x")
        subprocess.run(unpack, input=pack.stdout, check=True, capture_output=True)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _ssh(self, command: str) -> list[str]:
        known = self.directory / "known_hosts"
        return [
            *("ssh", "-i", str(self.key), "-p", str(self.port), "-o", "ConnectTimeout=10", "-o", "BatchMode=yes"),
            *("-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={known}", "root@127.0.0.1", command),
        ]


def install_missing(*packages: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", "-qq", env=environment)
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages, env=environment)


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])
