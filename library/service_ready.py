#!/usr/bin/python
"""Ansible module: whether a service that was started answers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_ready
short_description: Wait until a service answers
description:
  - Waits as long as the service is alive and may still come up. One that has ended, or that systemd has to start again
    and again, is not waited for.
  - The failure carries what the service itself last said, from its log file or the journal.
  - Asks at C(url) or C(address). Without them the service is ready when it listens on a TCP port.
  - Nothing is changed. In check mode nothing is asked.
options:
  name:
    description: Name of the service.
    type: str
    required: true
  address:
    description: Where it listens, as C(host:port). No host, C(0.0.0.0) and C(::) are this host itself.
    type: str
  url:
    description: Where it answers with status 200 when it is ready. No proxy is used.
    type: str
  ca_path:
    description: File with the certificate that vouches for that of the service.
    type: path
  user:
    description: User to log in with.
    type: str
  password_file:
    description: File on the host that holds the password and nothing else.
    type: path
  timeout:
    description: Seconds that a service which is alive may take.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Wait until Prometheus is ready
  service_ready:
    name: prometheus
    url: http://127.0.0.1:9090/-/ready

- name: Wait until slurmd listens
  service_ready:
    name: slurmd
"""

RETURN = r"""
seconds:
  description: How long it took.
  type: float
  returned: when it answers
"""

import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import service_wait
from ansible.module_utils.urls import open_url

ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}


def url_fault(module: AnsibleModule) -> str | None:
    wanted = module.params
    password = Path(wanted["password_file"]).read_text().strip() if wanted["password_file"] else None
    try:
        with open_url(
            wanted["url"],
            use_proxy=False,
            timeout=10,
            ca_path=wanted["ca_path"],
            url_username=wanted["user"],
            url_password=password,
            force_basic_auth=bool(wanted["user"]),
        ) as answer:
            return None if answer.status == 200 else f"status {answer.status}"
    except Exception as error:
        return str(error)


def fault(module: AnsibleModule, service: service_wait.Service) -> str | None:
    if module.params["url"]:
        return url_fault(module)
    if module.params["address"]:
        host, _, port = module.params["address"].rpartition(":")
        return service_wait.answers_at(f"{ANY_ADDRESS.get(host, host)}:{port}")
    return None if service.listens() else "it listens on no port"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "address": {"type": "str"},
            "url": {"type": "str"},
            "ca_path": {"type": "path"},
            "user": {"type": "str"},
            "password_file": {"type": "path", "no_log": False},
            "timeout": {"type": "int", "default": service_wait.PATIENCE},
        },
        mutually_exclusive=[("address", "url")],
        required_together=[("user", "password_file")],
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, seconds=0.0)
    name, where = module.params["name"], module.params["url"] or module.params["address"]
    service = service_wait.Service(name, module.run_command)
    began = time.monotonic()
    try:
        wrong = service_wait.wait(service, lambda: fault(module, service), module.params["timeout"])
    except OSError as error:
        module.fail_json(msg=f"{name} cannot be asked whether it is ready: {error}")
    if wrong:
        module.fail_json(msg=f"{name}{f' at {where}' if where else ''} {wrong}")
    module.exit_json(changed=False, seconds=round(time.monotonic() - began, 2))


if __name__ == "__main__":
    main()
