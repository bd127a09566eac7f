"""A package and an archive that stand in for Grafana's. What is in them says that it is simulated."""

from __future__ import annotations

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import stub_packages
from lab.stub_packages import STUBS, Server, Signer, run, sha256


def build_package(folder: Path, version: str) -> Path:
    """With the folders, the user and the rights of the real one."""
    path = stub_packages.build_deb(
        folder,
        "grafana",
        version,
        {
            "/usr/share/grafana/bin/grafana": "grafana",
            "/lib/systemd/system/grafana-server.service": "grafana-server.service",
            "/etc/default/grafana-server": "grafana.default",
        },
        depends="adduser, python3",
    )
    tree = folder / "trees" / f"grafana_{version}"
    (tree / "usr/share/grafana/VERSION").write_text(f"{version}\n")
    shutil.copy(STUBS / "grafana.postinst", tree / "DEBIAN/postinst")
    (tree / "DEBIAN/postinst").chmod(0o755)
    run("dpkg-deb", "--root-owner-group", "--build", str(tree), str(path))
    return path


def build_archive(folder: Path, version: str) -> Path:
    tree = folder / "trees" / f"grafana-v{version}"
    (tree / "bin").mkdir(parents=True)
    shutil.copy(STUBS / "grafana", tree / "bin/grafana")
    (tree / "bin/grafana").chmod(0o755)
    (tree / "VERSION").write_text(f"{version}\n")
    path = folder / f"grafana-{version}.linux-amd64.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(tree, arcname=tree.name)
    return path


@dataclass
class Source:
    """Stubs of Grafana in a signed repository that nodes reach, as a package file and as an archive."""

    folder: Path
    server: Server
    signer: Signer
    versions: tuple[str, ...]

    @property
    def repository(self) -> dict[str, Any]:
        """What the variable grafana_repository is to be."""
        return {"url": self.server.url, "key": self.signer.public}

    def package(self, version: str) -> dict[str, Any]:
        path = self.folder / f"served/grafana_{version}_all.deb"
        return {"name": "grafana", "version": version, "file": str(path), "sha256": sha256(path)}

    def archive(self, version: str) -> dict[str, Any]:
        path = self.folder / f"served/grafana-{version}.linux-amd64.tar.gz"
        return {"version": version, "file": str(path), "sha256": sha256(path)}

    def close(self) -> None:
        self.server.close()
        self.signer.close()


def make_source(folder: Path, address: str, *versions: str) -> Source:
    """A source that serves on an address of this machine; `close` ends it."""
    served = folder / "served"
    served.mkdir()
    for version in versions:
        build_package(served, version)
        build_archive(served, version)
    signer = Signer(folder / "key")
    signer.sign(stub_packages.index(served))
    return Source(folder, Server(served, address), signer, versions)
