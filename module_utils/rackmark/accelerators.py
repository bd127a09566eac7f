"""Which accelerators a host carries, as its PCI bus tells it: no driver and no vendor's tool is needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping

from .node.devices import device_files
from .node.vendors import NONE, VENDORS

PCI = Path("/sys/bus/pci/devices")
DEV = Path("/dev")
AUTO = "auto"


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
        name: [found for found in devices if found.vendor == vendor.pci_id and found.kind in vendor.pci_classes]
        for name, vendor in VENDORS.items()
    }


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
    files = [str(path) for path in device_files(vendor, dev)] if vendor in VENDORS else []
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
