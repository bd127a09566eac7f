"""Ansible action: copy logs and records of a run to this machine."""

from __future__ import annotations

import base64
import io
import os
import tarfile
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Asks the module for one piece after the other and unpacks each."""

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        dest = Path(self._task.args["dest"])
        arguments = dict(self._task.args)
        files = 0
        while True:
            answer = self._execute_module("benchmark_collect", module_args=arguments, task_vars=task_vars)
            if answer.get("failed"):
                return {**result, **answer}
            if not self._task.check_mode:
                _unpack(answer["archive"], dest)
            files += answer["files"]
            arguments["folders"] = answer["left"]
            if not answer["left"]:
                return {**result, "changed": True, "files": files}


def _unpack(archive: str, dest: Path) -> None:
    dest.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(archive)), mode="r:gz") as tar:
        for member in tar:
            member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
            tar.extract(member, dest, filter="data")
