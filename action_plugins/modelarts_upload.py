"""Ansible action: upload the code of a run, showing how far it is."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any, Mapping

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.modelarts.cloud import keys_of, store_of
from rackmark.modelarts.code import code_of, send
from rackmark.modelarts.credentials import Credentials
from rackmark.modelarts.errors import CredentialsError, SettingsError, StoreError
from rackmark.modelarts.phases import limit_in_hours
from rackmark.modelarts.settings import Settings, settings_of
from rackmark.modelarts.upload import Progress
from rackmark.run.run_folder import STOPPED
from rackmark.terminal import clock, say, window

BOOT_FILE = Path(__file__).resolve().parent.parent / "roles/modelarts/files/rackmark_boot.py"
SHOW_EVERY = 2.0
LOG_EVERY = 30.0


class ActionModule(ActionBase):
    """Works in Ansible's own process, which is on the machine that has the code."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments, self._has_told = self._task.args, False
        run_dir, plan = Path(arguments.get("run_dir") or ".").expanduser(), arguments.get("plan")
        settings = settings_of(arguments["options"])
        try:
            keys = keys_of(settings, arguments.get("secrets") or {})
            answer = self._upload(settings, run_dir, plan, keys)
        except (StoreError, CredentialsError, SettingsError) as error:
            answer = {"failed": True, "msg": str(error)}
        except OSError as error:
            reason = keys.hidden(str(error.strerror or error))
            answer = {"failed": True, "msg": f"{error.filename or run_dir} cannot be used: {reason}."}
        return {**result, **answer, "has_told": self._has_told}

    def _upload(
        self, settings: Settings, run_dir: Path, plan: Mapping[str, Any] | None, keys: Credentials
    ) -> dict[str, Any]:
        store = store_of(settings, keys)
        store.check(settings.bucket)
        code = code_of(settings, run_dir, BOOT_FILE, keys)
        if plan is None:
            return {"changed": False, "sentence": f"{_size(code.bytes)} of code can be uploaded."}
        self.say(_cost(plan))
        if self._task.check_mode:
            return {"changed": True, "sentence": f"{_size(code.bytes)} of code would be uploaded."}
        stopped_before = _stopped(run_dir)
        self.say(f"If this is interrupted, resume with run_modelarts.yml -e run_id={plan['run_id']}.")
        record = send(code, store, settings, run_dir, _Shown(self))
        if _stopped(run_dir) != stopped_before:
            return {"failed": True, "msg": "The run was stopped while its code was uploaded: no job was submitted."}
        sentence = (
            f"{record['sent_files']} of {record['files']} files were sent, {_size(int(str(record['sent_bytes'])))};"
            " the others were there."
        )
        self.say(sentence)
        return {"changed": bool(record["sent_files"]), "sentence": sentence}

    def say(self, text: str) -> None:
        if not self._has_told:
            self._display.display("")  # ends the line with the task's name
            self._has_told = True
        say(text, self._display.display)


class _Shown:
    """Now and then a line. Several threads upload."""

    def __init__(self, action: ActionModule) -> None:
        self._action = action
        self._began = self._told = time.monotonic()
        self._lock = threading.Lock()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._told < (SHOW_EVERY if window().live else LOG_EVERY):
                return
            self._told = now
        done, whole = progress.bytes_done, progress.bytes
        rate = _size(int(done / max(now - self._began, 0.001)))
        self._action.say(
            f"{clock(now - self._began)}  {_size(done)} of {_size(whole)}, {progress.files_done} of {progress.files}"
            f" files, {rate}/s"
        )


def _cost(plan: Mapping[str, Any]) -> str:
    devices = sum(job["nodes"] * job["devices_per_node"] for job in plan["jobs"])
    hours = limit_in_hours(plan["minutes"])
    return (
        f"At most {devices * hours} device-hours: {len(plan['jobs'])} jobs with {devices} devices together, each ended"
        f" by ModelArts after {hours} h."
    )


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count} bytes"


def _stopped(run_dir: Path) -> int | None:
    try:
        return (run_dir / STOPPED).stat().st_mtime_ns
    except OSError:
        return None
