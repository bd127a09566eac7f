"""Ansible action: install a vendor's package files, sending only those that the host still needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import package_lock


class ActionModule(ActionBase):
    """Asks the host what it lacks, sends those files, and has them checked and installed by the module."""

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        defaults = arguments.pop("defaults", {})
        arguments["packages"] = [
            {**defaults.get(package.get("name"), {}), **package} for package in arguments["packages"]
        ]
        answer = self._execute_module(module_args=arguments, task_vars=task_vars)
        if answer.get("failed") or not answer["needed"]:
            return {**result, **answer}
        needed = [package for package in arguments["packages"] if package["name"] in answer["needed"]]
        files = {package["name"]: self._local(package) for package in needed if package.get("file")}
        if not self._task.check_mode:
            arguments["staged"] = {package["name"]: "" for package in needed} | self._send(files)
            answer = package_lock.when_free(
                lambda: self._execute_module(module_args=arguments, task_vars=task_vars),
                str((task_vars or {}).get("inventory_hostname", "this host")),
                lambda text: self._display.display(text, newline=False),
            )
            self._remove_tmp_path(self._connection._shell.tmpdir)
        return {**result, **answer}

    def _local(self, package: dict[str, Any]) -> Path:
        path = Path(self._loader.path_dwim(package["file"]))
        if not path.is_file():
            raise AnsibleActionFail(f"Package {package['name']!r}: there is no file {path} on this machine.")
        return path

    def _send(self, files: dict[str, Path]) -> dict[str, str]:
        """Where on the host each of these files is now; packages with a URL the host fetches itself."""
        folder = self._make_tmp_path()
        return {
            name: self._transfer_file(str(path), self._connection._shell.join_path(folder, path.name))
            for name, path in files.items()
        }
