"""Which accelerators a host carries, as its PCI bus tells it: no driver and no vendor's tool is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping

PCI = Path("/sys/bus/pci/devices")
DEV = Path("/dev")
AUTO = "auto"
NONE = "none"


@dataclass(frozen=True)
class Vendor:
    """How a vendor's accelerators are told from its other devices. Classes are PCI class and subclass."""

    title: str
    pci_id: int
    classes: frozenset[int]
    device_file: str
    models: Mapping[int, str]


VENDORS = {
    "nvidia": Vendor(
        "NVIDIA",
        0x10DE,
        frozenset({0x0300, 0x0302}),  # display, and 3D controllers without a screen
        "nvidia",
        {
            0x102D: "Tesla K80",
            0x15F8: "Tesla P100 PCIe 16GB",
            0x15F9: "Tesla P100 SXM2 16GB",
            0x1B38: "Tesla P40",
            0x1DB1: "Tesla V100 SXM2 16GB",
            0x1DB4: "Tesla V100 PCIe 16GB",
            0x1DB5: "Tesla V100 SXM2 32GB",
            0x1DB6: "Tesla V100 PCIe 32GB",
            0x1DF6: "Tesla V100S PCIe 32GB",
            0x1EB8: "Tesla T4",
            0x20B0: "A100 SXM4 40GB",
            0x20B2: "A100 SXM4 80GB",
            0x20B5: "A100 PCIe 80GB",
            0x20B7: "A30",
            0x20F1: "A100 PCIe 40GB",
            0x2204: "GeForce RTX 3090",
            0x2235: "A40",
            0x2236: "A10",
            0x2322: "H800 PCIe",
            0x2324: "H800",
            0x2329: "H20",
            0x2330: "H100 SXM5 80GB",
            0x2331: "H100 PCIe",
            0x2335: "H200 SXM 141GB",
            0x2684: "GeForce RTX 4090",
            0x26B5: "L40",
            0x26B9: "L40S",
            0x27B8: "L4",
            0x2901: "B200",
        },
    ),
    "ascend": Vendor(
        "Ascend",
        0x19E5,
        frozenset({0x1200}),  # processing accelerators; Huawei's network cards have the same vendor id
        "davinci",
        {
            0xD100: "Ascend 310",
            0xD500: "Ascend 310P",
            0xD801: "Ascend 910",
            0xD802: "Ascend 910B",
            0xD803: "Ascend 910C",
        },
    ),
}


@dataclass(frozen=True)
class PciDevice:
    vendor: int
    device: int
    kind: int

    @property
    def id(self) -> str:
        return f"{self.vendor:04x}:{self.device:04x}"


def read_bus(folder: Path = PCI) -> list[PciDevice]:
    """Devices of the PCI bus, in the order of their slots; none where there is no bus to look at."""
    slots = sorted(folder.iterdir()) if folder.is_dir() else []
    # A virtual function is a part of a device that is counted already.
    return [_read(slot) for slot in slots if not (slot / "physfn").exists()]


def _read(slot: Path) -> PciDevice:
    vendor, device, kind = (int((slot / name).read_text(), 16) for name in ("vendor", "device", "class"))
    return PciDevice(vendor, device, kind >> 8)


def by_vendor(bus: Iterable[PciDevice]) -> dict[str, list[PciDevice]]:
    devices = list(bus)
    return {
        name: [found for found in devices if found.vendor == vendor.pci_id and found.kind in vendor.classes]
        for name, vendor in VENDORS.items()
    }


def device_files(vendor: str, folder: Path = DEV) -> list[str]:
    """Files of the devices a driver has brought up, such as /dev/nvidia0, in the order of their numbers."""
    name = re.compile(re.escape(VENDORS[vendor].device_file) + r"(\d+)")
    numbered = [(int(match[1]), path) for path in folder.iterdir() if (match := name.fullmatch(path.name))]
    return [str(path) for _, path in sorted(numbered)]


def choose(found: Mapping[str, list[PciDevice]]) -> str:
    """The vendor whose accelerators a host carries. A host with two kinds needs an operator's word."""
    present = [name for name, devices in found.items() if devices]
    if len(present) > 1:
        counts = " and ".join(f"{len(found[name])} of {VENDORS[name].title}" for name in present)
        raise ValueError(
            f"This host carries {counts}, and a node has accelerators of one kind. Say which are meant with"
            f" cluster_accelerator: {' or '.join(present)} (or none) for this host in the inventory."
        )
    return present[0] if present else NONE


def number(asked: str, found: int, files: int) -> int:
    """How many devices: as asked for, else as the bus shows, else as there are device files (a guest without a bus)."""
    if asked == AUTO:
        return found or files
    if not asked.isdecimal():
        raise ValueError(f"cluster_devices_per_node is {asked!r}: give a number, or auto.")
    return int(asked)


def facts(bus: list[PciDevice], asked_vendor: str, asked_count: str, dev: Path = DEV) -> dict[str, object]:
    """What the rest of the cluster is told about this host."""
    found = by_vendor(bus)
    vendor = choose(found) if asked_vendor == AUTO else asked_vendor
    devices = found.get(vendor, [])
    files = device_files(vendor, dev) if vendor in VENDORS else []
    count = number(asked_count, len(devices), len(files)) if vendor in VENDORS else 0
    ids = sorted({device.id for device in devices})
    return {
        # What is said of a whole cluster does not give devices to a host that has none.
        "vendor": vendor if count else NONE,
        "count": count,
        "model": VENDORS[vendor].models.get(devices[0].device) if len(ids) == 1 else None,
        "ids": ids,
        "devices": files,
        "found": {name: len(each) for name, each in found.items()},
    }
