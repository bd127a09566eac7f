"""How much of their memory the devices of a repeat had in use."""

from __future__ import annotations

from rackmark.telemetry.repeats import read_run_telemetry
from rackmark.telemetry.result import with_device_memory
from unit.run_fixture import read_run
from unit.telemetry_fixture import COLUMNS, device, lines, run_with


def memory_of(run_dir, trained_on="cuda"):
    run = read_run(run_dir)
    (judged,) = with_device_memory(run.judged, read_run_telemetry(run_dir, run.manifest, run.judged), trained_on)
    found = judged.result
    return found.device_memory_mb, found.device_memory_total_mb, found.missing.get("device_memory_mb")


def test_the_memory_of_the_fullest_device_is_told_with_all_that_it_has(tmp_path):
    fuller = [*device()(0)]
    fuller[COLUMNS.index("memory_mb")] = 40960
    run_dir = run_with(tmp_path, node1=lines(devices=[device(), lambda _: fuller]))
    assert memory_of(run_dir) == (40960, 81920, None)


def test_without_the_memory_of_a_device_there_is_a_reason_and_no_number(tmp_path):
    run_dir = run_with(tmp_path / "of devices", node1=lines(devices=[device()]))
    assert memory_of(run_dir, "cpu") == (None, None, None)  # no number is expected there, and none is missed
    bare = run_with(tmp_path / "bare", node1=lines())
    assert memory_of(bare) == (None, None, "No telemetry tells the memory of the devices.")
    entries = lines()
    entries[0]["missing"] = {"host_w": "No IPMI.", "devices: memory_mb": "npu-smi info watch does not tell it."}
    silent = run_with(tmp_path / "silent", node1=entries)
    assert memory_of(silent) == (None, None, "npu-smi info watch does not tell it.")
