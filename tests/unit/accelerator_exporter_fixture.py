"""A host with accelerators as the exporter sees it: NVIDIA's binding, an npu-smi, device files, and what is scraped."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[2]
EXPORTER = ROOT / "roles/accelerator_exporter/files"

# {errors} holds what is said of card 0's memory; of card 1's nothing is counted.
NPU_SMI = """#!/bin/sh
case "$*" in
    "info -l") printf "\tNPU ID                         : 0\n\tNPU ID                         : 1\n"; exit ;;
    "info -t ecc -i 0") cat {errors}; exit ;;
    *ecc*) echo "This device does not support querying ecc."; exit 1 ;;
esac
echo "NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  HBM(%)"
while [ -e {rows} ]; do cat {rows}; sleep 0.02; done
"""
ECC = """
	DDR Single Bit Error Count               : 9
	DDR Double Bit Error Count               : 1
	DDR Double Bit Aggregate Total Err Cnt   : 70
	HBM Double Bit Error Count               : 2
	Chip ID                                  : 0
"""


class Nvml:
    """NVIDIA's binding, as far as the readers use it. Device N draws 300 + N watts; device 1 has no energy counter."""

    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818, the binding's name
        pass

    class NVMLError_FunctionNotFound(NVMLError):  # noqa: N801, N818
        pass

    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM, NVML_CLOCK_MEM = 0, 1, 2
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0

    def __init__(self):
        self.lost, self.loaded, self.begun = set(), True, False
        self.nvmlDeviceGetMinorNumber = self.nvmlDeviceGetHandleByIndex = self.of(lambda device: device)
        self.nvmlDeviceGetName = self.of(lambda device: "H100")
        self.nvmlDeviceGetUUID = self.of(lambda device: f"GPU-{device}")
        self.nvmlDeviceGetUtilizationRates = self.of(lambda device: SimpleNamespace(gpu=97))
        self.nvmlDeviceGetMemoryInfo = self.of(lambda device: SimpleNamespace(total=80 << 30, used=20 << 30))
        self.nvmlDeviceGetTemperature = self.of(lambda device, sensor: 60)
        self.nvmlDeviceGetPowerUsage = self.of(lambda device: 1000 * (300 + device))
        self.nvmlDeviceGetClockInfo = self.of(lambda device, kind: {1: 1755, 2: 2619}[kind])
        self.nvmlDeviceGetTotalEnergyConsumption = self.of(self.energy)
        self.nvmlDeviceGetTotalEccErrors = self.of(lambda device, kind, counter: 3)

    def of(self, read):
        def ask(device, *rest):
            if not self.begun or device in self.lost:
                raise self.NVMLError("GPU is lost" if self.begun else "Uninitialized")
            return read(device, *rest)

        return ask

    def nvmlInit(self):  # noqa: N802
        if not self.loaded:
            raise self.NVMLError("Driver Not Loaded")
        self.begun = True

    def nvmlShutdown(self):  # noqa: N802
        if not self.begun:
            raise self.NVMLError("Uninitialized")
        self.begun = False

    def nvmlSystemGetDriverVersion(self):  # noqa: N802
        return "570.1"

    def nvmlDeviceGetCount(self):  # noqa: N802
        return 2

    def energy(self, device):
        if device == 1:
            raise self.NVMLError_NotSupported("Not Supported")
        return 5_000_000


class Node:
    """A host with two devices of a vendor, at a time of its own."""

    def __init__(self, load, folder, vendor):
        self.vendor, self.now = vendor, 1000.0
        self.dev, self.rows, self.errors = folder / "dev", folder / "rows", folder / "errors"
        for place in (self.dev, folder / "bin"):
            place.mkdir(parents=True)
        self.files = [self.dev / f"{'nvidia' if vendor == 'nvidia' else 'davinci'}{number}" for number in range(2)]
        for file in self.files:
            file.touch()
        self.tool = folder / "bin/npu-smi"
        self.exporter, sources = load("accelerator_exporter"), load("device_sources")
        self.source = sources.NvidiaSource([0, 1])
        if vendor == "ascend":
            self.errors.write_text(ECC)
            self.install("0 0 68.2 41 97 43\n1 0 69.5 42 NA 44\n")
            self.source = sources.AscendSource([0, 1], 5, "Ascend 910B")
        self.watcher = load("device_watcher").DeviceWatcher(self.source, 5)
        self.host = load("accelerator_metrics").Host(vendor, [0, 1], "", True, self.dev)

    def end(self):
        """The tools that run by themselves."""
        self.rows.unlink(missing_ok=True)
        if self.vendor == "ascend":
            self.source.close()

    def install(self, rows, script=NPU_SMI):
        self.rows.write_text(rows)
        self.tool.write_text(script.format(rows=self.rows, errors=self.errors))
        self.tool.chmod(0o755)

    def text(self):
        at = SimpleNamespace(state=lambda _: self.watcher.state(self.now))
        return self.exporter.Exporter(self.host, at).text().decode()

    def scrape(self):
        """Samples by name and by their labels but the vendor."""
        found = {}
        for family in text_string_to_metric_families(self.text()):
            for sample in family.samples:
                assert sample.labels.pop("vendor") == self.vendor
                found.setdefault(sample.name.replace("rackmark_accelerator_", ""), {})[
                    tuple(sorted(sample.labels.items()))
                ] = sample.value
        return found

    def after(self, seconds):
        """As it is scraped when that time has gone by without a reading."""
        self.now += seconds
        return self.scrape()

    def read(self, seconds=5.0):
        self.now += seconds
        self.watcher.read_once(self.now)
        return self.scrape()

    def read_until(self, reached):
        """Of a tool that runs by itself; the node's own time hardly goes on."""
        deadline = time.monotonic() + 60
        while not reached(found := self.read(0.001)):
            assert time.monotonic() < deadline, found
            time.sleep(0.005)
        return found


def is_up(found):
    return found["reader_up"][()] == 1


def has_both(found):
    return len(found.get("power_watts", {})) == 2


def device(number, **labels):
    return tuple(sorted({"device": str(number), **labels}.items()))


def reasons(found):
    return {dict(labels)["what"]: dict(labels)["reason"] for labels in found.get("unreadable_info", {})}


def failure(found):
    ((labels, value),) = found["reader_failure_info"].items()
    assert value == 1 and found["reader_up"] == {(): 0}
    return dict(labels)["reason"]
