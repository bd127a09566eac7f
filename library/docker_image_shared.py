#!/usr/bin/python
"""Ansible module: an image of Docker that has to be the same on several hosts, by way of storage that they share."""

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_image_shared
short_description: Hand an image of Docker from one host to others through a shared folder
description:
  - An image that every host builds for itself is another one on each, and may hold other packages. So one host builds
    it and saves it, and the others load it, unless they have it.
  - The archive is written and read with the rights of O(user), as root may be nobody on a file server.
options:
  name:
    description: Name and tag of the image.
    type: str
    required: true
  id:
    description: What the image has to be, as C(docker image inspect) says.
    type: str
    required: true
  archive:
    description: The archive in the shared folder.
    type: path
    required: true
  user:
    description: User who may write there.
    type: str
    required: true
  state:
    description: Whether this host writes the archive, or has the image in the end.
    type: str
    choices: [saved, loaded]
    required: true
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Load the image where it is another one or none
  docker_image_shared:
    name: flagperf-nvidia-pytorch_1.8-bert:rackmark
    id: sha256:0123...
    archive: /userhome/rackmark/images/flagperf-nvidia-pytorch_1.8-bert.tar
    user: rackmark
    state: loaded
"""

RETURN = r"""
lacking:
  description: Whether this host did not have the image.
  type: bool
  returned: success
"""

import subprocess
from typing import Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.docker_image import image_id


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "id": {"type": "str", "required": True},
            "archive": {"type": "path", "required": True},
            "user": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["saved", "loaded"], "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    as_user = ["runuser", "-u", params["user"], "--"]
    if params["state"] == "saved":
        if not module.check_mode:
            write = [*as_user, "dd", f"of={params['archive']}", "bs=1M", "status=none"]
            pipe(module, ["docker", "save", params["name"]], write)
        module.exit_json(changed=True, lacking=False)
    lacking = image_id(params["name"]) != params["id"]
    if lacking and not module.check_mode:
        pipe(module, [*as_user, "cat", params["archive"]], ["docker", "load", "--quiet"])
        found = image_id(params["name"])
        if found != params["id"]:
            module.fail_json(
                msg=f"{params['archive']} was loaded, and {params['name']} is {found or 'not there'} then."
            )
    module.exit_json(changed=lacking, lacking=lacking)


def pipe(module: AnsibleModule, source: Sequence[str], target: Sequence[str]) -> None:
    """Fails with what either of them said."""
    with subprocess.Popen(source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False) as first:
        done = subprocess.run(target, stdin=first.stdout, capture_output=True, check=False)
        assert first.stdout is not None and first.stderr is not None
        first.stdout.close()
        said = first.stderr.read()
    for command, status, words in ((source, first.returncode, said), (target, done.returncode, done.stderr)):
        if status:
            last = words.decode(errors="replace").strip()
            module.fail_json(msg=f"'{' '.join(command)}' ended with exit status {status}: {last}")


if __name__ == "__main__":
    main()
