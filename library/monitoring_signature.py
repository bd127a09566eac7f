#!/usr/bin/python
"""Ansible module: a certificate for a host's exporters, signed on the monitoring server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitoring_signature
short_description: Sign the certificate that a host's exporters show
description:
  - Runs where M(monitoring_secrets) keeps the authority's key. The certificate is for C(names), whatever the request
    says.
options:
  request:
    description: The host's request, as returned by M(monitoring_certificate).
    type: str
    required: true
  names:
    description: Names and addresses of the host.
    type: list
    elements: str
    required: true
  folder:
    description: Where the authority is kept.
    type: path
    default: /etc/rackmark/monitoring
attributes:
  check_mode:
    support: full
    details: Signs nothing.
  diff_mode:
    support: none
"""

EXAMPLES = r"""
- name: Sign the certificate of a host
  monitoring_signature:
    request: "{{ certificate.request }}"
    names: [node1, 192.0.2.11]
  delegate_to: "{{ groups['monitoring_server'][0] }}"
"""

RETURN = r"""
certificate:
  description: The signed certificate.
  type: str
  returned: always
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.monitoring.certificates import Openssl


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "request": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "folder": {"type": "path", "default": "/etc/rackmark/monitoring"},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=True, certificate="")
    openssl = Openssl(lambda command, text: module.run_command(list(command), data=text))
    folder = Path(module.params["folder"])
    try:
        certificate = openssl.sign(
            module.params["request"], module.params["names"], folder / "ca.pem", folder / "ca.key"
        )
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"The monitoring server did not sign: {error}")
    module.exit_json(changed=True, certificate=certificate)


if __name__ == "__main__":
    main()
