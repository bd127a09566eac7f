"""Vendors of accelerators: what tells them apart, one entry each. Nothing else in the project lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable, Mapping, Pattern

NONE = "none"
CPU = "cpu"  # what ranks train on where there are no accelerators
# Slurm calls the devices of all vendors gpu: it keeps jobs away from the devices of others only for names that it has
# a plugin for. The vendor is their type. Sites with a slurm.conf of their own may use a name of the vendor.
GRES = "gpu"
# Numbers of device files, as Slurm tells a job.
GRES_VARIABLES = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")


@dataclass(frozen=True)
class Vendor:
    """`device_prefix` begins the names of the device files in /dev, `common_files` are those of all devices together.

    `device` is what ranks train on. `visible_variable` holds the devices that a program may use, by the numbers of
    their files, or where `visible_counts` counted from the first one that it may open.
    `list_command` lists the devices that the driver knows and `listed` counts them in its answer. Where it
    `answers_users`, it does so without rights. `users_command` prints lines of process and program.
    `has_runtime` says that Docker's --gpus gives a container the devices, else it needs `common_files` and
    `driver_paths`. PCI classes are class and subclass, `models` are names by PCI device.
    """

    title: str
    device: str
    device_prefix: str
    common_files: tuple[str, ...]
    gres: tuple[str, ...]
    visible_variable: str
    visible_counts: bool
    list_command: tuple[str, ...]
    listed: Callable[[str], int]
    answers_users: bool
    version_command: tuple[str, ...] = ()
    version_file: str = ""
    users_command: tuple[str, ...] = ()
    has_runtime: bool = False
    driver_paths: tuple[str, ...] = ()
    pci_id: int = 0
    pci_classes: frozenset[int] = frozenset()
    models: Mapping[int, str] = field(default_factory=dict)

    @property
    def device_name(self) -> Pattern[str]:
        """Matches the name of a device file, with its number."""
        return re.compile(re.escape(self.device_prefix) + r"(\d+)")


def _listed_gpus(said: str) -> int:
    return len(re.findall(r"^GPU \d+:", said, re.MULTILINE))


def _listed_npus(said: str) -> int:
    """A card can carry several chips."""
    chips = re.findall(r"^\s*Chip Count\s*:\s*(\d+)", said, re.MULTILINE)
    return sum(map(int, chips)) or len(re.findall(r"^\s*NPU ID\s*:", said, re.MULTILINE))


VENDORS: Mapping[str, Vendor] = {
    "nvidia": Vendor(
        title="NVIDIA",
        device="cuda",
        device_prefix="nvidia",
        common_files=("nvidiactl", "nvidia-uvm"),
        gres=(),
        visible_variable="CUDA_VISIBLE_DEVICES",
        visible_counts=True,
        list_command=("nvidia-smi", "-L"),
        listed=_listed_gpus,
        answers_users=True,
        version_command=("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        users_command=("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader"),
        has_runtime=True,
        pci_id=0x10DE,
        pci_classes=frozenset({0x0300, 0x0302}),  # display, and 3D controllers without a screen
        models={
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
        title="Ascend",
        device="npu",
        device_prefix="davinci",
        common_files=("davinci_manager", "devmm_svm", "hisi_hdc"),
        gres=("npu",),
        visible_variable="ASCEND_RT_VISIBLE_DEVICES",
        visible_counts=False,
        list_command=("npu-smi", "info", "-l"),
        listed=_listed_npus,
        answers_users=False,
        version_file="/usr/local/Ascend/driver/version.info",
        driver_paths=(
            "/usr/local/Ascend/driver",
            "/usr/local/dcmi",
            "/usr/local/bin/npu-smi",
            "/etc/ascend_install.info",
            "/etc/hccn.conf",
        ),
        pci_id=0x19E5,
        pci_classes=frozenset({0x1200}),  # processing accelerators; Huawei's network cards have the same vendor id
        models={
            0xD100: "Ascend 310",
            0xD500: "Ascend 310P",
            0xD801: "Ascend 910",
            0xD802: "Ascend 910B",
            0xD803: "Ascend 910C",
        },
    ),
}
DEVICES = tuple(sorted([CPU, *(vendor.device for vendor in VENDORS.values())]))


def device_of(vendor: str) -> str:
    """What ranks train on with accelerators of this vendor, or with none."""
    return VENDORS[vendor].device if vendor in VENDORS else CPU


def vendor_of_gres(entry: str) -> str:
    """The vendor of a generic resource of Slurm, such as gpu:ascend:8 or npu:8; "none" for one of another kind."""
    kind, *rest = entry.split(":")
    for name, vendor in VENDORS.items():
        if kind in vendor.gres or (kind == GRES and any(name in word for word in rest)):
            return name
    return next(iter(VENDORS)) if kind == GRES else NONE  # gpu:a100:8 and gpu:8 are NVIDIA's
