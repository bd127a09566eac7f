#!/usr/bin/python
"""Ansible module: the certificate that a host's exporters show."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitoring_certificate
short_description: Look after the certificate of a host's exporters
description:
  - Without C(certificate), looks whether the host has one that is signed by C(ca), is for C(names), belongs to its key
    and has 60 days left. Where it has not, makes a key and returns a request for M(monitoring_signature). The old key
    and certificate stay in use until then.
  - With C(certificate), puts it and its key in place.
  - The key is made on the host and never leaves it.
options:
  ca:
    description: Certificate of the authority that has to have signed it.
    type: str
    required: true
  names:
    description: Names and addresses of this host.
    type: list
    elements: str
    required: true
  certificate:
    description: The signed certificate.
    type: str
  folder:
    description: Where key and certificate are kept.
    type: path
    default: /etc/rackmark/monitoring
  metric_file:
    description: File of node_exporter's textfile collector that says when the certificate ends.
    type: path
    default: /var/lib/prometheus/node-exporter/rackmark-certificate.prom
  settled:
    description: Set by the action of the same name, which passes over the task where an earlier run has noted that it is done.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
  diff_mode:
    support: none
    details: A key is never shown.
"""

EXAMPLES = r"""
- name: Look at the certificate
  monitoring_certificate:
    ca: "{{ monitoring.ca }}"
    names: [node1, 192.0.2.11]
  register: certificate

- name: Install the one that was signed
  monitoring_certificate:
    ca: "{{ monitoring.ca }}"
    names: [node1, 192.0.2.11]
    certificate: "{{ signed.certificate }}"
"""

RETURN = r"""
request:
  description: What has to be signed; empty when the certificate is as it should be, and in check mode.
  type: str
  returned: always
reason:
  description: Why another certificate is needed; empty when none is.
  type: str
  returned: always
"""

import shutil
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import settled
from ansible.module_utils.rackmark.host_files import Change, Wanted, make, read
from ansible.module_utils.rackmark.monitoring.certificates import Openssl, expiry_metric, why_renewed

GROUP = "rackmark-exporter"
DAY = 86400


class Host:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.openssl = Openssl(lambda command, text: module.run_command(list(command), data=text))
        folder = Path(module.params["folder"])
        self.key, self.certificate, self.next_key = (
            folder / name for name in ("key.pem", "certificate.pem", "next-key.pem")
        )

    def look(self) -> dict[str, object]:
        params = self.module.params
        if self.module.check_mode and not shutil.which("openssl"):
            return {"changed": True, "request": "", "reason": "there is none yet"}
        key, certificate = read(self.key), read(self.certificate)
        reason = why_renewed(self.openssl, certificate, key, params["ca"], params["names"], time.time())
        if not reason:
            wanted = self.files(key or "", certificate or "")
            changed = self.write(wanted)
            if not self.module.check_mode:
                settled.note(params["settled"], files=[file.path for file in wanted], until=time.time() + DAY)
            return {"changed": changed, "request": "", "reason": ""}
        if self.module.check_mode:
            return {"changed": True, "request": "", "reason": reason}
        next_key = self.openssl.new_key()
        self.write([Wanted(self.next_key, content=next_key, mode="0600")])
        request = self.openssl.request(next_key, params["names"][0])
        return {"changed": True, "request": request, "reason": reason}

    def install(self, certificate: str) -> dict[str, object]:
        params = self.module.params
        key = read(self.next_key)
        fault = why_renewed(self.openssl, certificate, key, params["ca"], params["names"], time.time())
        if fault:
            raise ValueError(f"the certificate that was signed for it cannot be used: {fault}. Run the role again")
        changed = self.write([*self.files(key or "", certificate), Wanted(self.next_key, absent=True)])
        return {"changed": changed, "request": "", "reason": ""}

    def files(self, key: str, certificate: str) -> list[Wanted]:
        expires = self.openssl.read(certificate).expires
        return [
            Wanted(self.key, content=key, group=GROUP, mode="0640"),
            Wanted(self.certificate, content=certificate),
            Wanted(Path(self.module.params["metric_file"]), content=expiry_metric(expires)),
        ]

    def write(self, wanted: list[Wanted]) -> bool:
        changes = [change for change in map(Change, wanted) if change.needed]
        if not self.module.check_mode:
            make(changes, self.module.run_command)
        return bool(changes)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "ca": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "certificate": {"type": "str"},
            "folder": {"type": "path", "default": "/etc/rackmark/monitoring"},
            "metric_file": {"type": "path", "default": "/var/lib/prometheus/node-exporter/rackmark-certificate.prom"},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    host, certificate = Host(module), module.params["certificate"]
    try:
        result = host.install(certificate) if certificate else host.look()
    except LookupError:
        module.fail_json(msg=f"There is no group {GROUP} on this host: run the role monitoring_access as a whole.")
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"This host has no certificate for its exporters: {error}.")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
