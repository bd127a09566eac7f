#!/usr/bin/python
"""Documentation of the action clock_skew, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clock_skew
short_description: Whether the clocks of the hosts agree
description:
  - Without C(reference), reads a host's clock over its connection. With it, also compares the two and fails where they
    are surely further apart than C(limit).
  - How long the connection takes is measured and does not count as a difference.
  - In check mode clocks that disagree are a warning.
options:
  reference:
    description: What this action returned for the host to compare with.
    type: dict
  of:
    description: Name of that host, for what is said.
    type: str
  limit:
    description: Seconds that clocks may be apart.
    type: float
    default: 1
  wait:
    description: Seconds to give a clock that is being set right.
    type: float
    default: 0
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Read the reference clock
  clock_skew:
  delegate_to: head
  run_once: true
  register: leading

- name: Compare the clocks
  clock_skew:
    reference: "{{ leading }}"
    of: head
"""

RETURN = r"""
offset:
  description: Seconds that the host's clock is ahead of that of the machine which asks.
  type: float
  returned: success
error:
  description: How far that may be wrong.
  type: float
  returned: success
skew:
  description: Seconds that the host's clock is ahead of the reference.
  type: float
  returned: with a reference
"""
