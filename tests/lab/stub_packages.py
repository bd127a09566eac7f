"""Packages that stand in for those of accelerator vendors, and a signed repository that serves them.

What is in them says that it is simulated. What installs them is the real thing: apt with a key, dpkg, checksums, bash.
"""

from __future__ import annotations

import hashlib
import http.server
import io
import shutil
import subprocess
import tarfile
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import host_packages
from lab import simulated_nvml

STUBS = Path(__file__).with_name("stubs")
TOOLKIT = [
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
]
DRIVER = "nvidia-driver-simulated"
DCGM = ["datacenter-gpu-manager-4-core", "datacenter-gpu-manager-exporter"]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*command: str, **options: object) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def build_deb(folder: Path, name: str, version: str, files: dict[str, str], depends: str = "") -> Path:
    """A package with files of STUBS, or others by their whole path, by their place on the host."""
    tree = folder / "trees" / f"{name}_{version}"
    for place, stub in files.items():
        target = tree / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(STUBS / stub, target)
        target.chmod(0o644 if target.suffix == ".service" else 0o755)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: Rackmark's tests <tests@localhost>\n"
        + (f"Depends: {depends}\n" if depends else "")
        + "Description: simulated, for Rackmark's tests\n"
    )
    path = folder / f"{name}_{version}_all.deb"
    run("dpkg-deb", "--root-owner-group", "--build", str(tree), str(path))
    return path


def build_nvidia(folder: Path, version: str) -> list[Path]:
    """The container toolkit as its four packages that need each other in one version, and a driver."""
    same = f"(= {version})"
    base = {"/usr/bin/nvidia-container-runtime": "container-runtime", "/usr/bin/nvidia-ctk": "container-runtime"}
    driver = {
        "/usr/bin/nvidia-smi": "nvidia-smi",
        "/usr/lib/libnvidia-ml.so.1": str(simulated_nvml.build_nvml(folder)),
        "/lib/systemd/system/nvidia-persistenced.service": "nvidia-persistenced.service",
    }
    return [
        build_deb(folder, TOOLKIT[0], version, {}, f"{TOOLKIT[1]} {same}, {TOOLKIT[2]} {same}"),
        build_deb(folder, TOOLKIT[1], version, base),
        build_deb(folder, TOOLKIT[2], version, {}, f"{TOOLKIT[3]} {same}"),
        build_deb(folder, TOOLKIT[3], version, {}),
        build_deb(folder, DRIVER, version, driver),
    ]


def build_dcgm(folder: Path, version: str) -> list[Path]:
    """DCGM and its exporter, which needs it, with the unit as NVIDIA's package has it."""
    exporter = {
        "/usr/bin/dcgm-exporter": "dcgm-exporter",
        "/etc/dcgm-exporter/default-counters.csv": "default-counters.csv",
        "/lib/systemd/system/nvidia-dcgm-exporter.service": "nvidia-dcgm-exporter.service",
    }
    return [build_deb(folder, DCGM[0], version, {}), build_deb(folder, DCGM[1], version, exporter, DCGM[0])]


def build_run(folder: Path, kind: str, version: str, ending: int = 0) -> Path:
    """An installer of the Ascend kind: a shell script with an archive behind it."""
    contents = {
        "driver": {"tools/npu-smi": "npu-smi", "tools/hccn_tool": "hccn_tool"},
        "docker_runtime": {"ascend-docker-runtime": "container-runtime"},
    }.get(kind, {})
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for place, stub in contents.items():
            tar.add(STUBS / stub, arcname=place, filter=_executable)
    head = (STUBS / "ascend.run.head").read_text()
    for word, value in (("@KIND@", kind), ("@VERSION@", version), ("@ENDING@", str(ending))):
        head = head.replace(word, value)
    path = folder / f"Ascend-simulated-{kind}_{version}_linux.run"
    path.write_bytes(head.encode() + archive.getvalue())
    return path


def _executable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode, member.uid, member.gid, member.uname, member.gname = 0o755, 0, 0, "root", "root"
    return member


@dataclass
class Signer:
    """A key that is thrown away with its folder."""

    home: Path
    public: str = field(init=False)

    def __post_init__(self) -> None:
        if not shutil.which("gpg"):
            host_packages.install("gpg", "gpg-agent")
        self.home.mkdir(mode=0o700, parents=True)
        self.gpg("--passphrase", "", "--quick-generate-key", "Rackmark's tests", "ed25519", "sign", "never")
        self.public = self.gpg("--armor", "--export")

    def gpg(self, *arguments: str) -> str:
        return run("gpg", "--homedir", str(self.home), "--batch", "--yes", *arguments)

    def sign(self, release: Path) -> None:
        self.gpg("--clearsign", "--output", str(release.with_name("InRelease")), str(release))

    def close(self) -> None:
        run("gpgconf", "--homedir", str(self.home), "--kill", "gpg-agent")


def index(folder: Path) -> Path:
    """Make a folder of packages a repository without suites; its Release file, which is to be signed."""
    entries = []
    for deb in sorted(folder.glob("*.deb")):
        control = run("dpkg-deb", "--field", str(deb)).rstrip()
        entries.append(f"{control}\nFilename: ./{deb.name}\nSize: {deb.stat().st_size}\nSHA256: {sha256(deb)}\n")
    packages = folder / "Packages"
    packages.write_text("\n".join(entries))
    release = folder / "Release"
    release.write_text(
        "Origin: Rackmark's tests\nLabel: simulated\nArchitectures: all amd64 arm64\n"
        f"Date: {run('date', '--utc', '--rfc-email').strip().replace('+0000', 'UTC')}\n"
        f"SHA256:\n {sha256(packages)} {packages.stat().st_size} Packages\n"
    )
    return release


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are not the tests' story."""


class Server:
    """Serves a folder to the nodes on an address of this machine."""

    def __init__(self, folder: Path, address: str) -> None:
        self.http = http.server.ThreadingHTTPServer((address, 0), partial(_Quiet, directory=str(folder)))
        self.url = f"http://{address}:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
