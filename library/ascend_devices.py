#!/usr/bin/python
"""Ansible module: the Ascend devices of a host, who may use them and their network addresses."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ascend_devices
short_description: Rights and network addresses of Ascend devices
description:
  - Gives the device files that are there to a group. A udev rule has to keep it so for those that come later.
  - Sets address, gateway and detection address of each device with C(hccn_tool) where the device says another one, asks
    again, and keeps them in C(/etc/hccn.conf), from which the driver takes them when the host starts.
  - What else is in C(/etc/hccn.conf) stays.
options:
  group:
    description: Group that may use the devices.
    type: str
    required: true
  mode:
    description: Permissions of the device files, octal.
    type: str
    default: '0660'
  addresses:
    description: One entry for each device, in the order of their numbers. Empty leaves addresses alone.
    type: list
    elements: dict
    default: []
    suboptions:
      address:
        description: IPv4 address with prefix length.
        type: str
        required: true
      gateway:
        description: Gateway of the device.
        type: str
      detect:
        description: Address that the device watches to tell whether its network works.
        type: str
  count:
    description: How many devices the host has; there must be as many addresses, or none.
    type: int
    required: true
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Give the devices their group and addresses
  ascend_devices:
    group: HwHiAiUser
    count: 2
    addresses:
      - {address: 192.168.100.101/24, gateway: 192.168.100.1, detect: 192.168.100.1}
      - {address: 192.168.101.101/24, gateway: 192.168.101.1, detect: 192.168.101.1}
"""

RETURN = r"""
changes:
  description: What was not as it should be, a line each.
  type: list
  elements: str
  returned: always
"""

import grp
import os
import stat
from pathlib import Path
from typing import Iterator

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import host_files
from ansible.module_utils.rackmark.node import hccn
from ansible.module_utils.rackmark.node.vendors import VENDORS

TOOL_FOLDERS = ["/usr/local/Ascend/driver/tools"]
CONF = Path("/etc/hccn.conf")
ASCEND = VENDORS["ascend"]
SECONDS = 30


def wrong_rights(group: str, mode: int) -> Iterator[Path]:
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError:
        number = -1  # check mode on a host that does not have it yet
    for path in sorted(Path("/dev").iterdir()):
        if ASCEND.device_name.fullmatch(path.name) or path.name in ASCEND.common_files:
            state = path.stat()
            if (state.st_gid, stat.S_IMODE(state.st_mode)) != (number, mode):
                yield path


def give(path: Path, group: str, mode: int) -> None:
    os.chown(path, -1, grp.getgrnam(group).gr_gid)
    path.chmod(mode)


class Tool:
    def __init__(self, module: AnsibleModule, path: str) -> None:
        self.module = module
        self.path = path

    def run(self, arguments: list[str]) -> str:
        status, output, errors = self.module.run_command(["timeout", str(SECONDS), self.path, *arguments])
        if status != 0:
            said = (output + errors).strip() or "nothing"
            raise ValueError(f"'hccn_tool {' '.join(arguments)}' failed with status {status} and said: {said}")
        return output

    def has(self, device: int, setting: hccn.Setting) -> bool:
        # A device without a value makes the tool fail or say nothing, so only what it says counts.
        _, output, _ = self.module.run_command(["timeout", str(SECONDS), self.path, *setting.asking(device)])
        return setting.as_said(output) == setting.values


def set_addresses(module: AnsibleModule, devices: list[list[hccn.Setting]]) -> Iterator[str]:
    path = module.get_bin_path("hccn_tool", opt_dirs=TOOL_FOLDERS)
    if path is None and not module.check_mode:
        raise ValueError(
            "This host has no hccn_tool, so the addresses of its devices cannot be set. It comes with the Ascend"
            " driver: name that in ascend_packages, or install it."
        )
    tool = Tool(module, path) if path else None
    for number, device in enumerate(devices):
        for setting in device:
            if tool and tool.has(number, setting):
                continue
            if tool and not module.check_mode:
                tool.run(setting.setting(number))
                if not tool.has(number, setting):
                    raise ValueError(
                        f"hccn_tool took {setting.option} {' '.join(setting.values.values())} for device {number}, and"
                        f" says something else when asked: look at 'hccn_tool {' '.join(setting.asking(number))}'."
                    )
            yield f"device {number}: {setting.option} {' '.join(setting.values.values())}"


def keep_addresses(module: AnsibleModule, devices: list[list[hccn.Setting]]) -> Iterator[str]:
    old = host_files.read(CONF) or ""
    new = hccn.merged_conf(old, hccn.conf_values(devices))
    if new != old:
        if not module.check_mode:
            host_files.Prepared(host_files.Wanted(CONF, content=new), new).land()
        yield f"{CONF}: " + ", ".join(sorted(set(new.splitlines()) - set(old.splitlines())))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "group": {"type": "str", "required": True},
            "mode": {"type": "str", "default": "0660"},
            "addresses": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "address": {"type": "str", "required": True},
                    "gateway": {"type": "str"},
                    "detect": {"type": "str"},
                },
            },
            "count": {"type": "int", "required": True},
        },
        supports_check_mode=True,
    )
    group, mode, addresses = module.params["group"], int(module.params["mode"], 8), module.params["addresses"]
    if addresses and len(addresses) != module.params["count"]:
        module.fail_json(
            msg=f"This host has {module.params['count']} Ascend devices and ascend_device_addresses names"
            f" {len(addresses)}: give one for each, in the order of their numbers, or none."
        )
    changes = []
    try:
        for path in wrong_rights(group, mode):
            changes.append(f"{path}: group {group}, mode {mode:04o}")
            if not module.check_mode:
                give(path, group, mode)
        if addresses:
            devices = [hccn.settings(entry) for entry in addresses]
            changes += set_addresses(module, devices)
            changes += keep_addresses(module, devices)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(changes),
        changes=changes,
        diff={"header": "Ascend devices", "before": "", "after": "".join(f"{change}\n" for change in changes)},
    )


if __name__ == "__main__":
    main()
