"""Packages that have no wheels and are compiled where they are installed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Iterable, Mapping, Sequence

# What one compiler of C++ may take.
_GB_PER_PROCESS = 1.0
_TELLING = re.compile(r"\berror:|Error:|No such file|not found|Killed|command not found", re.IGNORECASE)
_OF_PIP = re.compile(
    r"subprocess-exited-with-error|Failed (to )?build|metadata-generation-failed|^ERROR: Could not build"
)


@dataclass(frozen=True)
class Compiled:
    """`needs` are packages of the distribution, as compilers and headers; `environ` is told to the build."""

    name: str
    requirement: str
    needs: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)

    def pip_options(self) -> list[str]:
        """It is built against the packages that are in the environment already."""
        return ["--no-build-isolation", "--no-deps", f"--no-binary={self.name}", self.requirement]


def build_environ(package: Compiled, memory: str) -> dict[str, str]:
    """`memory` is the content of /proc/meminfo: a build that starts more compilers than fit is killed."""
    processes = max(1, min(len(os.sched_getaffinity(0)), int(_free_gb(memory) / _GB_PER_PROCESS)))
    at_once = {"MAKEFLAGS": f"-j{processes}", "CMAKE_BUILD_PARALLEL_LEVEL": str(processes)}
    return {**at_once, **package.environ}


def lacking(packages: Iterable[Compiled], installed: Iterable[str]) -> list[str]:
    """Of the distribution's packages, those that compiling takes and that are not there."""
    there = set(installed)
    return sorted({name for package in packages for name in package.needs} - there)


def lacking_sentence(packages: Iterable[Compiled], names: Iterable[str]) -> str:
    what = ", ".join(package.name for package in packages)
    return f"{what} has to be compiled, which takes {', '.join(names)}: install that on the host that starts the jobs."


def failure(package: Compiled, output: str, log: str) -> str:
    if "Cannot import 'setuptools" in output or "invalid command 'bdist_wheel'" in output:
        return f"{package.name} is built with setuptools: add setuptools and wheel to the requirements in workload.yml."
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if _TELLING.search(line) and not _OF_PIP.search(line)]
    said = " / ".join(line[:300] for line in telling[:2]) or "nothing that tells why"
    return f"{package.name} could not be compiled: {said}. All that was said is in {log}."


def _free_gb(memory: str) -> float:
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", memory, re.MULTILINE)
    return int(found[1]) / 2**20 if found else _GB_PER_PROCESS
