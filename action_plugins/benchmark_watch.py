"""Ansible action: follow the jobs of a run to their end, showing how far they are."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any, Mapping

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.run.queues import DEFAULT, TRAITS
from rackmark.run.watched import Watched, to_be_told
from rackmark.terminal import INDENT, clock, say, window

FIRST_WAIT = 2.0
LONGEST_WAIT = 10.0
SHOW_EVERY = 5.0
LOG_EVERY = 300.0
PAUSE = 2.0
_OF_THE_SYSTEM = re.compile(r"\[Errno \d+\] *([^\n]+)")


class ActionModule(ActionBase):
    """Asks with the module benchmark_jobs, one query for all jobs of a run each time and ever less often.

    Only watches: ending it (Ctrl-C, a lost connection) leaves the jobs alone. Logs are read here, because the hosts may
    lack what that takes.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        patience, suite_id = float(arguments.pop("patience", 600)), str(arguments.pop("suite_id", ""))
        self._began = time.monotonic()
        runs = _runs(arguments, self._began)
        again = _again(arguments["launcher"], runs[0].plan["run_id"], suite_id)
        self._say(f"Ctrl-C leaves the jobs alone; {again}.")
        wait, over, longest_silence = 0.0, 0, TRAITS[arguments["launcher"]].silence
        while True:
            for run in (run for run in runs if not run.done):
                asked = {"wait": wait / len(runs), "give_up": run.given_up(patience, time.monotonic())}
                answer = self._ask({**run.arguments, **asked}, task_vars)
                if answer.get("failed"):
                    return {**result, **answer, "msg": f"{error_in(answer)} The jobs go on; {again}."}
                run.learn(answer, time.monotonic())
                if not answer["answered"]:
                    time.sleep(PAUSE)
            now, done = time.monotonic(), all(run.done for run in runs)
            for run in to_be_told(runs, now, SHOW_EVERY if window().live else LOG_EVERY):
                name = f"{runs.index(run) + 1}/{len(runs)} {run.plan['workload']}: " if len(runs) > 1 else ""
                self._show(run, now, name)
            if len(runs) > 1 and over != (over := sum(run.done for run in runs)):
                self._say(f"{clock(now - self._began)}  {over} of {len(runs)} runs done")
            if done:
                states = {name: state for run in runs for name, state in run.states.items()}
                return {**result, "changed": False, "states": states, "seconds": round(now - self._began, 1)}
            silent = [run for run in runs if not run.done and now - run.answered > longest_silence]
            if silent:
                why = "; ".join(silent[0].troubles)
                msg = f"There was no answer for {longest_silence / 60:.0f} min: {why}. The jobs go on; {again}."
                return {**result, "failed": True, "msg": msg}
            wait = min(max(wait * 1.3, FIRST_WAIT), LONGEST_WAIT)

    def _ask(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """What may be over in a while ends no watch: a lost connection, and whatever a system refuses with a number."""
        try:
            beside = self._task.action.replace("benchmark_watch", "benchmark_jobs")  # of the same collection
            answer: dict[str, Any] = self._execute_module(beside, module_args=arguments, task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            said = str(error.message).strip().splitlines()[-1:]
            return _no_answer(f"The connection is lost ({' '.join(said)})")
        except (AnsibleError, OSError) as error:
            refused = _OF_THE_SYSTEM.search(str(error))
            if refused is None:
                raise
            return _no_answer(f"The jobs cannot be asked about ({refused[1]})")
        refused = _OF_THE_SYSTEM.search(error_in(answer)) if answer.get("failed") else None
        return answer if refused is None else _no_answer(f"The jobs cannot be asked about ({refused[1]})")

    def _show(self, run: Watched, now: float, name: str) -> None:
        begin = f"{clock(now - self._began)}  {name}"
        self._say(begin + run.tell(now, window().columns - len(INDENT) - len(begin)))

    def _say(self, text: str) -> None:
        say(text, self._display.display)


def _again(launcher: str, run_id: str, suite_id: str) -> str:
    """How to follow the jobs again. Who has a playbook of its own takes the launcher from the run's record."""
    if TRAITS[launcher].playbook:
        return f"resume the run with {TRAITS[launcher].playbook} -e run_id={run_id}"
    what = f"the suite with -e suite_id={suite_id}" if suite_id else f"the run with -e run_id={run_id}"
    return f"resume {what}" + ("" if launcher == DEFAULT else f" -e launcher={launcher}")


def _no_answer(trouble: str) -> dict[str, Any]:
    return {"done": False, "answered": False, "troubles": [trouble], "states": {}, "quiet": {}, "stuck": {}}


def _runs(arguments: dict[str, Any], now: float) -> list[Watched]:
    """One run, or all of a suite."""
    if "plans" not in arguments:
        return [Watched(arguments["plan"], arguments, now)]
    plans, folder = arguments.pop("plans"), Path(arguments.pop("runs"))
    of_run = [{**arguments, "plan": plan, "run_dir": str(folder / plan["run_id"])} for plan in plans]
    return [Watched(each["plan"], each, now) for each in of_run]


def error_in(answer: Mapping[str, Any]) -> str:
    """What a module that failed has said: its sentence, else the end of what Python said."""
    if answer.get("msg"):
        return str(answer["msg"])
    said = str(answer.get("exception") or answer.get("module_stderr") or answer.get("module_stdout") or "")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"The module benchmark_jobs failed: {lines[-1] if lines else 'it has not said why'}."
