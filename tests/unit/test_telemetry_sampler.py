"""What the sampler makes of the files of a kernel and of the lines of vendors' tools."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rackmark.node import ascend_readings, host_power, host_readings, nvidia_readings, watched_tool


@pytest.fixture
def root(tmp_path):
    """A node with a bond over two cards, a disk with a partition and RDMA."""
    files = {
        "proc/stat": "cpu  100 0 100 800 0 0 0 0 50 0\n"
        "cpu0 100 0 0 400 0 0 0 0 50 0\ncpu1 0 0 100 400 0 0 0 0 0 0\nintr 1\n",
        "proc/meminfo": "MemTotal: 4194304 kB\nMemFree: 1 kB\nMemAvailable: 1048576 kB\n",
        "proc/net/dev": "h\nh\n"
        + "".join(
            f"  {name}: {read} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0\n"
            for name, read, sent in (("lo", 9, 9), ("eth0", 10, 20), ("eth1", 1, 2), ("bond0", 11, 22))
        ),
        "proc/diskstats": "8 0 sda 1 0 10 0 1 0 20 0\n8 1 sda1 1 0 10 0 1 0 20 0\n7 0 loop0 1 0 5 0 1 0 5 0\n",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "100\n",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "200\n",
    }
    for name in ("eth0", "eth1"):
        files[f"sys/class/net/{name}/device/vendor"] = ""
    for name in ("sda", "loop0", "dm-0"):
        files[f"sys/block/{name}/size"] = ""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_a_node_is_read_without_counting_anything_twice(root):
    readings = host_readings.HostReadings(root)
    head, first = readings.head(), readings.read(0)
    assert (head["cpus"], head["memory_mb"], head["disks"], head["rdma"]) == (2, 4096, ["sda"], ["mlx5_0/1"])
    assert (first["cpu"], first["cores"], first["memory_mb"]) == (None, None, 3072)
    assert (first["net"], first["disk"], first["rdma"]) == ([11, 22], [5120, 10240], [400, 800])
    (root / "proc/stat").write_text(
        "cpu  130 0 100 870 0 0 0 0 90 0\ncpu0 130 0 0 420 0 0 0 0 90 0\ncpu1 0 0 100 450 0 0 0 0 0 0\n"
    )
    second = readings.read(1)
    assert (second["cpu"], second["cores"]) == (30.0, [60.0, 0.0])


def test_a_node_without_any_of_it_has_reasons_and_no_zeros(tmp_path):
    readings = host_readings.HostReadings(tmp_path)
    readings.head()
    assert set(readings.read(0).values()) == {None}
    assert set(readings.read(1)) == {"cpu", "cores", "memory_mb", "net", "disk", "rdma"} == set(readings.missing)


def test_a_node_with_nothing_to_count_has_a_reason_for_each_null(root):
    (root / "proc/net/dev").write_text("h\nh\n  lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n")
    (root / "proc/diskstats").write_text("7 0 loop0 1 0 5 0 1 0 5 0\n")
    (root / "sys/block/sda/size").unlink()
    (root / "sys/block/sda").rmdir()
    (root / "proc/meminfo").write_text("MemTotal: 4194304 kB\n")
    readings = host_readings.HostReadings(root)
    nulls = {name for name, value in readings.read(0).items() if value is None}
    assert nulls == {"cpu", "cores", "memory_mb", "net", "disk"} == set(readings.missing)
    assert readings.missing["net"] == "The kernel shows no network interface beside its own loop."


def test_files_that_the_kernel_gives_a_page_at_a_time_are_read_to_their_end(root, monkeypatch):
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, begin: pread(file, min(size, 32), begin))
    first = host_readings.HostReadings(root).read(0)
    assert (first["net"], first["disk"], first["memory_mb"]) == ([11, 22], [5120, 10240], 3072)


def test_a_port_that_counts_no_bytes_is_left_out_and_a_reason_goes_when_its_cause_does(root):
    (root / "sys/class/infiniband/irdma0/ports/1/counters").mkdir(parents=True)
    readings = host_readings.HostReadings(root)
    assert readings.head()["rdma"] == ["mlx5_0/1"]
    assert readings.read(0)["rdma"] == [400, 800]
    counter = root / "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"
    counter.unlink()
    assert readings.read(1)["rdma"] is None
    assert "cannot be read" in readings.missing["rdma"]
    counter.write_text("101\n")
    assert readings.read(2)["rdma"] == [404, 800]
    assert "rdma" not in readings.missing


def test_ports_none_of_which_counts_bytes_are_no_zero(root):
    (root / "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data").unlink()
    readings = host_readings.HostReadings(root)
    assert readings.read(0)["rdma"] is None
    assert readings.missing["rdma"] == "The RDMA ports of the node do not count bytes."


def test_processors_that_come_or_go_have_a_reason_until_they_are_read_again(root):
    readings, stat = host_readings.HostReadings(root), root / "proc/stat"
    readings.read(0)
    stat.write_text("cpu  130 0 100 870 0 0 0 0 90 0\ncpu0 130 0 0 420 0 0 0 0 90 0\n")
    assert readings.read(1)["cpu"] is None
    assert readings.missing["cpu"] == readings.missing["cores"] == "A processor came or went since the sample before."
    stat.write_text("cpu  140 0 100 880 0 0 0 0 90 0\ncpu0 140 0 0 430 0 0 0 0 90 0\n")
    assert readings.read(2)["cpu"] == 50.0
    assert not {"cpu", "cores"} & set(readings.missing)


def rapl(root, name, place, joules, most=1000):
    folder = root / "sys/class/powercap" / place
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in (
        ("name", name),
        ("energy_uj", round(joules * 1e6)),
        ("max_energy_range_uj", round(most * 1e6)),
    ):
        (folder / file).write_text(f"{content}\n")


def test_energy_of_processors_counts_on_where_a_counter_begins_anew(tmp_path):
    rapl(tmp_path, "package-0", "intel-rapl:0", 990)
    rapl(tmp_path, "dram", "intel-rapl:0:1", 10)
    rapl(tmp_path, "core", "intel-rapl:0:0", 5)  # a part of the package
    rapl(tmp_path, "psys", "intel-rapl:1", 5)
    energy = host_power.ProcessorEnergy(tmp_path)
    assert energy.head() == {"rapl": ["intel-rapl:0", "intel-rapl:0:1"]}
    assert energy.read(0) == {"processors_j": 0.0}
    rapl(tmp_path, "package-0", "intel-rapl:0", 15)
    rapl(tmp_path, "dram", "intel-rapl:0:1", 12)
    assert energy.read(1) == {"processors_j": pytest.approx(27)}
    (tmp_path / "sys/class/powercap/intel-rapl:0:1/energy_uj").unlink()
    assert energy.read(2) == {"processors_j": None}
    assert "No such file" in energy.missing["processors_j"]


def test_dies_of_a_package_are_counted_and_a_platform_alone_is_none_of_it(tmp_path):
    for place, name in enumerate(("package-0-die-0", "package-0-die-1")):
        rapl(tmp_path / "dies", name, f"intel-rapl:{place}", 10)
    energy = host_power.ProcessorEnergy(tmp_path / "dies")
    assert energy.head() == {"rapl": ["intel-rapl:0", "intel-rapl:1"]}
    rapl(tmp_path / "whole", "psys", "intel-rapl:0", 5)
    energy = host_power.ProcessorEnergy(tmp_path / "whole")
    assert energy.read(0) == {"processors_j": None}
    assert energy.missing["processors_j"].endswith("only: psys.")


def ipmi(*rounds):
    power = host_power.HostPower(Path("/nowhere"))
    power._tool = Tool(*rounds)
    return power


def test_a_controller_that_answers_without_watts_is_quoted_until_it_tells_them():
    refusal = ["ipmitool> ", "ipmitool> DCMI request failed because: Invalid command (c1)" + "!" * 400]
    watts = ["", "Instantaneous power reading:      220 Watts"]
    power = ipmi([], refusal, [], watts, ["Minimum during sampling period:   90 Watts"], [])
    assert [power.read(second)["host_w"] for second in (0, 1, 6)] == [None, None, None]
    reason = power.missing["host_w"]
    assert reason.startswith("ipmitool answers without watts: DCMI request failed because: Invalid command (c1)!")
    assert len(reason) < 300
    assert power.read(7)["host_w"] == 220
    assert [power.read(second)["host_w"] for second in (8, 13)] == [None, None]
    assert power.missing == {}


class Nvml:
    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818, the binding's name
        pass

    NVMLError_FunctionNotFound = NVMLError_NotSupported
    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_DEVICE_MIG_ENABLE = 0, 1, 2, 1
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0

    def __init__(self, divided):
        self.divided = divided

    def __getattr__(self, _name):
        return lambda device=None, *_: device

    def nvmlDeviceGetCount(self):  # noqa: N802
        return 3

    def nvmlDeviceGetUtilizationRates(self, _device):  # noqa: N802
        return SimpleNamespace(gpu=97)

    def nvmlDeviceGetMemoryInfo(self, _device):  # noqa: N802
        return SimpleNamespace(total=0)

    def nvmlDeviceGetPowerUsage(self, _device):  # noqa: N802
        return 300_000

    def nvmlDeviceGetMigMode(self, device):  # noqa: N802
        if device == 2:
            raise self.NVMLError_NotSupported("Not Supported")
        return [int(device in self.divided), 0]


def test_a_divided_device_of_nvidia_has_no_power_of_its_own(monkeypatch):
    monkeypatch.setattr(nvidia_readings, "pynvml", Nvml({1}))
    readings = nvidia_readings.NvidiaReadings([0, 1, 2])
    rows = [dict(zip(nvidia_readings.COLUMNS, row, strict=True)) for row in readings.read(0)["devices"]]
    assert [row["power"] for row in rows] == [300, None, 300]
    assert [row["utilisation"] for row in rows] == [97, 97, 97]
    assert rows[1]["energy"] is None
    told = {name: why for name, why in readings.missing.items() if "divided" in why}
    assert set(told) == {"device 1: power", "device 1: energy"}


def test_a_node_without_meters_says_so(tmp_path):
    assert "no RAPL counters" in host_power.ProcessorEnergy(tmp_path).missing["processors_j"]
    assert host_power.HostPower(tmp_path).missing == {"host_w": "The node has no IPMI device."}


class Tool:
    reason = None

    def __init__(self, *rounds):
        self.rounds = list(rounds)

    def lines(self, _now):
        return self.rounds.pop(0) if self.rounds else []

    def ask(self, _question, _now):
        """It answers in the rounds to come."""


def npus(numbers, *rounds):
    readings = ascend_readings.AscendReadings(numbers, 1.0)
    readings._tool = Tool(*rounds)
    return readings


WITH_CHIPS = (
    "NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  AI Cpu(%)   Ctrl Cpu(%) Memory(%)   Memory BW(%)"
)
WITHOUT_CHIPS = "NpuID(Idx)  Pwr(W)      Temp(C)     AI Core(%)  Memory(%)   NPU Util(%)"


def test_the_columns_of_npu_smi_are_found_by_their_names():
    one = npus([0, 1], [WITH_CHIPS, "0 0 68.2 41 97 0 16 43 12", "1 0 NA 42 - 0 16 43 12"]).read(0)["devices"]
    assert [row[:5] for row in one] == [[97, 43, None, 41, 68.2], [None, 43, None, 42, None]]
    other = npus([1], [WITHOUT_CHIPS, "0 290.4 51 3 4 5", "1 292.1 49 6 7 8"]).read(0)["devices"]
    assert other[0][:5] == [6, 7, None, 49, 292.1]


def test_what_npu_smi_does_not_tell_of_a_device_has_a_reason():
    readings = npus([0, 1, 2], [WITH_CHIPS, "0 0 68.2 41 97 0 16 43 12", "1 0 NA 42 97 0 16 43 12"])
    readings.read(0)
    missing = {name: why for name, why in readings.missing.items() if not name.startswith("devices: ")}
    assert missing == {
        "device 1: power": "npu-smi info watch prints no number.",
        "device 2": "npu-smi info watch prints no line on it.",
    }


def until(happened):
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_tool_that_falls_silent_is_killed_with_what_it_started_and_the_reason_stays(tmp_path):
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\nsleep 600 &\necho $!\nwait\n")
    script.chmod(0o755)
    tool, said = watched_tool.WatchedTool([str(script)], silence=5), []
    until(lambda: said.extend(tool.lines(0)) or said)
    child = Path(f"/proc/{said[0]}/stat")
    tool.lines(6)
    until(lambda: not child.exists() or child.read_text().split()[2] == "Z")
    for second in range(7, 10):
        assert tool.lines(second) == []
        assert tool.reason == f"{script} said nothing for 5 s and was killed."
        time.sleep(0.01)


def test_two_chips_on_a_card_are_two_devices():
    rows = [f"{card} {chip} {card}{chip}.5 41 97 0 16 43 12" for card in range(2) for chip in range(2)]
    devices = npus([0, 1, 2, 3], [WITH_CHIPS, *rows]).read(0)["devices"]
    assert [device[4] for device in devices] == [0.5, 1.5, 10.5, 11.5]


def test_a_reading_that_has_grown_old_and_lines_that_are_no_rows_are_none():
    words = ["npu-smi: warning 7", WITH_CHIPS, "0 0 68.2", "x 0 68.2 41 97 0 16 43 12", "0 0 1e9 41 97 0 16 43 12"]
    readings = npus([0, 1], words, ["0 0 68.2 41 97 0 16 43 12"], [])
    assert readings.read(0)["devices"][0][4] is None
    assert readings.read(1)["devices"][0][4] == 68.2
    assert readings.read(2)["devices"] == [[97, 43, None, 41, 68.2, None, None, None, None], None]
    assert readings.read(9)["devices"] == [None, None]
