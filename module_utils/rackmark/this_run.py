"""What the playbook that runs now knows of its hosts and has changed on them.

The callback plugin `this_run` keeps it in Ansible's main process; actions read it in the processes forked from that.
Without the callback nothing is known, and every task is carried out.
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from . import settled

# A playbook may wait for hours, as rolling.yml does for jobs; what was looked at before that says nothing.
LONGEST_SECONDS = 600.0

_found: dict[str, tuple[float, Mapping[str, str]]] = {}


def looked_at(host: str, holding: Mapping[str, str]) -> None:
    _found[host] = (time.monotonic(), holding)


def touched(host: str) -> None:
    """Something on the host is no longer as it was when it was looked at."""
    if host in _found:
        looked_at(host, {})


def holding(host: str) -> Mapping[str, str] | None:
    """Digests by task of what is settled on a host; None where nobody has looked."""
    if host not in _found:
        return None
    moment, found = _found[host]
    return found if time.monotonic() - moment < LONGEST_SECONDS else {}


class PassesOver:
    """An action that passes its task over where the host is known to be as the arguments say."""

    _task: Any
    nothing_done: Mapping[str, Any] = {}

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)  # type: ignore[misc]
        note = self.note(task_vars)
        if note is None:
            return {**result, "changed": False, **self.nothing_done}
        return {**result, **self.carry_out({**self._task.args, **note}, task_vars)}

    def carry_out(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        done: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)  # type: ignore[attr-defined]
        return done

    def note(self, task_vars: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Arguments for the module, which notes that it is done; None where it noted just that before, and that holds.

        A task with secrets has no digest: they could be guessed from it.
        """
        found = holding(self._task.delegate_to or (task_vars or {}).get("inventory_hostname", ""))
        if found is None or self._task.no_log:
            return {}
        task = settled.task_name(self._task.get_name())
        digest = settled.digest(self._task.action, self._task.args)
        return None if found.get(task) == digest else {"settled": {"task": task, "digest": digest}}
