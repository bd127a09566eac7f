#!/usr/bin/python
"""Ansible module: several files of a host in one task."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_files
short_description: Write several files of a host in one task
description:
  - A task costs time on every host even where nothing changes; a role writes all its files with one.
  - A file is replaced as a whole, never seen half-written, and only after its own checker has accepted it.
    When a checker refuses one file, none of the files is changed.
  - Folders above a file are made when they are missing, readable by all. A link on the way counts only where nobody but
    root can have set it; one of another user's is named and refused.
  - With secrets in C(files) put C(no_log=true) and C(diff=false) on the task.
options:
  files:
    description: Files as they should be.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Where it is.
        type: path
        required: true
      content:
        description: Everything that is in it.
        type: str
      block:
        description: The part of it that is ours, kept between two marker lines. The rest stays as it is.
        type: str
      target:
        description: What it points to, when it is a symbolic link.
        type: str
      marker:
        description: Marker line, with C({mark}) for BEGIN and END.
        type: str
        default: '# {mark} Rackmark'
      without:
        description: With C(block), a regular expression; lines that match it are removed.
        type: str
      claims_names:
        description: >-
          With C(block), in a file of addresses and names such as /etc/hosts: names in the block stand in no other line,
          which goes when it had no others. So a name has one address.
        type: bool
        default: false
      state:
        description: C(file) has C(content), C(block) or C(target), C(absent) is removed, C(directory) is a folder.
        type: str
        choices: [file, absent, directory]
        default: file
      owner:
        description: User that owns it.
        type: str
        default: root
      group:
        description: Group that owns it.
        type: str
        default: root
      mode:
        description: Permissions, octal.
        type: str
        default: '0644'
      validate:
        description: Command that accepts the new file, with C(%s) where its path belongs. No shell.
        type: str
  settled:
    description: Set by the action of the same name, which passes over the task where an earlier run has noted that it is done.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Write what slurmd reads
  host_files:
    files:
      - path: /etc/default/slurmd
        content: "{{ lookup('ansible.builtin.template', 'slurmd.default.j2') }}"
      - path: /etc/hosts
        block: 192.0.2.11 node1
        without: '^127\.0\.1\.1\s'
      - path: /etc/ssh/sshd_config.d/50-site.conf
        content: PasswordAuthentication no
        mode: "0600"
        validate: sshd -t -f %s
      - path: /etc/old.conf
        state: absent
  register: _written
  notify: Restart slurmd
"""

RETURN = r"""
changed_files:
  description: Paths of the files that were not as they should be.
  type: list
  elements: str
  returned: always
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import settled
from ansible.module_utils.rackmark.host_files import Change, Wanted, make

FILE_OPTIONS = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str"},
    "block": {"type": "str"},
    "target": {"type": "str"},
    "marker": {"type": "str", "default": "# {mark} Rackmark"},
    "without": {"type": "str"},
    "claims_names": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["file", "absent", "directory"], "default": "file"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "str", "default": "0644"},
    "validate": {"type": "str"},
}


def change_of(entry: dict[str, Any]) -> Change:
    options = {key: value for key, value in entry.items() if key not in ("path", "state", "validate")}
    state = entry["state"]
    wanted = Wanted(Path(str(entry["path"])), absent=state == "absent", directory=state == "directory", **options)
    return Change(wanted, entry["validate"])


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "required": True, "options": FILE_OPTIONS},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    try:
        changes = [change for change in map(change_of, module.params["files"]) if change.needed]
        if not module.check_mode:
            make(changes, module.run_command)
            settled.note(module.params["settled"], files=[Path(entry["path"]) for entry in module.params["files"]])
    except LookupError as error:
        module.fail_json(msg=f"A file's owner or group does not exist on this host: {error}.")
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(changes),
        changed_files=[str(change.wanted.path) for change in changes],
        diff=[change.diff() for change in changes] if module._diff else [],
    )


if __name__ == "__main__":
    main()
