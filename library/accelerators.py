#!/usr/bin/python
"""Ansible module: which accelerators a host carries."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accelerators
short_description: Facts about a host's accelerators, and whether its cgroups can confine jobs to some of them
description:
  - Reads the PCI bus; needs no driver, no vendor's tool and no root.
  - Virtual functions are not counted beside the device that they are a part of.
options:
  vendor:
    description:
      - The operator's word where C(auto) is not wanted or cannot decide, as on a host with two kinds.
      - A host that has no such device, and for which no C(count) is given, has none whatever is said here.
    type: str
    choices: [auto, nvidia, ascend, none]
    default: auto
  count:
    description: The operator's word on how many there are, or C(auto).
    type: str
    default: auto
attributes:
  check_mode:
    support: full
    details: Only reads.
"""

EXAMPLES = r"""
- name: Know the accelerators
  accelerators:
    vendor: "{{ cluster_accelerator | default('auto') }}"
    count: "{{ cluster_devices_per_node | default('auto') }}"
"""

RETURN = r"""
ansible_facts:
  description: The facts C(accelerators) and C(cgroups).
  type: dict
  returned: always
  contains:
    accelerators:
      description: What the host carries, with the operator's word already counted in.
      type: dict
      returned: always
      contains:
        vendor:
          description: C(nvidia), C(ascend) or C(none).
          type: str
          returned: always
        count:
          description: How many devices. Without a PCI bus to look at it is the number of device files.
          type: int
          returned: always
        model:
          description: Their model; null where the device id is unknown, or they differ.
          type: str
          returned: always
        ids:
          description: PCI ids of these devices, each once.
          type: list
          elements: str
          returned: always
          sample: ['10de:2330']
        devices:
          description: Device files that are there; without a driver there are none.
          type: list
          elements: str
          returned: always
          sample: [/dev/nvidia0, /dev/nvidia1]
        found:
          description: Devices on the PCI bus by vendor, whatever the operator said.
          type: dict
          returned: always
          sample: {nvidia: 2, ascend: 0}
    cgroups:
      description: Whether Slurm can make cgroups on this host.
      type: dict
      returned: always
      contains:
        version:
          description: Version of the cgroups that Slurm would use, 0 for none.
          type: int
          returned: always
        fault:
          description: What keeps Slurm from that; null for nothing.
          type: str
          returned: always
          sample: cgroups are read-only (/sys/fs/cgroup/cpuset)
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import accelerators, cgroups


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "vendor": {"type": "str", "choices": ["auto", "nvidia", "ascend", "none"], "default": "auto"},
            "count": {"type": "str", "default": "auto"},
        },
        supports_check_mode=True,
    )
    try:
        facts = accelerators.facts(accelerators.read_bus(), module.params["vendor"], module.params["count"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts={"accelerators": facts, "cgroups": cgroups.facts()})


if __name__ == "__main__":
    main()
