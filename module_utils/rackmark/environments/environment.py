"""What a workload's Python environment consists of, and the folder that stands for exactly that."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..files import write_files
from .compiled import Compiled
from .wheels import Interpreter, with_cpu_build

RECORD = "rackmark.json"  # written last: an environment without it is not finished


@dataclass(frozen=True)
class Python:
    executable: str
    version: str
    machine: str

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])

    @property
    def interpreter(self) -> Interpreter:
        return Interpreter(f"cp{self.minor.replace('.', '')}", self.machine)


@dataclass(frozen=True)
class Environment:
    """`source` is index, wheel (the main package as a CPU build from a local folder) or distribution (nothing is
    installed; the nodes' own packages are seen)."""

    path: Path
    source: str
    install: Sequence[str]
    digest: str
    compiled: Sequence[Compiled] = ()

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    def packages(self) -> list[str] | None:
        """What is installed in it, None when it is not finished."""
        if not self.python.exists():
            return None
        try:
            record: Mapping[str, Any] = json.loads((self.path / RECORD).read_text())
        except FileNotFoundError:
            return None
        return list(record["packages"])

    def finish(self, packages: Sequence[str]) -> None:
        record = {"source": self.source, "digest": self.digest, "packages": list(packages)}
        write_files(self.path, {RECORD: (json.dumps(record) + "\n").encode()})


def describe(
    directory: Path,
    name: str,
    requirements: Sequence[str],
    cpu_wheel: str,
    folders: Sequence[Path],
    python: Python,
    compiled: Sequence[Compiled] = (),
) -> Environment:
    """`cpu_wheel` is the package that only comes as a CPU build from one of `folders`, else from the distribution."""
    source, install = "index", list(requirements)
    if cpu_wheel:
        found = with_cpu_build(requirements, cpu_wheel, folders, python.interpreter)
        source, install = ("distribution", []) if found is None else ("wheel", found)
    built = [[package.requirement, sorted(package.environ.items())] for package in compiled]
    identity = json.dumps([asdict(python), source, sorted(install), *([built] if built else [])])
    digest = hashlib.sha256(identity.encode()).hexdigest()
    return Environment(directory / f"{name}-{digest[:10]}", source, install, digest, compiled)
