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
  - Only wheels are installed. Nothing is compiled but what O(build) names.
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
  build:
    description:
      - Packages that have to be compiled, in this order, against the packages of O(requirements). Each has C(name),
        C(requirement), C(needs), packages of the distribution without which it cannot be compiled, and C(environ).
      - As many compilers run at the same time as there are processors and free GB of memory.
    type: list
    elements: dict
    default: []
  instead:
    description: Options of a run that do without these requirements, said where this Python has none of them.
    type: list
    elements: str
    default: []
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
lacking:
  description: Packages of the distribution that are missing on this host, and that compiling takes.
  type: list
  elements: str
  returned: in check mode, where there is something to compile
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
from dataclasses import replace
from pathlib import Path
from typing import Any, Mapping, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import shared_lock
from ansible.module_utils.rackmark.dpkg import STATUS, installed_versions
from ansible.module_utils.rackmark.environments import pip_config
from ansible.module_utils.rackmark.environments.builder import Builder, BuildError, Run, disk_is_full
from ansible.module_utils.rackmark.environments.compiled import Compiled, lacking, lacking_sentence
from ansible.module_utils.rackmark.environments.environment import Environment, Python, describe

PATIENCE = 3600.0


def runner(module: AnsibleModule, environment: Environment) -> Run:
    """Tools that the environment has itself, as cmake, are found before the host's."""

    def run(command: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str]:
        tools = str(environment.path / "bin")
        status, output, error = module.run_command(list(command), environ_update=dict(environ), path_prefix=tools)
        return status, f"{output}\n{error}".strip() if status else output

    return run


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
        with shared_lock.hold(lock, PATIENCE):
            packages = environment.packages()
            if packages is not None:
                return False, packages
            return True, Builder(runner(module, environment), python, environment, module.params["instead"]).build()
    except BuildError as error:
        module.fail_json(msg=str(error))
    except shared_lock.BusyError as error:
        module.fail_json(msg=f"{error}: it still builds this environment. End it there, or run again later.")
    except OSError as error:
        place = environment.path.parent
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            module.fail_json(msg=disk_is_full(place))
        module.fail_json(
            msg=f"The environment cannot be built in {place}: {error.strerror} ({error.filename})."
            " Give a folder that this user can write to as benchmark_dir."
        )


def refuse_python(module: AnsibleModule, python: Python, environment: Environment) -> None:
    with tempfile.TemporaryDirectory(prefix="rackmark-") as folder:
        tried = replace(environment, path=Path(folder) / "tried")
        try:
            Builder(runner(module, tried), python, tried, module.params["instead"]).refuse_python()
        except BuildError as error:
            module.fail_json(msg=str(error))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "name": {"type": "str", "required": True},
            "requirements": {"type": "list", "elements": "str", "required": True},
            "cpu_wheel": {"type": "str", "default": ""},
            "build": {"type": "list", "elements": "dict", "default": []},
            "instead": {"type": "list", "elements": "str", "default": []},
            "python": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    params: dict[str, Any] = module.params
    compiled = [Compiled(**package) for package in params["build"]]
    if not params["requirements"] and not compiled:
        module.exit_json(changed=False, python=params["python"] or shutil.which("python3"), packages=[])
    python = the_python(module)
    environment = describe(
        Path(params["directory"]),
        params["name"],
        params["requirements"],
        params["cpu_wheel"],
        wheel_folders(module),
        python,
        compiled,
    )
    result: dict[str, Any] = {
        "path": str(environment.path),
        "python": str(environment.python),
        "source": environment.source,
        "digest": environment.digest,
    }
    packages = environment.packages()
    changed = packages is None
    if changed and compiled:
        result["lacking"] = lacking(compiled, installed_versions(STATUS.read_text())) if STATUS.is_file() else []
        if result["lacking"]:
            refuse_python(module, python, environment)
        if result["lacking"] and not module.check_mode:
            module.fail_json(msg=lacking_sentence(compiled, result["lacking"]))
    if changed and not module.check_mode:
        changed, packages = built(module, python, environment)
    module.exit_json(changed=changed, packages=packages or [], **result)


if __name__ == "__main__":
    main()
