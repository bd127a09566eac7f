"""Ansible action: build a workload's Python environment, showing how far it is.

An environment that is there costs one look. While one is built, which takes minutes, a second connection reads what pip
writes into its log.
"""

from __future__ import annotations

import copy
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.environments.build_progress import log_of, stage
from rackmark.terminal import clock, say, window

ASK_EVERY = 5.0
SHOW_EVERY = 10.0  # where nothing new is done
LOG_EVERY = 60.0
_END_OF_LOG = 65536  # bytes


class ActionModule(ActionBase):
    """Runs the module benchmark_environment, and adds `has_told` to its result where lines came before it."""

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        wanted = self._task.check_mode
        self._task.check_mode = True
        seen = self._execute_module(task_vars=task_vars)
        self._task.check_mode = wanted
        if wanted or seen.get("failed") or not seen.get("changed"):
            return {**result, **seen}
        progress = _Progress(self, Path(seen["path"]))
        progress.start()
        try:
            answer = self._execute_module(task_vars=task_vars)
        finally:
            progress.ended.set()
            progress.join()
        return {**result, **answer, **({"has_told": True} if progress.has_told else {})}

    def with_own_connection(self) -> ActionModule:
        """For another thread: a connection and a `become` each remember what they wait for."""
        other = copy.copy(self)
        other._connection = copy.copy(self._connection)
        other._connection.become = copy.copy(self._connection.become)
        return other


class _Progress(threading.Thread):
    """Tells of a build what changes, and now and then that it still goes on. That it cannot tell stops no build."""

    def __init__(self, action: ActionModule, path: Path) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.has_told = False
        self._action = action.with_own_connection()
        self._path = path

    def run(self) -> None:
        began = told_at = time.monotonic()
        told = None
        while not self.ended.wait(ASK_EVERY):
            try:
                doing, size = self._look()
            except Exception as error:  # whatever a connection raises
                self._action._display.vv(f"The progress of the build cannot be read: {error}")
                continue
            now, doing = time.monotonic(), doing or told
            if doing is not None and (doing != told or now - told_at > (SHOW_EVERY if window().live else LOG_EVERY)):
                self._tell(f"{clock(now - began)}  {doing}; {size} MB so far")
                told, told_at = doing, now

    def _look(self) -> tuple[str | None, str]:
        """What is done, and how large the environment is."""
        path, log = (shlex.quote(str(each)) for each in (self._path, log_of(self._path)))
        command = f"tail -c {_END_OF_LOG} {log} 2>/dev/null; echo; du -sm {path} 2>/dev/null | cut -f1"
        end_of_log, _, size = str(self._action._low_level_execute_command(command)["stdout"]).rstrip().rpartition("\n")
        return stage(end_of_log), size.strip() or "0"

    def _tell(self, text: str) -> None:
        if not self.has_told:
            self._action._display.display("")  # ends the line with the task's name
            self.has_told = True
        say(text, self._action._display.display)
