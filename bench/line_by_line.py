"""DLPerf's method of reading MindSpore logs, as a measure for ours: python bench/line_by_line.py FOLDER LAST_STEP

One process reads each file into memory line by line, with a regular expression for every number. The throughput is
that of the steps after the hundredth, of all ranks, as DLPerf computes it. Written after its description.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import median

WARMUP = 100
EPOCH = r"(?<=epoch:\s)\d+"
STEP = r"(?<=step:\s)\d+"
MILLISECONDS = r"(?<=epoch\stime:\s)\d+\.\d{3}"


def throughput(path: Path, last: int) -> float:
    nodes, devices = map(int, path.parent.name.rstrip("g").split("n"))
    ranks, batch = nodes * devices, int(path.name.split("_")[1].lstrip("b"))
    step, milliseconds = 0, 0.0
    with path.open() as file:
        for line in file.readlines():
            if "epoch:" in line and "step:" in line:
                step = int(re.findall(EPOCH, line)[0]) * int(re.findall(STEP, line)[0])
            if "epoch time:" in line and WARMUP < step <= last:
                milliseconds += float(re.findall(MILLISECONDS, line)[0])
    return round(batch * ranks / (milliseconds / 1000 / ((last - WARMUP) * ranks)), 2)


def main() -> None:
    folder, last = Path(sys.argv[1]), int(sys.argv[2])
    cases: dict[str, list[float]] = {}
    for path in sorted(folder.glob("*/*.log")):
        cases.setdefault(path.parent.name, []).append(throughput(path, last))
    for case, throughputs in cases.items():
        print(case, median(throughputs))


if __name__ == "__main__":
    main()
