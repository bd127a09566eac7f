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
    """Asks the module for one piece after the other and unpacks each.

    Files that the run no longer has go: what an earlier attempt left has moved, and must not be judged with the next.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        dest = Path(self._task.args["dest"])
        arguments = dict(self._task.args)
        names: set[str] = set()
        while True:
            answer = self._execute_module("benchmark_collect", module_args=arguments, task_vars=task_vars)
            if answer.get("failed"):
                return {**result, **answer}
            if not self._task.check_mode:
                names |= _unpack(answer["archive"], dest)
            arguments["folders"] = answer["left"]
            if not answer["left"]:
                break
        if not self._task.check_mode:
            _remove_others(dest, names)
        return {**result, "changed": True, "files": len(names)}


def _unpack(archive: str, dest: Path) -> set[str]:
    """Plain files below `dest` and nothing else: a job can put anything into its folder.

    tarfile's own filters came with Python 3.11.4, which Debian 12 does not have.
    """
    dest.mkdir(parents=True, exist_ok=True)
    names = set()
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(archive)), mode="r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            place = dest / member.name
            if content is None or not place.resolve().is_relative_to(dest.resolve()):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            place.write_bytes(content.read())
            os.utime(place, (member.mtime, member.mtime))
            names.add(member.name)
    return names


def _remove_others(dest: Path, names: set[str]) -> None:
    for path in (dest / "cases").rglob("*"):
        if path.is_file() and str(path.relative_to(dest)) not in names:
            path.unlink(missing_ok=True)
