"""Ansible action: follow the jobs of a run to their end, showing how far they are."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

FIRST_WAIT = 2.0
LONGEST_WAIT = 10.0
SHOW_EVERY = 5.0
LONGEST_SILENCE = 1800.0
PAUSE = 2.0


class ActionModule(ActionBase):
    """Asks with the module benchmark_jobs, one query for all jobs each time and ever less often.

    Only watches: ending it (Ctrl-C, a lost connection) leaves the jobs alone.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        patience = float(arguments.pop("patience", 600))
        launcher = "" if arguments["launcher"] == "slurm" else f" -e launcher={arguments['launcher']}"
        again = f"take the run up again with -e run_id={arguments['plan']['run_id']}{launcher}"
        self._began = answered = time.monotonic()
        self._display.display(f"           Ctrl-C leaves the jobs alone; {again}.")
        short_since: dict[str, float] = {}
        wait, shown = 0.0, self._began - SHOW_EVERY
        while True:
            answer = self._ask({**arguments, "wait": wait, "give_up": _long_short(short_since, patience)}, task_vars)
            if answer.get("failed"):
                return {**result, **answer, "msg": f"{answer.get('msg')} The jobs go on; {again}."}
            now = time.monotonic()
            if answer["done"] or now - shown >= SHOW_EVERY:
                self._show(answer["progress"], now)
                shown = now
            if answer["done"]:
                return {**result, **answer, "seconds": round(now - self._began, 1)}
            if answer["answered"]:
                answered = now
            elif now - answered > LONGEST_SILENCE:
                msg = f"There was no answer for {LONGEST_SILENCE / 60:.0f} min: {answer['progress']}. Later {again}."
                return {**result, "failed": True, "msg": msg}
            else:
                time.sleep(PAUSE)
            short_since = {name: short_since.get(name, now) for name in answer["short_of_nodes"]}
            wait = min(max(wait * 1.3, FIRST_WAIT), LONGEST_WAIT)

    def _ask(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._execute_module("benchmark_jobs", module_args=arguments, task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            said = str(error.message).strip().splitlines()[-1:]
            lost = f"The connection is lost ({' '.join(said)}), trying again"
            return {"done": False, "answered": False, "progress": lost, "short_of_nodes": []}
        return answer

    def _show(self, progress: str, now: float) -> None:
        minutes, seconds = divmod(int(now - self._began), 60)
        self._display.display(f"           {minutes:2d}:{seconds:02d}  {progress}")


def _long_short(short_since: dict[str, float], patience: float) -> list[str]:
    return [name for name, since in short_since.items() if time.monotonic() - since > patience]
