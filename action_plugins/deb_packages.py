"""Ansible action: install packages, without a login where they are known to be installed.

Waits, with a word, for whoever else is at work with apt or dpkg.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar, Mapping

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import package_lock, this_run
from rackmark.this_run import PassesOver


class ActionModule(PassesOver, ActionBase):
    nothing_done: ClassVar[dict[str, Any]] = {"installed": []}
    follow_changes = ("refresh",)

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        if not (result.get("failed") or self._task.check_mode):
            result["packages_present"] = list(self._task.args["names"])
        return result

    def note(self, task_vars: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if this_run.has_packages(self.host(task_vars), self._task.args["names"]):
            return None
        return super().note(task_vars)

    def carry_out(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        host = (task_vars or {}).get("inventory_hostname", "this host")

        def ask() -> dict[str, Any]:
            done: dict[str, Any] = super(ActionModule, self).carry_out(arguments, task_vars)
            return done

        return package_lock.when_free(ask, host, lambda text: self._display.display(text, newline=False))
