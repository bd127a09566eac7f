"""What the sampler of a node costs: its own processor time and memory, and what a job beside it loses.

python bench/telemetry.py [seconds] [rounds]   about 5 minutes with the defaults of 60 seconds and 15 rounds

Cost: the sampler at 1 s with 8 simulated devices, by NVIDIA's library (a stub, so what a real driver takes
comes on top) and by npu-smi (a stub as well). Read from the kernel's own account of the process.
Throughput: a job of the engine, one busy rank per processor, in turns with and without the sampler; per second, and per
second of processor time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "roles/benchmark/files/engine"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "module_utils")]
from lab.simulated_nvml import build_nvml  # noqa: E402
from rackmark.node.job_record import FILE, JobRecord  # noqa: E402
from rackmark.numbers.estimates import median, ratio_interval, ratio_of_medians  # noqa: E402
from shipped import ship  # noqa: E402

DEVICES = 8
SECONDS_OF_A_JOB = 4  # after one to warm up, in which the sampler starts
BUSY = f"""
import time
import numpy
matrix = numpy.random.default_rng(1).random((384, 384))
begin = time.perf_counter()
while time.perf_counter() < begin + 1:
    matrix @ matrix
steps, begin, spent = 0, time.perf_counter(), time.process_time()
while time.perf_counter() < begin + {SECONDS_OF_A_JOB}:
    matrix @ matrix
    steps += 1
print(steps / (time.perf_counter() - begin), steps / (time.process_time() - spent), flush=True)
"""
NPU_SMI = f"""#!{sys.executable}
import time
print("NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  AI Cpu(%)   Ctrl Cpu(%) Memory(%)   Memory BW(%)")
while True:
    for npu in range({DEVICES}):
        print(npu, 0, 290.5, 51, 97, 0, 16, 43, 12, flush=True)
    time.sleep(1)
"""


def prepare(folder: Path) -> Path:
    """A copy of the engine with NVIDIA's binding, devices, and what stands in for their drivers."""
    engine = ship(ENGINE, folder / "engine")
    binding = importlib.util.find_spec("pynvml")
    if binding is None or binding.origin is None:
        raise SystemExit("NVIDIA's binding is missing: ./setup.sh installs it.")
    shutil.copy(binding.origin, engine)
    build_nvml(folder)
    (folder / "bin").mkdir()
    (folder / "bin/npu-smi").write_text(NPU_SMI)
    (folder / "bin/npu-smi").chmod(0o755)
    (folder / "root/dev").mkdir(parents=True)
    for name in ("proc", "sys"):
        (folder / "root" / name).symlink_to(f"/{name}")
    for number in range(DEVICES):
        (folder / f"root/dev/nvidia{number}").touch()
        (folder / f"root/dev/davinci{number}").touch()
    return engine


def cost(folder: Path, engine: Path, vendor: str, seconds: float) -> tuple[float, float, float]:
    """Percent of a processor at work, processor seconds to start, and the most memory in MB."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder),
        "RACKMARK_SIMULATED_DEV": str(folder / "root/dev"),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
    }
    write_record(folder, devices_per_node=DEVICES, accelerator=vendor, telemetry=1.0)
    flags = ("--node", vendor)
    sampler = subprocess.Popen(
        [sys.executable, "-SE", str(engine / "sampler.py"), *flags, "--root", str(folder / "root")],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
    )
    time.sleep(3)
    started, begin = spent(sampler.pid), time.monotonic()
    time.sleep(seconds)
    percent = 100 * (spent(sampler.pid) - started) / (time.monotonic() - begin)
    peak = next(line for line in Path(f"/proc/{sampler.pid}/status").read_text().splitlines() if "VmHWM" in line)
    sampler.communicate()
    check(folder / f"telemetry-{vendor}.jsonl", seconds)
    return percent, started, int(peak.split()[1]) / 1024


def write_record(folder: Path, **fields: object) -> None:
    usual = {"name": "bench", "case": "1n1g", "repeat": 1, "launcher": "local", "nodes": 1, "device": "cpu"}
    limits = {"minutes": 2, "stalled_after": 60, "program": ["true"]}
    record: dict[str, Any] = {**usual, **limits, **fields}
    (folder / FILE).write_text(JobRecord(**record).text())


def spent(pid: int) -> float:
    """Processor seconds to the nanosecond; the ticks of stat are as long as all that a sample takes."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def check(path: Path, seconds: float) -> None:
    """A sampler that reads nothing would be cheap."""
    samples = [
        entry for entry in map(json.loads, path.read_text().splitlines()) if "devices" in entry and "cpu" in entry
    ]
    full = sum(all(device and device[4] for device in entry["devices"]) for entry in samples)
    if full < 0.9 * seconds:
        raise SystemExit(f"{path} holds only {full} samples with the power of all devices.")


def rate(folder: Path, engine: Path, ranks: int, telemetry: float) -> tuple[float, float]:
    """Steps of all ranks of a job per second, and per second of processor time that they got."""
    job = Path(tempfile.mkdtemp(dir=folder))
    (folder / "busy.py").write_text(BUSY)
    write_record(job, devices_per_node=ranks, program=[sys.executable, str(folder / "busy.py")], telemetry=telemetry)
    command = [sys.executable, str(engine / "job.py")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, cwd=job, env=environment, check=True)
    rates = [log.read_text().split()[-2:] for log in job.glob("rank-*.log")]
    by_clock, by_processor = (sum(map(float, column)) for column in zip(*rates))
    return by_clock, by_processor


def main() -> None:
    seconds, rounds = (int(word) for word in (*sys.argv[1:], *("60", "15")[len(sys.argv) - 1 :]))
    ranks = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="rackmark-bench-") as name:
        folder = Path(name)
        engine = prepare(folder)
        for vendor in ("nvidia", "ascend"):
            percent, start, peak = cost(folder, engine, vendor, seconds)
            print(
                f"{vendor:8} {percent:6.3f} % of a processor over {seconds} s with {DEVICES} simulated devices,"
                f" {start:.2f} s to start, {peak:.1f} MB"
            )
        rates: dict[float, list[tuple[float, float]]] = {0: [], 1: []}
        for _ in range(rounds):
            for telemetry in random.sample(list(rates), 2):
                rates[telemetry].append(rate(folder, engine, ranks, telemetry))
        for place, per in enumerate(("second", "second of processor time")):
            compare([found[place] for found in rates[1]], [found[place] for found in rates[0]], per)


def compare(sampled: list[float], bare: list[float], per: str) -> None:
    bounds = ratio_interval(sampled, bare)
    interval = f", 95 % interval {bounds.low:.4f} to {bounds.high:.4f}" if bounds else ""
    print(
        f"{median(sampled):.1f} steps per {per} with a sampler, {median(bare):.1f} without, medians of {len(bare)}:"
        f" ratio {ratio_of_medians(sampled, bare):.4f}{interval}"
    )


if __name__ == "__main__":
    main()
