#!/usr/bin/python
"""Ansible module: the certificate authority and the password of monitoring, on the monitoring server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitoring_secrets
short_description: Keep the certificate authority and the password that exporters are read with
description:
  - Makes a certificate authority and a password where there are none, and leaves them alone afterwards. A certificate
    authority that would end before the certificates it signs is replaced.
  - The authority's key can be read by root alone, the password by root and the group C(rackmark-exporter).
  - The result holds the password's bcrypt hash, not the password. Use C(no_log) on the task.
options:
  name:
    description: Name of the cluster, for the authority's own name.
    type: str
    required: true
  password:
    description: The password to use. Empty keeps the one that is there, or makes one.
    type: str
    default: ''
  rotate:
    description: Make a new authority, and a new password unless C(password) says which.
    type: bool
    default: false
  folder:
    description: Where all of it is kept.
    type: path
    default: /etc/rackmark/monitoring
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: A secret is never shown.
"""

EXAMPLES = r"""
- name: Make the certificate authority and the password
  monitoring_secrets:
    name: rackmark
  register: monitoring
  no_log: true
"""

RETURN = r"""
ca:
  description: The authority's certificate; empty in check mode where there is none yet.
  type: str
  returned: always
password_hash:
  description: The password's bcrypt hash; empty in check mode where there is none yet.
  type: str
  returned: always
"""

import shutil
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import password_rules
from ansible.module_utils.rackmark.host_files import Change, Wanted, make, read
from ansible.module_utils.rackmark.monitoring import certificates, passwords

GROUP = "rackmark-exporter"


class Secrets:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.rotate = module.params["rotate"]
        self.folder = Path(module.params["folder"])

    def authority(self) -> tuple[str, str]:
        """Its key and its certificate."""
        openssl = certificates.Openssl(lambda command, text: self.module.run_command(list(command), data=text))
        key, certificate = read(self.folder / "ca.key"), read(self.folder / "ca.pem")
        if not self.rotate and certificates.authority_serves(openssl, certificate, key, time.time()):
            return key or "", certificate or ""
        key = openssl.new_key()
        return key, openssl.new_authority(key, f"Monitoring of {self.module.params['name']}")

    def password(self) -> tuple[str, str]:
        """The password and its hash."""
        present, known = read(self.folder / "password"), read(self.folder / "password.bcrypt")
        kept = "" if self.rotate else present
        password = self.module.params["password"] or kept or passwords.new_password()
        return password, known if known and passwords.matches(password, known) else passwords.hashed(password)

    def files(self) -> list[Wanted]:
        ca_key, ca = self.authority()
        password, password_hash = self.password()
        return [
            Wanted(self.folder / "ca.key", content=ca_key, mode="0600"),
            Wanted(self.folder / "ca.pem", content=ca),
            Wanted(self.folder / "password.bcrypt", content=password_hash, mode="0600"),
            Wanted(self.folder / "password", content=password, group=GROUP, mode="0640"),
        ]


def settle(module: AnsibleModule) -> dict[str, object]:
    if module.params["password"]:
        password_rules.MONITORING.check("monitoring_access_password", module.params["password"])
    if module.check_mode and not shutil.which("openssl"):
        return {"changed": True, "ca": "", "password_hash": ""}
    wanted = Secrets(module).files()
    changes = [change for change in map(Change, wanted) if change.needed]
    if module.check_mode:
        _, ca, known, _ = (read(file.path) or "" for file in wanted)
    else:
        make(changes, module.run_command)
        _, ca, known, _ = (str(file.content) for file in wanted)
    return {"changed": bool(changes), "ca": ca, "password_hash": known}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "password": {"type": "str", "default": "", "no_log": True},
            "rotate": {"type": "bool", "default": False},
            "folder": {"type": "path", "default": "/etc/rackmark/monitoring"},
        },
        supports_check_mode=True,
    )
    try:
        result = settle(module)
    except LookupError:
        module.fail_json(
            msg=f"There is no group {GROUP} on the monitoring server: run the role monitoring_access there first."
        )
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"The monitoring server keeps no secrets: {error}")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
