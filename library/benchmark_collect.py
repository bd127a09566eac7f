#!/usr/bin/python
"""Ansible module: logs and records of a run, packed. The action of the same name unpacks them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_collect
short_description: Copy logs and records of a run to the machine that Ansible runs on
description:
  - Copies the manifest and what every repeat left, whatever became of it, in pieces of limited size.
options:
  run_dir:
    description: Folder of the run on the host.
    type: path
    required: true
  dest:
    description: Folder for it on the machine that Ansible runs on.
    type: path
    required: true
  folders:
    description: Folders in the run still to be copied; the action fills it in.
    type: list
    elements: str
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Collect the logs
  benchmark_collect:
    run_dir: /userhome/rackmark/runs/{{ run_id }}
    dest: reports/runs/{{ run_id }}
"""

RETURN = r"""
files:
  description: Number of files.
  type: int
  returned: success
"""

import base64
import io
import tarfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

KINDS = (".log", ".exit", ".json", ".jsonl", ".sh", ".txt")
LARGEST_PIECE = 64 * 2**20  # before it is compressed


def pack(run_dir: Path, folders: list[str]) -> tuple[str, int, list[str]]:
    """As many of the folders as fit into one piece, the number of files in it, and the folders that are left."""
    archive = io.BytesIO()
    left, paths, size = list(folders), [run_dir / "manifest.json"], 0
    while left and size <= LARGEST_PIECE:
        in_folder = [path for path in sorted((run_dir / left.pop(0)).rglob("[!.]*")) if path.suffix in KINDS]
        paths += in_folder
        size += sum(path.stat().st_size for path in in_folder)
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=3) as tar:
        for path in paths:
            tar.add(path, arcname=str(path.relative_to(run_dir)), recursive=False)
    return base64.b64encode(archive.getvalue()).decode(), len(paths), left


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
            "folders": {"type": "list", "elements": "str"},
        },
        supports_check_mode=True,
    )
    run_dir = Path(module.params["run_dir"])
    folders = module.params["folders"]
    if folders is None:
        folders = [str(path.relative_to(run_dir)) for path in sorted(run_dir.glob("cases/*/r*"))]
    try:
        archive, files, left = pack(run_dir, folders)
    except OSError as error:
        module.fail_json(msg=f"The logs in {run_dir} cannot be read: {error}.")
    module.exit_json(changed=True, archive=archive, files=files, left=left)


if __name__ == "__main__":
    main()
