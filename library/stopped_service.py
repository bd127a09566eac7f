#!/usr/bin/python
"""Ansible module: services of a role that a host no longer has."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stopped_service
short_description: Stop services for good and remove the files they were given
description:
  - Stops and disables the services, removes the files, and has systemd read its units again.
  - A service or file that is not there is as it should be.
  - Packages stay installed, and what a service has recorded stays where it is, unless C(files) names it.
options:
  names:
    description: Names of the services, in the order in which they stop.
    type: list
    elements: str
    default: []
  files:
    description: Files and folders to remove once the services have stopped.
    type: list
    elements: path
    default: []
  unless_running:
    description: Name of a program. While one runs, nothing is stopped or removed.
    type: str
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Names what goes, never its content.
"""

EXAMPLES = r"""
- name: Remove the Slurm exporter
  stopped_service:
    names: [rackmark-slurm-exporter]
    files: [/etc/systemd/system/rackmark-slurm-exporter.service]
"""

RETURN = r"""
stopped:
  description: Services that ran or were enabled.
  type: list
  elements: str
  returned: always
removed:
  description: Files and folders that were there.
  type: list
  elements: str
  returned: always
in_use:
  description: How many processes of C(unless_running) there are, and 0 where it is not given.
  type: int
  returned: always
"""

import contextlib
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.host_files import Change, Wanted, make
from ansible.module_utils.rackmark.services import PROPERTIES, runs_or_will

UNITS = "/etc/systemd/system/"


def systemctl(module: AnsibleModule, *words: str) -> str:
    status, output, errors = module.run_command(["systemctl", *words])
    if status != 0:
        said = errors.strip().splitlines()[:1] or [f"exit status {status}"]
        module.fail_json(msg=f"'systemctl {' '.join(words)}' failed: {said[0]}")
    return str(output)


def processes_of(program: str, proc: Path = Path("/proc")) -> int:
    """By the name that the kernel keeps of a program, which is 15 characters long at most."""
    found = 0
    for comm in proc.glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            found += comm.read_text().strip() == program[:15]
    return found


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "default": []},
            "files": {"type": "list", "elements": "path", "default": []},
            "unless_running": {"type": "str"},
        },
        supports_check_mode=True,
    )
    program = module.params["unless_running"]
    in_use = processes_of(program) if program else 0
    if in_use:
        module.exit_json(changed=False, stopped=[], removed=[], in_use=in_use)
    ask = ("show", f"--property={','.join(PROPERTIES)}")
    to_stop = [name for name in module.params["names"] if runs_or_will(systemctl(module, *ask, name))]
    try:
        changes = [Change(Wanted(Path(path), absent=True)) for path in module.params["files"]]
        needed = [change for change in changes if change.needed]
        if not module.check_mode:
            for name in to_stop:
                systemctl(module, "disable", "--quiet", "--now", name)
            make(needed, module.run_command)
            if any(str(change.wanted.path).startswith(UNITS) for change in needed):
                systemctl(module, "daemon-reload")
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(to_stop or needed),
        stopped=to_stop,
        in_use=0,
        removed=[str(change.wanted.path) for change in needed],
        diff=[change.diff() for change in needed] if module._diff else [],
    )


if __name__ == "__main__":
    main()
