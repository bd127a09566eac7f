"""Ansible action: whether the clocks of the hosts agree."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.clock import Answer, ClockReading, complaint, read, skew, surely_beyond

# The first one may have to open the connection.
QUESTIONS = 3
# Seconds of error with which an answer is good enough.
ACCURATE = 0.1
PAUSE = 1.0


class ActionModule(ActionBase):
    """Documented in library/clock_skew.py. Asks with date, since a module would take its time to start."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        args, host = self._task.args, (task_vars or {})["inventory_hostname"]
        clock = self.reading()
        if "reference" not in args:
            return {**result, **asdict(clock)}
        reference = ClockReading(args["reference"]["offset"], args["reference"]["error"])
        limit = float(args.get("limit", 1))
        deadline = time.monotonic() + float(args.get("wait", 0))
        while surely_beyond(limit, skew(clock, reference)) and time.monotonic() < deadline:
            time.sleep(PAUSE)
            clock = self.reading()
        difference = skew(clock, reference)
        result = {**result, **asdict(clock), "skew": difference.offset}
        if surely_beyond(limit, difference):
            said = complaint(host, args["of"], limit, difference)
            # What would be set up may put the clock right.
            return {**result, "warnings": [said]} if self._task.check_mode else {**result, "failed": True, "msg": said}
        return result

    def reading(self) -> ClockReading:
        answers = [self.answer()]
        while len(answers) < QUESTIONS and read(answers).error > ACCURATE:
            answers.append(self.answer())
        return read(answers)

    def answer(self) -> Answer:
        asked = time.time()
        said = self._low_level_execute_command("date +%s.%N", sudoable=False)
        return asked, float(said["stdout"].split()[-1]), time.time()
