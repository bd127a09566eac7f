"""Makes a virtual environment and installs what belongs into it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Callable, Mapping, Sequence

from .build_progress import log_of
from .compiled import Compiled, build_environ, failure
from .environment import Environment, Python
from .pip_failure import explanation, is_disk_full, is_unreachable, not_offered
from .wheels import Pin, pin

# Words of a command and what its environment is to have besides -> exit status and output.
Run = Callable[[Sequence[str], Mapping[str, str]], "tuple[int, str]"]

PYTHONS = [f"3.{minor}" for minor in range(9, 16)]
SMALLEST_ENVIRONMENT_MB = 64
# A site whose users install into their homes by default would have pip refuse to install anywhere else.
PIP_SETTINGS = {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


class BuildError(Exception):
    """A sentence for the operator. Nothing of the environment is left."""


class Builder:
    def __init__(self, run: Run, python: Python, environment: Environment, instead: Sequence[str] = ()) -> None:
        """`instead` are an operator's options that do without this environment."""
        self._run_command = run
        self._instead = instead
        self.python = python
        self.environment = environment

    def build(self) -> list[str]:
        """What is installed, with versions."""
        path = self.environment.path
        shutil.rmtree(path, ignore_errors=True)
        log_of(path).unlink(missing_ok=True)
        try:
            packages = self._build()
        except BuildError:
            shutil.rmtree(path, ignore_errors=True)
            raise
        finally:
            log_of(path).unlink(missing_ok=True)
        self.environment.finish(packages)
        return packages

    def refuse_python(self) -> None:
        """Raises BuildError where a requirement has wheels for other Pythons alone. Asked in a folder that is thrown
        away, before anybody installs compilers; who cannot be asked is asked again by the build."""
        try:
            self._make()
        except BuildError:
            return
        at_once = {"PIP_RETRIES": "0", "PIP_TIMEOUT": "10"}
        for requirement in self.environment.install:
            pinned = pin(requirement)
            status, output = self._versions_of(pinned, self.python.minor, **at_once) if pinned else (0, "")
            if pinned is None or _lists(output, pinned):
                continue
            if status != 0 and is_unreachable(output):
                return
            pythons = self._pythons_of(pinned)
            if pythons:
                python = self.python
                raise BuildError(not_offered(requirement, python.minor, python.machine, pythons, self._instead))

    def _build(self) -> list[str]:
        if self.environment.source == "distribution":
            if self.environment.compiled:
                names = ", ".join(package.name for package in self.environment.compiled)
                raise BuildError(
                    f"{names} is compiled against packages of the environment, and there are none: no local folder of"
                    " pip's settings has the CPU build. Name one that has it (find-links)."
                )
            self._make("--without-pip", "--system-site-packages")
            return []
        self._make()
        self._install()
        for package in self.environment.compiled:
            self._compile(package)
        return self._pip("freeze", "--local")[1].splitlines()

    def _make(self, *options: str) -> None:
        status, output = self._run(self.python.executable, "-m", "venv", *options, str(self.environment.path))
        if status == 0:
            return
        if free_mb(self.environment.path) < SMALLEST_ENVIRONMENT_MB:
            raise BuildError(disk_is_full(self.environment.path.parent))
        raise BuildError(
            f"{self.python.executable} cannot make an environment: install its venv package (on Debian and Ubuntu"
            f" python{self.python.minor}-venv), set ansible_python_interpreter of this host to a Python that can,"
            " or benchmark_python to one that has the packages."
            f" It said: {' '.join(output.split())[-400:]}"
        )

    def _install(self) -> None:
        if not self.environment.install:
            return
        status, output = self._pip_install("--quiet", "--only-binary=:all:", *self.environment.install)
        if status != 0:
            self._explain(output)

    def _compile(self, package: Compiled) -> None:
        environ = build_environ(package, Path("/proc/meminfo").read_text())
        status, output = self._pip_install("--verbose", *package.pip_options(), **environ)
        if status == 0:
            return
        if "No matching distribution found" in output or is_disk_full(output):
            self._explain(output)
        log = self.environment.path.with_name(f"{self.environment.path.name}-{package.name}.log")
        log.write_text(output)
        raise BuildError(failure(package, output, str(log)))

    def _explain(self, output: str) -> None:
        if is_disk_full(output):
            raise BuildError(disk_is_full(self.environment.path.parent))
        raise BuildError(explanation(output, self.python.minor, self.python.machine, self._pythons_of, self._instead))

    def _pythons_of(self, pinned: Pin) -> list[str]:
        """The index's word for every Python; versions of pip that cannot ask say nothing."""
        return [version for version in PYTHONS if version != self.python.minor and self._is_offered(pinned, version)]

    def _is_offered(self, pinned: Pin, version: str) -> bool:
        status, output = self._versions_of(pinned, version)
        return status == 0 and _lists(output, pinned)

    def _versions_of(self, pinned: Pin, version: str, **environ: str) -> tuple[int, str]:
        only_wheels = ("--only-binary=:all:", "--python-version", version)
        return self._pip("index", "versions", pinned.name, *only_wheels, **environ)

    def _pip_install(self, *arguments: str, **environ: str) -> tuple[int, str]:
        log = str(log_of(self.environment.path))
        return self._pip("install", "--no-cache-dir", "--log", log, *arguments, **environ)

    def _pip(self, *arguments: str, **environ: str) -> tuple[int, str]:
        return self._run(str(self.environment.python), "-m", "pip", *arguments, **environ)

    def _run(self, *command: str, **environ: str) -> tuple[int, str]:
        return self._run_command(command, {**PIP_SETTINGS, **environ})


def _lists(output: str, pinned: Pin) -> bool:
    """Whether pip's answer has the version."""
    listed = [line for line in output.splitlines() if line.startswith("Available versions:")]
    return bool(listed) and pinned.version in listed[0].partition(":")[2].replace(" ", "").split(",")


def free_mb(path: Path) -> int:
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    return shutil.disk_usage(existing).free // 2**20


def disk_is_full(place: Path) -> str:
    temporary = Path(tempfile.gettempdir())
    return (
        f"The disk is full, or a quota is used up: {free_mb(place)} MB are free in {place} and {free_mb(temporary)} MB"
        f" in {temporary}, where pip unpacks first (TMPDIR names another folder). Free some space and run again."
    )
