"""The sampler of a node as jobs run it: what it writes, what it costs a job when it fails, and that it goes in time."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab.engine_fixture import Run, wait_until
from lab.local_runs import Runs, wait_for
from lab.samplers import Alone, children, entries, sampled, samples, telemetry_of
from lab.simulated_nvml import build_nvml, watts

# Busy for as long as it is told, so that several samples are taken.
WORKING = """
import sys, time
deadline = time.monotonic() + float(sys.argv[-1])
print("at work", flush=True)
while time.monotonic() < deadline:
    time.sleep(0.02)
"""
WATCHED = """
import sys, time
print("NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  HBM(%)")
while True:
    for npu in range(2):
        print(npu, 0, 70.5 + npu, 45, "NA" if npu else 88, 31)
    time.sleep(1)
"""


@pytest.fixture
def run(tmp_path):
    made = Run(tmp_path)
    made.training.write_text(WORKING)
    (tmp_path / "root/dev").mkdir(parents=True)
    for name in ("proc", "sys"):
        (tmp_path / "root" / name).symlink_to(f"/{name}")
    return made


def test_what_a_job_leaves(run):
    assert sampled(run) == 0
    head, *rest, end = entries(telemetry_of(run))
    assert (head["schema"], head["seconds"], head["cpus"]) == ("rackmark.telemetry/1", 0.1, os.cpu_count())
    assert head["missing"]["devices"] == "The job uses no accelerators."
    assert telemetry_of(run).name == f"telemetry-{run.read('end.json')['nodes'][0]}.jsonl"
    assert (end["end"], end["peak_mb"] < 40) == (None, True)
    assert 12 <= len(rest) <= 40
    times = [sample["mono"] for sample in rest]
    assert times == sorted(times)
    for sample in rest[1:-1]:  # the last one may follow on the heels of the one before
        assert 0 <= sample["cpu"] <= 100
        assert len(sample["cores"]) == os.cpu_count()
        assert 0 < sample["memory_mb"] < head["memory_mb"]
        assert min(sample["net"]) >= 0
        assert abs(sample["ms"] / 1000 - time.time()) < 120
        assert sample["devices"] is None
    assert rest[0]["cpu"] is None
    assert children(run) == {}


def test_nothing_is_sampled_that_is_not_asked_for(run):
    assert sampled(run, 0.2, telemetry=0) == 0
    assert list(run.folder.glob("telemetry-*")) == []


def test_a_sampler_that_is_killed_hurts_nothing_and_its_file_says_so(run):
    job = run.begin(run.command("3", telemetry=0.1))
    wait_until(lambda: run.folder.joinpath("rank-1.log").exists() and list(run.folder.glob("telemetry-*")))
    wait_until(lambda: len(samples(telemetry_of(run))) > 3)
    os.kill(children(run)["sampler.py"][0], signal.SIGKILL)
    assert job.wait(30) == 0
    assert run.read("end.json")["state"] == "ok"
    assert entries(telemetry_of(run))[-1]["end"] == "The sampler was ended by SIGKILL."


def test_a_sampler_that_does_not_end_is_killed_and_the_job_ends_in_time(run):
    job = run.begin(run.command("1", telemetry=0.1))
    wait_until(lambda: "sampler.py" in children(run) and list(run.folder.glob("telemetry-*")))
    os.kill(children(run)["sampler.py"][0], signal.SIGSTOP)
    assert job.wait(30) == 0
    assert "did not end within 2 s and was killed" in entries(telemetry_of(run))[-1]["end"]
    assert children(run) == {}


@pytest.mark.parametrize("victim", ["job.py", "node.py"])
def test_a_sampler_ends_with_what_it_belongs_to(run, victim):
    job = run.begin(run.command("60", telemetry=0.1))
    wait_until(lambda: "sampler.py" in children(run))
    (sampler,) = children(run)["sampler.py"]
    node = int(Path(f"/proc/{sampler}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(job.pid if victim == "job.py" else node, signal.SIGKILL)
    wait_until(lambda: children(run) == {})
    job.wait(30)


def test_devices_of_nvidia_through_nvidias_binding(run, tmp_path):
    """The library below the binding is simulated."""
    shutil.copy(importlib.util.find_spec("pynvml").origin, run.engine)
    build_nvml(tmp_path)
    run.environment.update(LD_LIBRARY_PATH=str(tmp_path), RACKMARK_SIMULATED_DEV=str(tmp_path / "root/dev"))
    with Alone(run, "nvidia", devices=8) as sampler:
        wait_until(lambda: len(sampler.samples()) > 3)
        (tmp_path / "root/dev/nvidia2").unlink()
        wait_until(lambda: sampler.samples()[-1]["devices"][2][0] is None)
        sampler.end()
    head, *_ = entries(sampler.path)
    assert [device["number"] for device in head["devices"]] == list(range(8))
    assert all("(simulated)" in device["name"] for device in head["devices"])
    assert all(device["memory_mb"] > 0 for device in head["devices"])
    first, last = (
        dict(zip(head["device_columns"], one["devices"][4], strict=True))
        for one in (samples(sampler.path)[0], samples(sampler.path)[-1])
    )
    passed = samples(sampler.path)[-1]["mono"] - samples(sampler.path)[0]["mono"]
    assert last["energy"] - first["energy"] == pytest.approx(watts(4) * passed, rel=0.05)
    assert (last["power"], last["memory"], last["memory_mb"], last["temperature"]) == (watts(4), 25.0, 20480, 64)
    assert (last["clock"], last["memory_clock"], last["errors"], last["utilisation"]) == (1755, 2619, 0, 97)
    notes = {name: why for entry in entries(sampler.path) for name, why in entry.get("note", {}).items()}
    assert notes["device 7: energy"] == "NVML says: Not Supported."
    assert notes["device 2: power"] == "NVML says: GPU is lost."


def test_without_nvidias_library_the_reason_is_said_and_the_rest_is_sampled(run):
    shutil.copy(importlib.util.find_spec("pynvml").origin, run.engine)
    with Alone(run, "nvidia") as sampler:
        wait_until(lambda: len(sampler.samples()) > 2)
        sampler.end()
    assert "NVML does not work here: NVML Shared Library Not Found" in entries(sampler.path)[0]["missing"]["devices"]
    assert samples(sampler.path)[-1]["devices"] == [None, None]
    assert samples(sampler.path)[1]["cpu"] is not None


def test_devices_of_ascend_through_one_npu_smi(run):
    run.tool("npu-smi", WATCHED.replace("time.sleep", "sys.stdout.flush() or time.sleep"))
    with Alone(run, "ascend") as sampler:
        wait_until(lambda: (sampler.samples() or [{}])[-1].get("devices", [None])[0] is not None)
        (first,) = children(run)["npu-smi"]
        time.sleep(0.5)
        assert children(run)["npu-smi"] == [first]
        sampler.end()
    columns = entries(sampler.path)[0]["device_columns"]
    one, two = (dict(zip(columns, row, strict=True)) for row in samples(sampler.path)[-1]["devices"])
    assert (one["power"], one["temperature"], one["utilisation"], one["memory"]) == (70.5, 45, 88, 31)
    assert (two["power"], two["utilisation"], two["clock"]) == (71.5, None, None)
    assert "npu-smi info watch does not tell it." in entries(sampler.path)[0]["missing"]["devices: clock"]
    wait_until(lambda: children(run) == {})


def test_a_program_that_prints_late_into_pipes_is_heard_at_once(run):
    """As npu-smi does: it does not flush, and only a terminal gets whole lines."""
    run.tool("npu-smi", WATCHED)
    with Alone(run, "ascend") as sampler:
        wait_until(lambda: (sampler.samples() or [{}])[-1].get("devices", [None])[0] is not None, 5)


HANGS = 600


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (f"import time\ntime.sleep({HANGS})", "npu-smi has not said anything yet."),
        ("import sys\nsys.exit('dcmi module initialize failed')", "dcmi module initialize failed"),
        (None, "There is no program npu-smi."),
    ],
)
def test_an_npu_smi_that_fails_or_hangs_holds_nothing_up(run, program, why):
    if program is None:
        run.environment["PATH"] = str(run.tools)
    else:
        run.tool("npu-smi", program)
    with Alone(run, "ascend") as sampler:
        wait_until(
            lambda: any(why in str(entry) for entry in entries(sampler.path)) if len(sampler.samples()) > 8 else False
        )
        began = time.monotonic()
        sampler.end()
        assert time.monotonic() - began < HANGS / 10
    times = [sample["mono"] for sample in samples(sampler.path)]
    assert max(later - earlier for earlier, later in zip(times, times[1:], strict=False)) < HANGS / 10
    assert samples(sampler.path)[-1]["devices"] == [None, None]
    wait_until(lambda: children(run) == {})


def test_an_npu_smi_that_falls_silent_is_killed_and_its_last_reading_is_not_repeated(run):
    run.tool(
        "npu-smi",
        WATCHED.replace("while True", "for _ in range(1)").replace("time.sleep(1)", "pass")
        + "\nsys.stdout.flush()\ntime.sleep(600)",
    )
    with Alone(run, "ascend") as sampler:
        wait_until(
            lambda: (
                any("said nothing for 10 s and was killed" in str(entry) for entry in entries(sampler.path))
                if sampler.samples()
                else False
            )
        )
        wait_until(lambda: "npu-smi" not in children(run))
        sampler.end()
    seen = samples(sampler.path)
    known = [sample["mono"] for sample in seen if sample["devices"][0] is not None]
    assert 0 < known[-1] - known[0] < 4
    assert seen[-1]["devices"] == [None, None]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "small", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_it_quietly_with_the_reason_in_the_room_it_had(run, small_disk):
    run.folder = small_disk
    with Alone(run, "none", seconds=0.01) as sampler:
        assert sampler.process.wait(60) == 0
    found = entries(sampler.path)  # every line is whole
    assert found[0]["schema"] == "rackmark.telemetry/1"
    assert "The disk is full" in found[-1]["end"]
    assert len(found) > 20


def test_a_full_disk_from_the_begin_is_no_failure(run, small_disk):
    run.folder = small_disk
    run.record(telemetry=0.1)
    (small_disk / "dump").write_bytes(bytes(60 * 1024))  # the rest of the disk is the record's page
    with Alone(run, "none", keep_record=True) as sampler:
        assert sampler.process.wait(10) == 0
    assert sampler.path.read_bytes() == b""


@pytest.fixture
def runs(tmp_path):
    yield (made := Runs(tmp_path))
    for run in (tmp_path / "shared/runs").glob("*"):
        made.play("stop.yml", run_id=run.name)


def test_a_run_ends_with_telemetry_in_its_results_and_its_report(runs):
    done = runs.play(repeats=1, steps=40)
    assert done.returncode == 0, done.stdout
    folder = runs.latest() / "cases/1n1g/r1"
    result = json.loads((folder / "result.json").read_text())
    (node,) = result["telemetry"]["nodes"].values()
    assert node["samples"] >= 1
    assert 0 < node["cpu"]["mean"] <= node["cpu"]["max"] <= 100
    assert len(list(folder.glob("telemetry-*.jsonl"))) == 1
    page = (runs.latest() / "report.html").read_text()
    assert "<h2>Telemetry</h2>" in page
    assert (runs.latest() / "telemetry.png").read_bytes().startswith(b"\x89PNG")
    if result["energy_j"] is None:
        assert "No energy." in page
    assert runs.processes() == {}


def test_a_sampler_killed_in_a_run_shows_as_a_hole_in_the_report(runs):
    playbook = runs.begin(repeats=1, steps=120)

    def sampler():
        return [pid for pid, line in runs.processes().items() if "sampler.py" in line]

    wait_for(sampler)
    time.sleep(1.5)
    os.kill(sampler()[0], signal.SIGKILL)
    assert playbook.wait(60) == 0
    assert [run["state"] for run in runs.repeats()] == ["ok"]
    report = (runs.latest() / "report.md").read_text()
    assert "The sampler was ended by SIGKILL." in report
    assert "It was not sampled for" in report


def test_a_run_without_telemetry_says_why_there_is_none(runs):
    done = runs.play(repeats=1, benchmark_telemetry_seconds=0)
    assert done.returncode == 0, done.stdout
    assert "benchmark_telemetry_seconds was 0" in (runs.latest() / "report.html").read_text()
    assert not (runs.latest() / "telemetry.png").exists()
    assert runs.play(benchmark_telemetry_seconds=0.01).returncode != 0
