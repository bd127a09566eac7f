#!/usr/bin/python
"""Ansible module: an image of Docker that is built of a folder."""

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_image_built
short_description: Build an image of Docker, and see that it starts
description:
  - Builds an image of a folder with a Dockerfile. Steps that Docker knows from before are not done again, so that a
    second run changes nothing.
  - What Docker says while it builds is beside the folder, in a file with its name and C(.log), from the first line on.
options:
  name:
    description: Name and tag of the image.
    type: str
    required: true
  folder:
    description: Folder with the Dockerfile.
    type: path
    required: true
  program:
    description: A program with its arguments that has to end well in the image.
    type: list
    elements: str
    required: true
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Build the image
  docker_image_built:
    name: flagperf-nvidia-pytorch_1.8-bert:rackmark
    folder: /var/lib/rackmark/images/flagperf-nvidia-pytorch_1.8-bert
    program: [python3, -c, 'import torch']
"""

RETURN = r"""
id:
  description: What the image is now; empty in check mode where there is none.
  type: str
  returned: success
log:
  description: The file with what Docker said.
  type: str
  returned: success
"""

import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.docker_image import image_id

LAST_LINES = 5


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "folder": {"type": "path", "required": True},
            "program": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    name, folder = module.params["name"], Path(module.params["folder"])
    log = folder.with_name(f"{folder.name}.log")  # in the folder it would be part of the image
    before = image_id(name)
    if module.check_mode:
        module.exit_json(changed=not before, id=before, log=str(log))
    build(module, name, folder, log)
    tried = ["docker", "run", "--rm", "--network=none", "--entrypoint=", name, *module.params["program"]]
    status, output, errors = module.run_command(tried)
    if status != 0:
        words = " ".join(module.params["program"])
        said = (errors or output).strip()
        module.fail_json(msg=f"The image {name} was built, and '{words}' does not run in it: {said}")
    found = image_id(name)
    module.exit_json(changed=found != before, id=found, log=str(log))


def build(module: AnsibleModule, name: str, folder: Path, log: Path) -> None:
    command = ["docker", "build", "--tag", name, str(folder)]
    try:
        with log.open("wb") as said:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        module.fail_json(msg=f"Docker cannot be started, or {log} cannot be written: {error.strerror}.")
    if done.returncode != 0:
        last = " ".join(log.read_text(errors="replace").split("\n")[-LAST_LINES - 1 :]).strip()
        module.fail_json(msg=f"Docker could not build {name} (all it said is in {log}): {last}")


if __name__ == "__main__":
    main()
