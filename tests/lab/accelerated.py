"""A virtual cluster whose nodes have accelerators, for several files of tests. Devices and packages are simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab import stub_packages
from lab.cluster import ROOT, SUBNET, Cluster, Play
from lab.stub_packages import DRIVER, Server, Signer, sha256

PLAYBOOK = "tests/lab/accelerators.yml"
GATEWAY = SUBNET.rpartition(".")[0] + ".1"
OLDER, NEWER = "1.17.8-1", "1.18.0-1"
ASCEND = {"driver": "24.1.rc2", "firmware": "7.3.0.1.231", "toolkit": "8.0.RC2", "docker_runtime": "6.0.0"}
ADDRESSES = [
    {"address": f"198.51.100.{10 + number}/24", "gateway": "198.51.100.1", "detect": "198.51.100.1"}
    for number in range(8)
]
LAB = {"lab_nodes": 3, "lab_accelerators": {"node1": "nvidia:8", "node2": "ascend:8"}}
MANAGERS = ["davinci_manager", "devmm_svm", "hisi_hdc"]


@dataclass
class Accelerated:
    """node1 has 8 NVIDIA devices, node2 has 8 of Ascend, node3 has none; what their roles install, and from where."""

    cluster: Cluster
    folder: Path
    url: str
    signer: Signer
    variables: dict[str, Any] = field(default_factory=dict)

    def inventory(self, **hosts: dict[str, Any]) -> str:
        """Command line for the lab's inventory with more variables for some hosts."""
        path = self.folder / "hosts.yml"
        path.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        return f"-i {ROOT / 'inventory'} -i {path}"

    def play(
        self, playbook: str = PLAYBOOK, *, cmdline: str = "", addresses: Any = ADDRESSES, **variables: Any
    ) -> Play:
        hosts = self.inventory(node2={"ascend_device_addresses": addresses})
        return self.cluster.play(playbook, cmdline=f"{hosts} {cmdline}", **{**self.variables, **variables})

    def on(self, node: str, command: str) -> str:
        return self.cluster.on(node, command)

    def version(self, node: str, package: str) -> str:
        return self.on(node, f"dpkg-query --show --showformat='${{Version}}' {package}")

    def ascend_package(self, kind: str, version: str, ending: int = 0, **more: Any) -> dict[str, Any]:
        path = stub_packages.build_run(self.folder, kind, version, ending)
        return {"name": kind, "version": version, "file": str(path), "sha256": sha256(path), **more}

    def ran(self, node: str = "node2") -> list[str]:
        """Installers that ran on a node, in their order."""
        return self.on(node, "cat /var/log/ascend-installers-simulated 2>/dev/null || true").splitlines()


@pytest.fixture(scope="session")
def blank(no_cluster, tmp_path_factory):
    """Nodes on which no role has been, a signed repository that they can reach, and installers."""
    folder = tmp_path_factory.mktemp("packages")
    served = folder / "served"
    served.mkdir()
    for version in (OLDER, NEWER):
        stub_packages.build_nvidia(served, version)
    signer = Signer(folder / "key")
    signer.sign(stub_packages.index(served))
    no_cluster.boot_for("accelerated", **LAB)
    server = Server(served, GATEWAY)
    made = Accelerated(no_cluster, folder, server.url, signer)
    made.variables = {
        "nvidia_repository": {"url": server.url, "key": signer.public},
        "nvidia_driver_packages": [DRIVER],
        "ascend_packages": [made.ascend_package(kind, version) for kind, version in ASCEND.items()],
    }
    yield made
    server.close()
    signer.close()


@pytest.fixture(scope="session")
def accelerated(blank):
    blank.play().succeeded()
    return blank


@pytest.fixture(scope="session")
def whole(accelerated):
    """All of site.yml on these nodes."""
    accelerated.play("site.yml").succeeded()
    return accelerated
