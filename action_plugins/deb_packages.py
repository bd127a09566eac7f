"""Ansible action: install packages, without a login where they are known to be installed.

Waits, with a word, for whoever else is at work with apt or dpkg.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.this_run import PassesOver

PATIENCE = 900.0
PAUSE = 2.0
LONGEST_PAUSE = 10.0


class ActionModule(PassesOver, ActionBase):
    nothing_done = {"installed": []}

    def carry_out(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        host = (task_vars or {}).get("inventory_hostname", "this host")
        began, said, pause = time.monotonic(), "", PAUSE
        while True:
            done: dict[str, Any] = super().carry_out(arguments, task_vars)
            busy = done.get("busy")
            if not busy:
                return done
            if time.monotonic() - began > PATIENCE:
                msg = (
                    f"Packages of {host} are still held by {busy} after {PATIENCE / 60:.0f} minutes: look at it there"
                    " with ps, let it end or stop it, and run again."
                )
                return {**done, "failed": True, "msg": msg}
            if busy != said:
                self._display.display(
                    f"\n           {host}: waiting for {busy}, which is at work with packages", newline=False
                )
                said = busy
            time.sleep(pause)
            pause = min(pause * 1.3, LONGEST_PAUSE)
