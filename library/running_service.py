#!/usr/bin/python
"""Ansible module: a service that runs with the files that are there now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: running_service
short_description: Run a service with its files as they are now
description:
  - Enables and starts a service, restarts it where a file that it reads at its start was written after it had started,
    and reloads it where that is enough.
  - It asks systemd and the files, not what earlier tasks of a play have changed. So a play that was cut off between
    writing and restarting is made good by the next one.
  - systemd reads its units again before the service starts.
options:
  name:
    description: Name of the service.
    type: str
    required: true
  restart_for:
    description: Files that it reads at its start. Those that are missing do not count.
    type: list
    elements: path
    default: []
  reload_for:
    description: Files that it reads when it is told to reload.
    type: list
    elements: path
    default: []
  settled:
    description: Set by the action of the same name, which passes over the task where an earlier run has noted that it is done.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Run Prometheus
  running_service:
    name: prometheus
    restart_for: [/etc/default/prometheus]
    reload_for: [/etc/prometheus/prometheus.yml]
"""

RETURN = r"""
action:
  description: C(start), C(restart), C(reload), or empty for a service that had what it needs.
  type: str
  returned: always
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import settled
from ansible.module_utils.rackmark.services import PROPERTIES, Service, action, parse, written


def systemctl(module: AnsibleModule, *words: str) -> str:
    status, output, errors = module.run_command(["systemctl", *words])
    if status != 0:
        name = module.params["name"]
        said = errors.strip().splitlines()[:1] or [f"exit status {status}"]
        module.fail_json(
            msg=f"'systemctl {' '.join(words)}' failed: {said[0]} Look at 'journalctl --unit {name}' on this host."
        )
    return str(output)


def known(module: AnsibleModule) -> Service:
    shown = systemctl(module, "show", f"--property={','.join(PROPERTIES)}", module.params["name"])
    return parse(shown, time.time(), time.monotonic())


def main() -> None:
    files = {"type": "list", "elements": "path", "default": []}
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "restart_for": files,
            "reload_for": files,
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    name = module.params["name"]
    service = known(module)
    if not service.exists and module.check_mode:
        module.exit_json(changed=True, action="start")
    wanted = action(service, written(module.params["restart_for"]), written(module.params["reload_for"]), time.time())
    if not module.check_mode:
        if wanted in ("start", "restart") or not service.exists:
            # Always: of a drop-in in a folder that is new systemd does not even say that it has not read it.
            systemctl(module, "daemon-reload")
        if not known(module).exists:
            module.fail_json(msg=f"This host has no service {name}: the package that brings it is not installed.")
        if not service.enabled:
            systemctl(module, "enable", name)
        if wanted:
            systemctl(module, wanted, name)
        settled.note(module.params["settled"], service=module.params)
    module.exit_json(changed=bool(wanted) or not service.enabled, action=wanted)


if __name__ == "__main__":
    main()
