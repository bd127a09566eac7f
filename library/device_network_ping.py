#!/usr/bin/python
"""Ansible module: pings from the Ascend devices of a host to all others."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_network_ping
short_description: Ping other Ascend devices from those of this host
description:
  - Each device of the host pings the others with C(hccn_tool), one at a time, all devices of the host at once. A ping
    that loses a packet is tried again before it counts.
  - Devices of other networks are left out where the pinging device has no gateway.
  - The order is such that whatever fits into O(seconds) is spread over all kinds of ways and all distances.
options:
  node:
    description: Name of this host in O(devices).
    type: str
    required: true
  devices:
    description: All devices that take part, in an order that all hosts are given alike.
    type: list
    elements: dict
    required: true
    suboptions:
      node:
        description: Host of the device.
        type: str
        required: true
      number:
        description: Number of the device on its host.
        type: int
        required: true
      address:
        description: Its address.
        type: str
        required: true
      network:
        description: Network of the address, empty where it is not known.
        type: str
        required: true
      has_gateway:
        description: Whether it has a way to other networks.
        type: bool
        required: true
  within_nodes:
    description: Whether devices of one host ping each other, too.
    type: bool
    default: true
  seconds:
    description: Time for all pings together; what does not fit is not tested.
    type: int
    required: true
attributes:
  check_mode:
    support: full
    description: Pings change nothing, and are sent.
author:
  - Rackmark
"""

EXAMPLES = r"""
- name: Ping the other devices
  device_network_ping:
    node: "{{ inventory_hostname }}"
    devices:
      - {node: node1, number: 0, address: 192.0.2.10, network: 192.0.2.0/24, has_gateway: false}
      - {node: node2, number: 0, address: 192.0.2.20, network: 192.0.2.0/24, has_gateway: false}
    seconds: 600
  register: device_pings
"""

RETURN = r"""
pings:
  description: For each device of this host what came of its pings.
  type: list
  elements: dict
  returned: success
  contains:
    place:
      description: Place of the device in O(devices).
      type: int
    marks:
      description: >-
        A letter for each of O(devices): C(+) reached, C(-) packets lost, C(?) no result, C(.) not tested for want of
        time, C(x) no way there, C(w) on the same host and left out, a space for itself.
      type: str
    milliseconds:
      description: >-
        Shortest time of the way there and back for each of O(devices), with commas between them; empty where there is
        none. (Of a thousand devices a million numbers would keep Ansible busy for minutes.)
      type: str
    said:
      description: By what was lost, or why there is no result, the places of other devices with commas between them.
      type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.node import ping_order
from ansible.module_utils.rackmark.node.device_pings import Ping, pings

NOT_TESTED = "."
NO_WAY = "x"
LEFT_OUT = "w"
ITSELF = " "


def marks(devices: list[ping_order.Device], own: int, queue: list[int], found: dict[int, Ping]) -> str:
    planned = set(queue)

    def mark(place: int) -> str:
        if place == own:
            return ITSELF
        if place in found:
            return found[place].mark
        if place in planned:
            return NOT_TESTED
        return LEFT_OUT if devices[place].node == devices[own].node else NO_WAY

    return "".join(map(mark, range(len(devices))))


def report(devices: list[ping_order.Device], own: int, queue: list[int], found: dict[int, Ping]) -> dict[str, Any]:
    return {
        "place": own,
        "marks": marks(devices, own, queue, found),
        "milliseconds": ",".join(_time(found.get(place)) for place in range(len(devices))),
        "said": {
            text: ",".join(str(place) for place, ping in found.items() if ping.said == text)
            for text in sorted({ping.said for ping in found.values() if ping.said})
        },
    }


def _time(ping: Ping | None) -> str:
    return "" if ping is None or ping.milliseconds is None else f"{ping.milliseconds:g}"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "node": {"type": "str", "required": True},
            "devices": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "node": {"type": "str", "required": True},
                    "number": {"type": "int", "required": True},
                    "address": {"type": "str", "required": True},
                    "network": {"type": "str", "required": True},
                    "has_gateway": {"type": "bool", "required": True},
                },
            },
            "within_nodes": {"type": "bool", "default": True},
            "seconds": {"type": "int", "required": True},
        },
        supports_check_mode=True,
    )
    devices = ping_order.read(module.params["devices"])
    own = [place for place, device in enumerate(devices) if device.node == module.params["node"]]
    queues = {place: ping_order.targets(devices, place, module.params["within_nodes"]) for place in own}
    try:
        found = pings(
            {devices[place].number: queue for place, queue in queues.items()},
            {place: device.address for place, device in enumerate(devices)},
            module.params["seconds"],
        )
    except OSError as error:
        module.fail_json(msg=f"{error}.")
    module.exit_json(
        changed=False,
        pings=[report(devices, place, queues[place], found[devices[place].number]) for place in own],
    )


if __name__ == "__main__":
    main()
