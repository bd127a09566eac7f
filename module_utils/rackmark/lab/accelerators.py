"""How accelerators are simulated: device files that no driver answers, and the PCI entries that real ones have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .spec import Accelerators

PCI_DEVICES = Path("/sys/bus/pci/devices")

# What a kernel says of an NVIDIA H100 and of an Ascend 910B.
_PCI_IDS = {
    "nvidia": {"vendor": "0x10de", "device": "0x2330", "class": "0x030200"},
    "ascend": {"vendor": "0x19e5", "device": "0xd802", "class": "0x120000"},
}
_NVIDIA_MAJOR = 195
_SPARE_MAJORS = range(400, 500)  # drivers that ask for any number get these last


@dataclass(frozen=True)
class DeviceFile:
    name: str
    major: int
    minor: int


def device_files(wanted: Accelerators, majors_in_use: set[int]) -> list[DeviceFile]:
    """Each with a number of its own, so that a cgroup can allow one and deny the next."""
    spare = next(major for major in _SPARE_MAJORS if major not in majors_in_use)
    if wanted.vendor == "nvidia":
        # Where a real driver has its number, a node must not reach real devices by simulated names.
        major = spare if _NVIDIA_MAJOR in majors_in_use else _NVIDIA_MAJOR
        common = [DeviceFile("nvidiactl", major, 255), DeviceFile("nvidia-uvm", spare, 254)]
        return [*(DeviceFile(f"nvidia{i}", major, i) for i in range(wanted.count)), *common]
    common = [
        DeviceFile("davinci_manager", spare, 252),
        DeviceFile("devmm_svm", spare, 253),
        DeviceFile("hisi_hdc", spare, 254),
    ]
    return [*(DeviceFile(f"davinci{i}", spare, i) for i in range(wanted.count)), *common]


def pci_entries(wanted: Accelerators) -> dict[str, str]:
    """Files of /sys/bus/pci/devices, by path below it."""
    return {
        f"0000:{0x10 + i:02x}:00.0/{name}": f"{value}\n"
        for i in range(wanted.count)
        for name, value in _PCI_IDS[wanted.vendor].items()
    }


def majors_in_use() -> set[int]:
    """Numbers of the character devices that this machine's drivers answer to."""
    listed = Path("/proc/devices").read_text().partition("Block devices:")[0]
    return {int(line.split()[0]) for line in listed.splitlines()[1:] if line.strip()}
