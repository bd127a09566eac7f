"""How fast logs of other tools are read, and how much memory that takes.

python bench/analyze.py [tree] [dialects] [files] [memory]   about 5 minutes for all four, and 2 GB of disk

tree: a tree of MindSpore logs, against DLPerf's method (`line_by_line.py`): the whole playbook, a process that reads
without a report, and the reading once it has started.
dialects: a large log in every dialect, on one core, against `grep -c` of what it is recognised by.
files: a thousand logs on all cores, against one core.
memory: the peak of all processes together, for 5 GB of logs and for one log of 1 GB.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Callable, Sequence

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "module_utils")]
from dialect_lines import text_of  # noqa: E402
from rackmark.analysis.analysis import analyze, read_logs  # noqa: E402
from rackmark.analysis.log_tree import find_logs  # noqa: E402
from rackmark.analysis.options import Options  # noqa: E402
from rackmark.dialects.catalog import DIALECTS, dialect_named  # noqa: E402
from rackmark.logs.dialect import Dialect, recognise  # noqa: E402
from rackmark.logs.log_file import LogFile, keep_freed_memory  # noqa: E402
from rackmark.logs.series import Window  # noqa: E402

MB = 1_000_000
BLOCKS = 8400  # of ten steps: with 15 ranks and 5 repeats these are 54 MB in 1.26 million lines
LAST_STEP = BLOCKS * 10
ROUNDS = 5
FAST_ENOUGH = 250  # MB/s of one core
LARGE = ("mindspore", "tensorflow2", "mxnet-ngc", "rackmark", "pytorch-examples")

OURS = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from rackmark.analysis.analysis import analyze, read_logs
from rackmark.analysis.log_tree import find_logs
from rackmark.analysis.options import Options
folder, warmup, last = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
options = Options(warmup=warmup, last=last or None)
tree = find_logs(Path(folder))
for found in analyze(tree, read_logs(tree, "auto", options), options, folder):
    for case, repeats in found.judged.items():
        print(case, sorted(one.result.throughput or 0.0 for one in repeats)[len(repeats) // 2])
"""


def ours(folder: Path, warmup: int = 0, last: int = 0) -> list[str]:
    return [sys.executable, "-c", OURS, str(ROOT / "module_utils"), str(folder), str(warmup), str(last)]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def best(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter, rounds: int = ROUNDS) -> float:
    """Seconds of the fastest round: others have to share the machine with somebody."""
    took = []
    for _ in range(rounds):
        began = clock()
        action()
        took.append(clock() - began)
    return min(took)


def run(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def mindspore_block(number: int, ranks: int, chance: Random) -> list[str]:
    """Every rank writes the loss when it has it, and its time a little later, whatever the others have written."""
    written = []
    for _ in range(ranks):
        ms, now = chance.uniform(3450, 3460), chance.random()
        written.append((now, f"epoch: {number} step: 10, loss is {chance.uniform(1, 9):5.3f}\n"))
        written.append((now + chance.random(), f"epoch time: {ms:5.3f} ms, per step time: {ms / 10:5.3f} ms\n"))
    return [line for _, line in sorted(written)]


def make_tree(folder: Path, repeats: int = 5) -> None:
    chance = Random(1)
    for devices in (1, 2, 4, 8):
        for repeat in range(1, repeats + 1):
            path = folder / f"1n{devices}g/rn50_b128_fp32_{repeat}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            blocks = (mindspore_block(number, devices, chance) for number in range(1, BLOCKS + 1))
            path.write_text("".join(line for block in blocks for line in block))


def bench_tree(folder: Path) -> None:
    make_tree(folder)
    size = size_of(folder)
    lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("*/*.log"))
    options = Options(warmup=100, last=LAST_STEP)

    def in_process() -> None:
        tree = find_logs(folder)
        analyze(tree, read_logs(tree, "auto", options), options, "logs")

    method = [sys.executable, str(ROOT / "bench/line_by_line.py"), str(folder), str(LAST_STEP)]
    process = ours(folder, 100, LAST_STEP)
    for theirs, found in zip(run(method).splitlines(), run(process).splitlines()):
        if [theirs.split()[0], f"{float(theirs.split()[1]):.1f}"] != [
            found.split()[0],
            f"{float(found.split()[1]):.1f}",
        ]:
            raise SystemExit(f"They disagree: {theirs} and {found}.")
    playbook = [str(Path(sys.executable).with_name("ansible-playbook")), str(ROOT / "playbooks/analyze.yml")]
    playbook += ["-i", os.devnull, "-e", f"logs={folder}", "-e", f"warmup=100 train={LAST_STEP}", "--check"]
    os.environ["ANSIBLE_CONFIG"] = str(ROOT / "ansible.cfg")
    took = {
        "DLPerf's method": best(lambda: run(method)),
        "analyze.yml, all of it": best(lambda: run(playbook)),
        "ours, from start to end": best(lambda: run(process)),
        "ours, once it has started": best(in_process),
    }
    print(f"tree of {size / MB:.0f} MB in {lines} lines and {len(list(folder.glob('*/*.log')))} files")
    for what, seconds in took.items():
        ratio = took["DLPerf's method"] / seconds
        print(f"  {what:26} {seconds:6.2f} s {size / MB / seconds:6.0f} MB/s  {ratio:5.1f} times the method")


def text_of_size(dialect: Dialect, size: int) -> str:
    sample = len(text_of(dialect, 1000)) / 1000
    return text_of(dialect, int(size / sample))


def bench_dialects(folder: Path) -> None:
    """By the time of the processor, which does not count what others do on it."""
    keep_freed_memory()
    print("dialect                    MB    MB/s   of grep -c   recognised in")
    rates = {dialect.name: bench_dialect(dialect, folder / "a.log") for dialect in DIALECTS}
    slow = [f"{name} ({rate:.0f})" for name, rate in rates.items() if rate < FAST_ENOUGH]
    print(f"below {FAST_ENOUGH} MB/s: {', '.join(slow) or 'none'}")


def bench_dialect(dialect: Dialect, path: Path) -> float:
    path.write_text(text_of_size(dialect, (64 if dialect.name in LARGE else 16) * MB))
    size, log = path.stat().st_size / MB, LogFile(path)
    found = recognise(log, DIALECTS)
    if found is None or found.dialect is not dialect:
        raise SystemExit(f"A log in {dialect.name} is recognised as {found and found.dialect.name}.")
    anchor = Counter(kind.line.anchor for kind in dialect.kinds).most_common(1)[0][0]
    reading = best(lambda: dialect.read(log, Window(dialect.warmup, None)), time.process_time, 3)
    recognising = best(lambda: recognise(log, DIALECTS), time.process_time, 3)
    grep = best(lambda: grep_count(anchor, path), grep_clock, 3)
    print(f"{dialect.name:22} {size:6.0f} {size / reading:7.0f} {grep / reading:11.2f} {recognising * 1000:9.1f} ms")
    return size / reading


def grep_clock() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def grep_count(text: bytes, path: Path) -> None:
    command = [b"grep", b"-c", b"-F", b"-e", text.strip(b"\n"), os.fsencode(path)]
    subprocess.run(command, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, capture_output=True, check=False)


def bench_files(folder: Path) -> None:
    text = "".join(line for number in range(1, 1500) for line in mindspore_block(number, 1, Random(number)))
    for number in range(1, 1001):
        path = folder / f"1n1g/rn50_b128_fp32_{number}.log"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    size, options, tree = size_of(folder), Options(), find_logs(folder)
    cores = os.cpu_count() or 1
    several = best(lambda: read_logs(tree, "auto", options), rounds=3)
    os.cpu_count = lambda: 1  # type: ignore[assignment]
    one = best(lambda: read_logs(tree, "auto", options), rounds=3)
    print(
        f"1000 files of {size / MB:.0f} MB: {several:.2f} s on {cores} cores, {size / MB / several:.0f} MB/s;"
        f" {one:.2f} s on one, {one / several:.2f} times as long"
    )


def peak_memory(command: Sequence[str]) -> tuple[float, float]:
    """MB of the process and all its children together, pages that several share counted once, and seconds."""
    began, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, sum(map(proportional_memory, [process.pid, *children_of(process.pid)])))
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"Reading ended with {process.returncode}.")
    return peak / 1e3, time.perf_counter() - began


def children_of(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def proportional_memory(pid: int) -> int:
    """kB; 0 once the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def bench_memory(folder: Path) -> None:
    """Files are one file under many names, so that 5 GB need 50 MB of disk."""
    for size_mb, links in ((50, 100), (1, 5000)):
        first = folder / "1n1g/rn50_b32_fp32_0.log"
        first.parent.mkdir(exist_ok=True)
        first.write_text(text_of_size(dialect_named("mindspore"), size_mb * MB))
        for number in range(1, links):
            os.link(first, first.with_name(f"rn50_b32_fp32_{number}.log"))
        print_peak(f"{links} files of {size_mb} MB", folder)
        shutil.rmtree(first.parent)
    for name, ranks in (("one file of 1 GB", 1), ("one file of 1 GB with 256 ranks", 256)):
        path = folder / "1n1g/rn50_b32_fp32_1.log"
        path.parent.mkdir()
        with path.open("w") as file:
            lines = text_of_size(dialect_named("mindspore"), 20 * MB).splitlines(keepends=True)
            for _ in range(50):
                file.writelines(
                    lines if ranks == 1 else (f"{number % ranks}: {line}" for number, line in enumerate(lines))
                )
        print_peak(name, folder)
        shutil.rmtree(path.parent)


def print_peak(what: str, folder: Path) -> None:
    size = size_of(folder) / MB
    memory, seconds = peak_memory(ours(folder))
    print(f"{what}: {memory:.0f} MB of memory at most, {size / seconds:.0f} MB/s", flush=True)


PARTS = {"tree": bench_tree, "dialects": bench_dialects, "files": bench_files, "memory": bench_memory}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory(prefix="rackmark-bench-") as folder:
            PARTS[name](Path(folder))


if __name__ == "__main__":
    main()
