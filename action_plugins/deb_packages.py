"""Ansible action: install packages, and wait, with a word, for whoever else is at work with apt or dpkg."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase

PATIENCE = 900.0
PAUSE = 2.0
LONGEST_PAUSE = 10.0


class ActionModule(ActionBase):
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        host = (task_vars or {}).get("inventory_hostname", "this host")
        began, said, pause = time.monotonic(), "", PAUSE
        while True:
            done: dict[str, Any] = {**result, **self._execute_module(task_vars=task_vars)}
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
