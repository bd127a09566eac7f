"""Virtual machines with kernels and inits of their own, by QEMU, for what a container cannot show."""

from __future__ import annotations

import platform
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rackmark.lab import carryover, compiled_once, image
from rackmark.lab.compiled_once_files import compiled_once_files

SUITE = "bookworm"
KERNEL = "linux-image-cloud-amd64"
BOOT_SECONDS = 600


def run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@dataclass(frozen=True)
class Wire:
    """How a machine is connected: for QEMU, for the machine's own network daemon, and for SSH."""

    netdev: str
    unit: str
    name_server: str
    address: str
    port: int = 22
    mac: str = "52:54:00:12:34:56"


def own_wire() -> Wire:
    """A network of QEMU's making, with a way out and one port in."""
    port = _free_port()
    unit = "[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n"
    return Wire(f"user,id=net,hostfwd=tcp:127.0.0.1:{port}-:22", unit, "10.0.2.3", "127.0.0.1", port)


class Bridge:
    """A network of this machine that several machines and this one see each other on, without a way out."""

    def __init__(self, name: str, network: str) -> None:
        self.name = name
        self.network = network
        self.taps: list[str] = []
        self.remove()
        run("ip", "link", "add", "name", name, "type", "bridge")
        run("ip", "address", "add", f"{network}.1/24", "dev", name)
        run("ip", "link", "set", name, "up")

    def wire(self, number: int) -> Wire:
        tap, address = f"{self.name}-{number}", f"{self.network}.{number}"
        run("ip", "tuntap", "add", "dev", tap, "mode", "tap")
        run("ip", "link", "set", tap, "master", self.name, "up")
        self.taps.append(tap)
        unit = f"[Match]\nName=en* eth*\n[Network]\nAddress={address}/24\n"
        netdev = f"tap,id=net,ifname={tap},script=no,downscript=no"
        return Wire(netdev, unit, f"{self.network}.1", address, mac=f"52:54:00:00:00:{number:02x}")

    def remove(self) -> None:
        links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout.split()
        for link in links:
            if link == self.name or link.startswith(f"{self.name}-"):
                run("ip", "link", "delete", link)


class Machine:
    """Debian with systemd and SSH. Without hardware acceleration it is some ten times slower than this machine."""

    def __init__(self, directory: Path, name: str = "machine", wire: Wire | None = None, suite: str = SUITE) -> None:
        assert platform.machine() == "x86_64", (
            f"The vm tier boots an amd64 kernel, this machine is {platform.machine()}."
        )
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.name = name
        self.suite = suite
        self.wire = wire or own_wire()
        self.root = directory / "root"
        self.disk = directory / "disk.img"
        self.key = directory / "key"
        self.known_hosts = directory / "known_hosts"

    def build(self, base_image: Path, packages: list[str]) -> None:
        carried = carryover.collect(self.suite, run("python", "-m", "pip", "config", "list"), {})
        if not base_image.exists():
            image.build(base_image, self.suite, carried.mirror)
        run("cp", "--archive", str(base_image), str(self.root))
        self._write({**carried.files, **compiled_once_files(), "etc/fstab": "/dev/vda / ext4 rw 0 1\n"})
        (self.root / compiled_once.FOLDER.lstrip("/")).mkdir()
        self.inside("apt-get", "update", "-qq")
        self._install(KERNEL, "initramfs-tools", *packages)

    def inside(self, *command: str) -> None:
        """Run a command in the machine's files before it is booted: at the speed of this machine."""
        nspawn = ["systemd-nspawn", "--quiet", f"--directory={self.root}", "--register=no", "--keep-unit"]
        run(*nspawn, "--resolv-conf=off", "--setenv=DEBIAN_FRONTEND=noninteractive", *command)

    def build_like(self, other: Machine, *packages: str) -> None:
        """The same as another one that is built and not booted yet, with more packages."""
        run("cp", "--archive", str(other.root), str(self.root))
        if packages:
            self._install(*packages)

    def boot(self, memory_mb: int = 4096) -> None:
        self.start(memory_mb)
        self.wait()

    def start(self, memory_mb: int) -> None:
        self._make_somebody()
        run("truncate", "--size=8G", str(self.disk))
        run("mkfs.ext4", "-q", "-F", "-d", str(self.root), str(self.disk))
        kernel, initrd = (next((self.root / "boot").glob(f"{name}-*")) for name in ("vmlinuz", "initrd.img"))
        for path in (kernel, initrd):
            shutil.copy(path, self.directory / path.name.partition("-")[0])
        shutil.rmtree(self.root)
        with (self.directory / "console.log").open("wb") as console:
            self.process = subprocess.Popen(
                [
                    "qemu-system-x86_64",
                    # Emulated, a second processor costs more than it does, and so does every newer instruction.
                    *("-accel", "tcg", "-cpu", "Nehalem", "-smp", "1", "-m", str(memory_mb), "-nographic"),
                    *("-kernel", str(self.directory / "vmlinuz"), "-initrd", str(self.directory / "initrd.img")),
                    # What a processor without a guest to fear does for safety takes an emulated one most of its time.
                    *("-append", "root=/dev/vda rw console=ttyS0 quiet mitigations=off"),
                    *("-drive", f"file={self.disk},if=virtio,format=raw"),
                    *("-netdev", self.wire.netdev),
                    *("-device", f"virtio-net-pci,netdev=net,mac={self.wire.mac}"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        deadline = time.monotonic() + BOOT_SECONDS
        while not self.answers():
            console_end = (self.directory / "console.log").read_text(errors="replace")[-2000:]
            assert self.process.poll() is None, f"QEMU ended: {console_end}"
            assert time.monotonic() < deadline, f"The machine does not answer SSH: {console_end}"
            time.sleep(2)

    def restart(self) -> None:
        """As an administrator does it, until it is another boot that answers."""
        boot_id = self.on("cat /proc/sys/kernel/random/boot_id")
        self.on("reboot", check=False)
        deadline = time.monotonic() + BOOT_SECONDS
        while self.on("cat /proc/sys/kernel/random/boot_id", check=False) in ("", boot_id):
            assert time.monotonic() < deadline, (self.directory / "console.log").read_text(errors="replace")[-2000:]
            time.sleep(2)

    def answers(self) -> bool:
        return subprocess.run(self._ssh("true"), capture_output=True, check=False).returncode == 0

    def on(self, command: str, check: bool = True) -> str:
        done = subprocess.run(self._ssh(command), capture_output=True, text=True, check=False, timeout=1800)
        assert not check or done.returncode == 0, f"'{command}': {done.stdout[-4000:]}{done.stderr[-2000:]}"
        return done.stdout.strip()

    def as_host(self) -> dict[str, str]:
        """How Ansible reaches it."""
        return {
            "ansible_host": self.wire.address,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.key),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.known_hosts} -o ConnectTimeout=30",
        }

    def put(self, folder: Path, target: str) -> None:
        """Copy what git tracks in a folder, as it is now, before the machine is booted."""
        names = run("git", "-C", str(folder), "ls-files")
        pack = subprocess.run(
            ["tar", "-C", str(folder), "-c", "-T", "-"], input=names.encode(), capture_output=True, check=True
        )
        place = self.root / target.lstrip("/")
        place.mkdir(parents=True)
        unpack = ["tar", "-C", str(place), "--no-same-owner", "-x"]
        subprocess.run(unpack, input=pack.stdout, check=True, capture_output=True)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _install(self, *packages: str) -> None:
        self.inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def _make_somebody(self) -> None:
        """What differs between machines."""
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key))
        host_key = self.root / "etc/ssh/ssh_host_ed25519_key"
        for path in (host_key, host_key.with_suffix(".pub")):
            path.unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host_key))
        where = self.wire.address if self.wire.port == 22 else f"[{self.wire.address}]:{self.wire.port}"
        self.known_hosts.write_text(f"{where} {host_key.with_suffix('.pub').read_text()}")
        self._write(
            {
                "etc/hostname": f"{self.name}\n",
                "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n",
                "etc/resolv.conf": f"nameserver {self.wire.name_server}\n",
                "etc/systemd/network/10-ethernet.network": self.wire.unit,
                "root/.ssh/authorized_keys": self.key.with_suffix(".pub").read_text(),
            }
        )

    def _write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def _ssh(self, command: str) -> list[str]:
        return [
            *("ssh", "-i", str(self.key), "-p", str(self.wire.port), "-o", "ConnectTimeout=10", "-o", "BatchMode=yes"),
            *("-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={self.known_hosts}"),
            *("-l", "root", self.wire.address, command),
        ]


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])
