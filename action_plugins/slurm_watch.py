"""Ansible action: follow a run's jobs to their end, showing how far they are."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 10.0
SHOW_EVERY = 10.0


class ActionModule(ActionBase):
    """Asks with the module slurm_jobs, one query for all jobs each time and ever less often.

    Only watches: ending it (Ctrl-C, a lost connection) leaves the jobs alone.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        began = time.monotonic()
        shown = began - SHOW_EVERY
        pause = FIRST_PAUSE
        while True:
            answer = self._execute_module("slurm_jobs", module_args=self._task.args, task_vars=task_vars)
            if answer.get("failed"):
                return {**result, **answer}
            now = time.monotonic()
            if now - shown >= SHOW_EVERY or answer["done"]:
                minutes, seconds = divmod(int(now - began), 60)
                self._display.display(f"           {minutes:2d}:{seconds:02d}  {answer['progress']}")
                shown = now
            if answer["done"]:
                return {**result, **answer, "seconds": round(now - began, 1)}
            time.sleep(pause)
            pause = min(pause * 1.3, LONGEST_PAUSE)
