"""Starts one process of a benchmark of FlagPerf: its own program, unpatched, started as FlagPerf's launchers do.

    drive.py --data FOLDER

Runs in the folder of a repeat. drive.json beside this file names the benchmark, training/ beside it holds the parts of
the checkout that it needs. The program takes the place of this process, so that its exit status is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from launches import LAUNCHES, Benchmark, Process

CODE = Path(__file__).resolve().parent
COULD_NOT_START = 126


def main() -> int:
    parser = argparse.ArgumentParser(prog="drive.py")
    parser.add_argument("--data", required=True)
    data = parser.parse_args().data
    facts = json.loads((CODE / "drive.json").read_text())
    process = Process.of_environment(os.environ)
    benchmark = Benchmark(
        training=own_tree(CODE / "training", scratch(Path.cwd(), process.rank)),
        model=facts["model"],
        base=facts["base"],
        vendor=facts["vendor"],
        config=facts["configs"][f"{process.nodes}n{process.devices}g"],
        data=data,
        logs=Path.cwd() / f"node{process.node_rank}",
    )
    if process.rank == 0:
        tell_what_is_missing(benchmark.config_folder / "requirements.txt")
    launch = LAUNCHES[benchmark.base](benchmark, process)
    script = benchmark.config_folder / "environment_variables.sh"
    try:
        variables = {**os.environ, **exported(script), **launch.variables}
        os.chdir(launch.folder)
        os.execvpe(launch.words[0], launch.words, variables)
    except OSError as error:
        print(f"{error.filename} cannot be started in {launch.folder}: {error.strerror}.", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"{script} ends with exit status {error.returncode}.", file=sys.stderr)
    return COULD_NOT_START


def scratch(repeat: Path, rank: int) -> Path:
    """A process's own, beside the folders of the repeats, so that nothing in it is taken for a log."""
    return CODE.parent / "scratch" / repeat.relative_to(CODE.parent / "cases") / f"rank{rank}"


def own_tree(training: Path, folder: Path) -> Path:
    """Benchmarks write into their checkout, and those of other ranks or repeats must not find that. Files are linked:
    one that is made anew is a process's own, and costs nothing until then."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(training, folder / "training", copy_function=link_or_copy))


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # other owners, other file systems
        shutil.copy2(source, target)


def tell_what_is_missing(requirements: Path) -> None:
    """FlagPerf installs them in its container; here they belong into the image, or into the Python that is named."""
    from importlib.metadata import PackageNotFoundError, version

    missing = []
    for line in requirements.read_text().splitlines() if requirements.is_file() else ():
        named = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line)
        try:
            version(named.group(1) if named else "pip")
        except PackageNotFoundError:
            missing.append(line.strip())
    if missing:
        print(f"rackmark: not installed, and in requirements.txt of the case: {', '.join(missing)}", flush=True)


def exported(script: Path) -> dict[str, str]:
    """What the script sets, as a shell that reads it has it."""
    if not script.is_file():
        return {}
    read = ["bash", "-c", '. "$1" >&2 && env -0', "bash", str(script)]
    said = subprocess.run(read, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    pairs = (entry.partition("=") for entry in said.decode(errors="surrogateescape").split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs if os.environ.get(name) != value}


if __name__ == "__main__":
    sys.exit(main())
