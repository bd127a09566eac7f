"""Ansible action: copy logs and records of a run to this machine."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))


class ActionModule(ActionBase):
    """Asks the module for one piece after the other and unpacks each.

    Files that the run no longer has go: what an earlier attempt left has moved, and must not be judged with the next.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        if self._task.check_mode:
            return {**result, "changed": True}
        dest = Path(self._task.args["dest"])
        arguments = dict(self._task.args)
        names: set[str] = set()
        shortened: set[str] = set()
        while True:
            answer = self._execute_module(module_args=arguments, task_vars=task_vars)
            if answer.get("failed"):
                return {**result, **answer}
            try:
                _unpack(answer.pop("archive"), dest, names)
            except OSError as error:
                return {**result, "failed": True, "msg": self._lost_nothing(error, dest, task_vars or {})}
            shortened.update(answer["shortened"])
            if not answer["left"]:
                break
            arguments["left"] = answer["left"]
            if answer["needs_texts"]:
                arguments["texts"] = _texts(dest)
        _remove_others(dest, names)
        remarks = [*_remarks(shortened), *self._board(answer["boards"], task_vars or {})]
        return {**result, "changed": True, "files": len(names), "remarks": remarks}

    def _board(self, boards: int, task_vars: dict[str, Any]) -> list[str]:
        if not boards:
            return []
        cases, host = Path(self._task.args["run_dir"], "cases"), task_vars.get("inventory_hostname", "the host")
        repeats = "one repeat" if boards == 1 else f"{boards} repeats"
        return [f"TensorBoard shows {repeats} over the steps, on {host}: tensorboard --logdir {cases}"]

    def _lost_nothing(self, error: OSError, dest: Path, task_vars: dict[str, Any]) -> str:
        run_dir, host = Path(self._task.args["run_dir"]), task_vars.get("inventory_hostname", "the host")
        return (
            f"{error.filename or dest} cannot be written: {error.strerror}. Nothing is lost: all that the jobs left is"
            f" in {run_dir} on {host}. Make room or make {dest.parent} writable, then run again with"
            f" -e run_id={run_dir.name}: what is ok is kept and reported."
        )


def _remarks(shortened: set[str]) -> list[str]:
    if not shortened:
        return []
    return [
        f"Of {len(shortened)} logs above 64 MB the begin, the end and the lines with numbers were collected; the whole"
        f" ones stay where they are, as {min(shortened)}."
    ]


def _texts(run_dir: Path) -> list[str]:
    """None where lines cannot be told by what they hold: then logs are copied whole."""
    from rackmark.dialects.catalog import dialect_named

    try:
        dialect = dialect_named(json.loads((run_dir / "manifest.json").read_text())["dialect"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [text.decode() for text in dialect.texts]


def _unpack(archive: str, dest: Path, names: set[str]) -> None:
    """Plain files below `dest` and nothing else: a job can put anything into its folder.

    `names` are those unpacked so far, of which a member of the same name is the next part. tarfile's own filters came
    with Python 3.11.4, which Debian 12 does not have.
    """
    dest.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(archive)), mode="r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            place = dest / member.name
            if content is None or not place.resolve().is_relative_to(dest.resolve()):
                continue
            if member.name not in names:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                names.add(member.name)
            try:
                with place.open("ab") as file:
                    file.write(content.read())
            except OSError as error:  # what is said when a disk is full names no file
                raise OSError(error.errno, error.strerror, str(place)) from error
            os.utime(place, (member.mtime, member.mtime))


def _remove_others(dest: Path, names: set[str]) -> None:
    for path in (dest / "cases").rglob("*"):
        if path.is_file() and str(path.relative_to(dest)) not in names:
            path.unlink(missing_ok=True)
