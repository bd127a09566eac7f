#!/usr/bin/python
"""Ansible module: what the playbooks need to know of a host, in one login."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Facts about a host and its accelerators, and what is settled on it
description:
  - Those of Ansible's own facts that the roles use, under their usual names, with nothing asked that takes long.
  - Finds accelerators on the PCI bus; needs no driver and no vendor's tool.
  - Says which tasks of an earlier run have left nothing to do, because their files, packages and services are as they
    were then. Actions such as that of C(host_files) then need no login. Only root is told.
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
  accelerators:
    description: Whether to look for accelerators.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    details: Only reads.
"""

EXAMPLES = r"""
- name: Gather facts
  host_facts:
    vendor: "{{ cluster_accelerator | default('auto') }}"
    count: "{{ cluster_devices_per_node | default('auto') }}"
"""

RETURN = r"""
settled:
  description: Digests of what is settled, by task.
  type: dict
  returned: always
ansible_facts:
  description: >-
    Ansible's facts about date, distribution, platform, processors, memory, network, SSH keys and virtualization; and
    C(accelerators) and C(cgroups), where accelerators are looked for.
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
      returned: with O(accelerators)
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

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.facts.hardware.linux import LinuxHardware
from ansible.module_utils.facts.network.linux import LinuxNetwork
from ansible.module_utils.facts.system.date_time import DateTimeFactCollector
from ansible.module_utils.facts.system.distribution import DistributionFactCollector
from ansible.module_utils.facts.system.platform import PlatformFactCollector
from ansible.module_utils.facts.system.ssh_pub_keys import SshPubKeyFactCollector
from ansible.module_utils.facts.virtual.linux import LinuxVirtual
from ansible.module_utils.rackmark import accelerators, cgroups, settled


def system_facts(module: AnsibleModule) -> dict[str, Any]:
    """As C(ansible.builtin.setup) names them, without its disks, mounts and volumes, which take most of its time."""
    found: dict[str, Any] = {}
    for collector in (
        PlatformFactCollector,
        DistributionFactCollector,
        DateTimeFactCollector,
        SshPubKeyFactCollector,
    ):
        found.update(collector().collect(module, found))
    named = {f"ansible_{name}": value for name, value in found.items()}
    hardware = LinuxHardware(module)
    found.update(hardware.get_cpu_facts(collected_facts=named))
    found.update(hardware.get_memory_facts())
    network = LinuxNetwork(module)
    network.get_ethtool_data = lambda device: {}  # which takes two processes for each interface
    found.update(network.populate(named))
    found.update(LinuxVirtual(module).populate(named))
    return {f"ansible_{name.replace('-', '_').replace(':', '_')}": value for name, value in found.items()}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "vendor": {"type": "str", "choices": ["auto", "nvidia", "ascend", "none"], "default": "auto"},
            "count": {"type": "str", "default": "auto"},
            "accelerators": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    asked = module.params
    try:
        facts = system_facts(module)
        if asked["accelerators"]:
            facts["accelerators"] = accelerators.facts(accelerators.read_bus(), asked["vendor"], asked["count"])
            facts["cgroups"] = cgroups.facts()
        holding = settled.holding()
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts=facts, settled=holding)


if __name__ == "__main__":
    main()
