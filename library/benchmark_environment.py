#!/usr/bin/python
"""Ansible module: a workload's Python environment on the shared storage."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_environment
short_description: Build the Python environment that a workload's ranks run in
description:
  - Builds a virtual environment once for all nodes, on the storage they share. Its folder carries a digest of what it
    consists of, so other requirements or another Python make another folder, and a finished one is left alone.
  - Where two runs need the same environment at the same time, one builds it and the other waits for it. What a build
    that was interrupted has left is built again.
  - Only wheels are installed, nothing is compiled.
options:
  directory:
    description: Folder that holds environments.
    type: path
    required: true
  name:
    description: Beginning of the environment's name.
    type: str
    required: true
  requirements:
    description: Exact requirements. With none there is no environment, and C(python) is the nodes' own python3.
    type: list
    elements: str
    required: true
  cpu_wheel:
    description:
      - Package of the requirements that is only taken as a CPU build, from a local folder that pip's settings name
        (find-links). The pinned version is preferred, and the newest one taken where it is not there.
      - Where there is none that fits, the environment is empty and lets the distribution's packages through, which
        then have to be installed on every node.
    type: str
    default: ''
  python:
    description: Interpreter to build with, which has to be on every node; when empty the one that runs this module.
    type: str
    default: ''
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Build the environment of ResNet-50 for nodes without accelerators
  benchmark_environment:
    directory: /userhome/rackmark/envs
    name: resnet50-pytorch
    requirements: [torch==2.13.0, numpy==2.2.6]
    cpu_wheel: torch
"""

RETURN = r"""
python:
  description: Interpreter that ranks start with.
  type: str
  returned: always
packages:
  description: What is installed in the environment itself, with versions. Empty in check mode before it is built.
  type: list
  elements: str
  returned: always
path:
  description: Folder of the environment.
  type: str
  returned: when there are requirements
source:
  description: C(index), C(wheel) or C(distribution).
  type: str
  returned: when there are requirements
digest:
  description: SHA-256 of what the environment consists of; its first ten digits end the folder's name.
  type: str
  returned: when there are requirements
"""

import errno
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.environments import build_lock, pip_config
from ansible.module_utils.rackmark.environments.environment import Environment, Python, describe
from ansible.module_utils.rackmark.environments.pip_failure import explanation, is_disk_full
from ansible.module_utils.rackmark.environments.wheels import Pin

PATIENCE = 3600.0
PYTHONS = [f"3.{minor}" for minor in range(9, 16)]
SMALLEST_ENVIRONMENT_MB = 64
# A site whose users install into their homes by default would have pip refuse to install anywhere else.
PIP_SETTINGS = {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


class Builder:
    def __init__(self, module: AnsibleModule, python: Python, environment: Environment) -> None:
        self.module = module
        self.python = python
        self.environment = environment

    def build(self) -> list[str]:
        path = self.environment.path
        shutil.rmtree(path, ignore_errors=True)
        if self.environment.source == "distribution":
            self._make("--without-pip", "--system-site-packages")
            packages = []
        else:
            self._make()
            self._install()
            packages = self._pip("freeze", "--local")[1].splitlines()
        self.environment.finish(packages)
        return packages

    def _make(self, *options: str) -> None:
        status, output = self._run(self.python.executable, "-m", "venv", *options, str(self.environment.path))
        if status != 0:
            if free_mb(self.environment.path) < SMALLEST_ENVIRONMENT_MB:
                self._fail(disk_is_full(self.environment.path.parent))
            self._fail(
                f"{self.python.executable} cannot make an environment: install its venv package (on Debian and Ubuntu"
                f" python{self.python.minor}-venv), set ansible_python_interpreter of this host to a Python that can,"
                " or benchmark_python to one that has the packages."
                f" It said: {' '.join(output.split())[-400:]}"
            )

    def _install(self) -> None:
        status, output = self._pip(
            "install", "--quiet", "--no-cache-dir", "--only-binary=:all:", *self.environment.install
        )
        if status == 0:
            return
        if is_disk_full(output):
            self._fail(disk_is_full(self.environment.path.parent))
        self._fail(explanation(output, self.python.minor, self.python.machine, self._pythons_of))

    def _pythons_of(self, pin: Pin) -> list[str]:
        """The index's word for every Python; versions of pip that cannot ask say nothing."""
        return [version for version in PYTHONS if version != self.python.minor and self._is_offered(pin, version)]

    def _is_offered(self, pin: Pin, version: str) -> bool:
        status, output = self._pip("index", "versions", pin.name, "--only-binary=:all:", "--python-version", version)
        listed = [line for line in output.splitlines() if line.startswith("Available versions:")]
        return status == 0 and bool(listed) and pin.version in listed[0].partition(":")[2].replace(" ", "").split(",")

    def _pip(self, *arguments: str) -> tuple[int, str]:
        return self._run(str(self.environment.python), "-m", "pip", *arguments)

    def _run(self, *command: str) -> tuple[int, str]:
        status, output, error = self.module.run_command(list(command), environ_update=PIP_SETTINGS)
        return status, f"{output}\n{error}".strip() if status else output

    def _fail(self, sentence: str) -> NoReturn:
        shutil.rmtree(self.environment.path, ignore_errors=True)
        self.module.fail_json(msg=sentence)


def free_mb(path: Path) -> int:
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    return shutil.disk_usage(existing).free // 2**20


def disk_is_full(place: Path) -> str:
    temporary = Path(tempfile.gettempdir())
    return (
        f"The disk is full, or a quota is used up: {free_mb(place)} MB are free in {place} and {free_mb(temporary)} MB"
        f" in {temporary}, where pip unpacks first (TMPDIR names another folder). Free some space and run again."
    )


def the_python(module: AnsibleModule) -> Python:
    asked = module.params["python"]
    if not asked:
        return Python(os.path.realpath(sys.executable), platform.python_version(), platform.machine())
    found = shutil.which(asked)
    if found is None:
        module.fail_json(
            msg=f"There is no interpreter {asked} on this host: install it on all nodes or name another one."
        )
    status, output, error = module.run_command(
        [found, "-c", "import platform as p; print(p.python_version(), p.machine())"]
    )
    if status != 0:
        module.fail_json(msg=f"{found} does not run as a Python: {' '.join((error or output).split())[-400:]}")
    version, machine = output.split()
    return Python(os.path.realpath(found), version, machine)


def wheel_folders(module: AnsibleModule) -> list[Path]:
    if not module.params["cpu_wheel"]:
        return []
    try:
        return pip_config.wheel_folders(pip_config.read(os.environ, Path.home()))
    except ValueError as error:
        module.fail_json(msg=str(error))


def built(module: AnsibleModule, python: Python, environment: Environment) -> tuple[bool, list[str]]:
    """Whether it was this run that built it, and what it has."""
    lock = environment.path.with_name(f".{environment.path.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with build_lock.hold(lock, PATIENCE):
            packages = environment.packages()
            if packages is not None:
                return False, packages
            return True, Builder(module, python, environment).build()
    except build_lock.BusyError as error:
        module.fail_json(msg=f"{error}: it still builds this environment. End it there, or run again later.")
    except OSError as error:
        place = environment.path.parent
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            module.fail_json(msg=disk_is_full(place))
        module.fail_json(
            msg=f"The environment cannot be built in {place}: {error.strerror} ({error.filename})."
            " Give a folder that this user can write to as benchmark_dir."
        )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "name": {"type": "str", "required": True},
            "requirements": {"type": "list", "elements": "str", "required": True},
            "cpu_wheel": {"type": "str", "default": ""},
            "python": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    params: dict[str, Any] = module.params
    if not params["requirements"]:
        module.exit_json(changed=False, python=params["python"] or shutil.which("python3"), packages=[])
    python = the_python(module)
    environment = describe(
        Path(params["directory"]),
        params["name"],
        params["requirements"],
        params["cpu_wheel"],
        wheel_folders(module),
        python,
    )
    result = {
        "path": str(environment.path),
        "python": str(environment.python),
        "source": environment.source,
        "digest": environment.digest,
    }
    packages = environment.packages()
    changed = packages is None
    if changed and not module.check_mode:
        changed, packages = built(module, python, environment)
    module.exit_json(changed=changed, packages=packages or [], **result)


if __name__ == "__main__":
    main()
