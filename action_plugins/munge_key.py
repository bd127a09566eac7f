"""Ansible action: install the munge key, without a login where it is known to be installed."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.this_run import PassesOver


class ActionModule(PassesOver, ActionBase):
    pass
