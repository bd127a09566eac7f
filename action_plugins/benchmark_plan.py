"""Ansible action: check a workload's folder where it is, and plan a run of it on the host that submits the jobs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.dialects import catalog
from rackmark.logs.reading import STATED
from rackmark.other_user import lacking_for_user
from rackmark.run.report_folder import why_not
from rackmark.run.workload_folder import read_folder

# Only lines of our own dialect may state a number by any name.
DIALECTS = {
    one.name: None if one.name == "rackmark" else (*STATED, *(measure.word for measure in one.measures))
    for one in catalog.DIALECTS
}


class ActionModule(ActionBase):
    """Dialects are known here alone: reading logs takes packages that hosts need not have. Results are written here,
    too, and that they cannot be must not be found when all jobs are over.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        reports = Path(arguments.pop("reports"))
        refused = None if self._task.check_mode else why_not(reports)
        if refused is not None:
            return {**result, "failed": True, "msg": refused}
        try:
            arguments["workload"] = read_folder(Path(arguments["workload"]), DIALECTS)
        except ValueError as error:
            return {**result, "failed": True, "msg": str(error)}
        return {**result, **self._plan(arguments, task_vars)}

    def _plan(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """The first task as the user who submits jobs, who is not there before there is a cluster."""
        host = str((task_vars or {}).get("inventory_hostname"))
        try:
            answer: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
        except AnsibleError as error:
            lacking = lacking_for_user(str(error), host)
            if lacking is None:
                raise
            return {"failed": True, "msg": lacking}
        lacking = lacking_for_user(str(answer.get("module_stderr", "")), host)
        return answer if lacking is None else {"failed": True, "msg": lacking}
