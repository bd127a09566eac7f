"""Ansible action: find what roles have left on a host, without a login where nothing is known to be there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.this_run import PassesOver


class ActionModule(PassesOver, ActionBase):
    nothing_done: ClassVar[dict[str, Any]] = {"found": []}
