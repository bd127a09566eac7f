#!/usr/bin/python
"""Ansible module: a workload's Python environment on the shared storage."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_environment
short_description: Build the Python environment that a workload's ranks run in
description:
  - Builds a virtual environment once for all nodes, on the storage they share. Its folder carries a digest of what was
    asked for, so other requirements make another folder and a finished one is left alone.
  - For machines without an accelerator the main package is only taken as a CPU build, from a local folder that pip's
    settings name. Where there is none, the environment builds on the distribution's package, which then has to be
    installed on every node.
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
    description: Exact requirements.
    type: list
    elements: str
    required: true
  cpu_wheel:
    description: Package that is only taken as a CPU build.
    type: str
    required: true
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Build the environment of ResNet-50
  benchmark_environment:
    directory: /userhome/rackmark/envs
    name: resnet50-pytorch
    requirements: [torch==2.13.0, numpy==2.4.6]
    cpu_wheel: torch
"""

RETURN = r"""
path:
  description: Folder of the environment.
  type: str
  returned: always
source:
  description: C(wheel) or C(distribution).
  type: str
  returned: when it exists
packages:
  description: What is installed in the environment itself.
  type: list
  elements: str
  returned: when it exists
"""

import hashlib
import json
import platform
import shutil
import sys
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import pip_config
from ansible.module_utils.rackmark.wheels import Interpreter, cpu_build

RECORD = "rackmark.json"  # written last: an environment without it is not finished


def run(module: AnsibleModule, *command: str) -> str:
    status, output, error = module.run_command(list(command))
    if status != 0:
        said = (error or output).strip().splitlines()[-3:]
        module.fail_json(msg=f"'{' '.join(command)}' failed: {' / '.join(said)}")
    return str(output)


def build(module: AnsibleModule, path: Path, requirements: list[str], cpu_wheel: str) -> dict[str, Any]:
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    run(module, sys.executable, "-m", "venv", str(path))
    pip = str(path / "bin" / "pip")
    folders = pip_config.wheel_folders(pip_config.parse(run(module, pip, "config", "list")))
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheel = cpu_build(cpu_wheel, folders, Interpreter(tag, platform.machine()))
    if wheel is None:
        run(module, sys.executable, "-m", "venv", "--clear", "--system-site-packages", str(path))
    else:
        others = [requirement for requirement in requirements if not requirement.startswith(f"{cpu_wheel}==")]
        run(module, pip, "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", wheel, *others)
    packages = run(module, pip, "freeze", "--local").split()
    return {"source": "distribution" if wheel is None else "wheel", "packages": packages}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "name": {"type": "str", "required": True},
            "requirements": {"type": "list", "elements": "str", "required": True},
            "cpu_wheel": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    asked = json.dumps([platform.python_version(), platform.machine(), params["requirements"], params["cpu_wheel"]])
    digest = hashlib.sha256(asked.encode()).hexdigest()[:10]
    path = Path(params["directory"]) / f"{params['name']}-{digest}"
    record = path / RECORD
    if record.exists():
        module.exit_json(changed=False, path=str(path), **json.loads(record.read_text()))
    if module.check_mode:
        module.exit_json(changed=True, path=str(path))
    built = build(module, path, params["requirements"], params["cpu_wheel"])
    record.write_text(json.dumps(built) + "\n")
    module.exit_json(changed=True, path=str(path), **built)


if __name__ == "__main__":
    main()
