#!/usr/bin/python
"""Ansible module: what a service has to say for itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_words
short_description: Read why a service does not run
description:
  - Returns what a service of this host last said about itself, from its log file or the journal, in a sentence.
  - Nothing is changed.
options:
  name:
    description: Name of the service.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    details: Only reads.
"""

EXAMPLES = r"""
- name: Read why slurmd does not run
  service_words:
    name: slurmd
"""

RETURN = r"""
state:
  description: What systemd says of the service, or that it has to start it again and again.
  type: str
  returned: always
  sample: failed
said:
  description: Its last error line or lines, and where more is written.
  type: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import service_wait


def main() -> None:
    module = AnsibleModule(argument_spec={"name": {"type": "str", "required": True}}, supports_check_mode=True)
    service = service_wait.Service(module.params["name"], module.run_command)
    module.exit_json(changed=False, state=service.life().word, said=service.last_words())


if __name__ == "__main__":
    main()
