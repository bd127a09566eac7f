"""Terminal output of Rackmark's playbooks: a line per task, failures as sentences.

With -v and more, Ansible's own output takes over.
"""

from __future__ import annotations

import atexit
import io
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.plugins.callback.default import CallbackModule as DefaultCallback
from ansible.utils.fqcn import add_internal_fqcns

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.other_user import lacking_for_user
from rackmark.run.way_back import way_back
from rackmark.terminal import broken, clock, shortened, window

DOCUMENTATION = """
name: rackmark
type: stdout
short_description: A line per task with elapsed time, duration and counts
description:
  - Shows what is running, how long it took and on how many hosts it changed something.
  - Failures show the message alone; run with -v for Ansible's usual, longer output.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set as stdout in configuration
"""

NAME_WIDTH = 62
OUTCOME_WIDTH = 20  # as in "  12.3 s  12 changed"
RECAP_WIDTH = 118  # of Ansible's own
_DEBUG_ACTIONS = add_internal_fqcns(("debug",))
_FAIL_ACTIONS = add_internal_fqcns(("fail",))
_SILENT_ACTIONS = (*_DEBUG_ACTIONS, *add_internal_fqcns(("meta", "include_tasks", "include_role")))
# These say how far they are, on lines of their own.
_TALKING_ACTIONS = ("benchmark_watch",)
# What Ansible puts before the sentence of a filter or of a variable that cannot be worked out.
_WRAPPING = re.compile(
    r"^Task failed: (?:Finalization of task args for '[^']+' failed: |Error while resolving value for '[^']+': "
    r"|The filter plugin '[^']+' failed: )*"
)
_OF_A_COLLECTION = re.compile(r"^\w+\.\w+\.(?=\w+ : )")  # before the name of a role
_NO_PYTHON = re.compile(r"The module interpreter '[^']+' was not found")
_COLORS = {
    "changed": constants.COLOR_CHANGED,
    "failed": constants.COLOR_ERROR,
    "unreachable": constants.COLOR_UNREACHABLE,
    "skipped": constants.COLOR_SKIP,
}


class CallbackModule(DefaultCallback):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "rackmark"

    def __init__(self) -> None:
        super().__init__()
        self._brief = self._display.verbosity == 0
        self._began = time.monotonic()
        self._task_began = 0.0
        self._last_result = 0.0
        self._heading = ""
        self._open_line = self._line_broken = False
        self._written = self._outcome_at = 0
        self._counts: Counter[str] = Counter()
        self._said: dict[str, str] = {}
        self._suite = self._followed = ""
        atexit.register(self._show_way_back)
        # Ansible leaves it to the system when a line is written, and in a file that is minutes later.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        if not self._brief:
            return super().v2_playbook_on_play_start(play)
        self._close_line()
        self._play = play
        mode = " (check mode: nothing is changed)" if play.check_mode else ""
        self._heading = f"\n{play.get_name().strip()}{mode}"
        return None

    def _task_start(self, task: Any, prefix: str | None = None) -> None:
        if not self._brief:
            return super()._task_start(task, prefix)
        self._close_line()
        self._counts.clear()
        self._task_began = self._last_result = time.monotonic()
        name = _OF_A_COLLECTION.sub("", task.get_name().strip()).replace(" : ", ": ", 1)
        # Ansible's own check of a role's variables comes before every role; only its failures are of interest.
        if "Validating arguments against arg spec" in name or task.action in _SILENT_ACTIONS:
            return None
        self._show_heading()
        since = f"  {clock(self._task_began - self._began)}  "
        room = max(0, min(NAME_WIDTH, window().columns - len(since) - 2 - OUTCOME_WIDTH))
        line = since + shortened(name, room)
        self._written, self._outcome_at = len(line), len(since) + room + 2
        self._display.display(line, newline=False)
        sys.stdout.flush()  # what takes long is seen by its name
        self._open_line = True
        if task.action in _TALKING_ACTIONS:
            self._break_line()
        return None

    def v2_runner_on_ok(self, result: Any) -> None:
        self._learn_what_runs(result)
        if not self._brief:
            return super().v2_runner_on_ok(result)
        self._line_broken = self._line_broken or result.result.get("has_told", False)
        self._count("changed" if result.result.get("changed") else "ok")
        if result.task.action in _DEBUG_ACTIONS:
            self._message(result.result.get("msg", ""))
        if result.result.get("warnings") or result.result.get("deprecations"):
            self._break_line()
            self._handle_warnings_and_exception(result)
        return None

    def v2_runner_on_skipped(self, result: Any) -> None:
        if not self._brief:
            return super().v2_runner_on_skipped(result)
        return self._count("skipped")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if not self._brief:
            return super().v2_runner_on_failed(result, ignore_errors)
        self._line_broken = self._line_broken or result.result.get("has_told", False)
        self._count("failed")
        if not (result.task.loop and "results" in result.result):
            self._failure(result, "failed, ignored" if ignore_errors else "FAILED")
        return None

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if not self._brief:
            return super().v2_runner_on_unreachable(result)
        self._count("unreachable")
        return self._failure(result, "UNREACHABLE")

    def v2_runner_item_on_ok(self, result: Any) -> None:
        if not self._brief:
            super().v2_runner_item_on_ok(result)

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        if not self._brief:
            super().v2_runner_item_on_skipped(result)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        if not self._brief:
            return super().v2_runner_item_on_failed(result)
        self._count("failed")
        return self._failure(result, f"FAILED for {self._get_item_label(result.result)}")

    def v2_runner_retry(self, result: Any) -> None:
        if not self._brief:
            super().v2_runner_retry(result)

    def v2_playbook_on_include(self, included_file: Any) -> None:
        if not self._brief:
            super().v2_playbook_on_include(included_file)

    def v2_on_file_diff(self, result: Any) -> None:
        if self._brief:
            self._break_line()
            self._last_task_banner = result.task._uuid
        super().v2_on_file_diff(result)

    def v2_playbook_on_no_hosts_matched(self) -> None:
        if not self._brief:
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        self._close_line()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._followed = ""
        self._close_line()
        if not stats.processed:
            self._refuse_to_have_done_nothing()
        if self._brief and window().columns < RECAP_WIDTH:
            return self._recap(stats)
        return super().v2_playbook_on_stats(stats)

    def _refuse_to_have_done_nothing(self) -> None:
        """Ansible would end well."""
        playbook = " ".join(Path(path).name for path in context.CLIARGS["args"])
        start = context.CLIARGS["start_at_task"]
        said = f"Nothing was done: no task of {playbook} is for the hosts and tags of this command line."
        if start:
            said = f"--start-at-task names '{start}', and {playbook} has no such task: --list-tasks shows those that it has."
        self._show(said, color=constants.COLOR_ERROR, stderr=True)
        raise SystemExit(2)

    def _recap(self, stats: Any) -> None:
        """As Ansible's, without what is aligned and what is rarely other than 0."""
        self._display.display("\nPLAY RECAP")
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            shown = {name: counts[name] for name in ("ok", "changed", "unreachable")}
            shown["failed"] = counts["failures"]
            shown.update({name: counts[name] for name in ("skipped", "rescued", "ignored") if counts[name]})
            worst = next((name for name in ("failed", "unreachable", "changed") if shown[name]), "")
            line = f"{host} : {' '.join(f'{name}={count}' for name, count in shown.items())}"
            self._show(line, color=_COLORS.get(worst, constants.COLOR_OK))
        self._display.display("")

    def _learn_what_runs(self, result: Any) -> None:
        """Whose jobs go on if this playbook is interrupted."""
        action = result.task.action.rpartition(".")[2]  # whoever uses the collection may say its name before
        if action == "benchmark_suite":
            self._suite = f"suite_id={result.result['suite']['suite_id']}"
        elif action == "benchmark_start" and "run_id" in result.result:
            self._followed = self._suite or f"run_id={result.result['run_id']}"
        elif action == "benchmark_watch":
            self._followed = ""

    def _show_way_back(self) -> None:
        """The last that is read: Ansible only says that it was interrupted."""
        if self._followed:
            typed = ["ansible-playbook", *sys.argv[1:]]
            lines = way_back(typed, self._followed, context.CLIARGS["args"], _stopping(), window().columns)
            self._display.display("\n".join(lines))

    def _count(self, outcome: str) -> None:
        self._counts[outcome] += 1
        self._last_result = time.monotonic()

    def _close_line(self) -> None:
        if not self._open_line:
            return
        seen = [outcome for outcome in ("ok", "changed", "unreachable", "failed") if self._counts[outcome]]
        said = ", ".join(f"{self._counts[outcome]} {outcome}" for outcome in seen) or "not needed"
        said = f"{self._last_result - self._task_began:6.1f} s  {said}"
        begin = min(self._outcome_at, window().columns - len(said))
        if begin < self._written + 2:
            self._break_line()
        if self._line_broken:
            self._written = 0
        self._open_line = self._line_broken = False
        self._display.display(" " * (begin - self._written), newline=False)
        self._display.display(said, color=_COLORS.get(seen[-1] if seen else "skipped"))

    def _break_line(self) -> None:
        """Leave the task's line as it stands; what belongs under it comes before its summary."""
        if self._open_line and not self._line_broken:
            self._display.display("")
            self._line_broken = True

    def _show_heading(self) -> None:
        """Only a play that does something is worth its heading."""
        if self._heading:
            self._show(self._heading, color=constants.COLOR_HIGHLIGHT)
            self._heading = ""

    def _show(self, text: str, indent: str = "", **options: Any) -> None:
        for line in broken(text, window(), indent):
            self._display.display(line, **options)

    def _message(self, text: Any) -> None:
        self._close_line()
        self._show_heading()
        for line in text if isinstance(text, list) else [text]:
            self._show(str(line), "  ")

    def _failure(self, result: Any, outcome: str) -> None:
        self._close_line()
        self._show_heading()
        self._handle_warnings(result.result)
        said = result.result
        shown = (said.get(key) for key in ("censored", "msg", "stderr", "module_stderr"))
        parts = [_WRAPPING.sub("", str(text)).strip() for text in shown if text]
        host = said.get("_ansible_delegated_vars", {}).get("ansible_delegated_host") or result.host.name
        if any(map(_NO_PYTHON.search, parts)):
            fix = "'apt-get install python3' there; or correct ansible_python_interpreter."
            parts.append(f"Install Python on {host}: {fix}")
        lacking = lacking_for_user("\n".join(parts), host)
        parts = parts if lacking is None else [lacking]
        text = "\n".join(dict.fromkeys(parts)) or self._dump_results(said)
        # A rescue says what no_log has hidden; where nothing was hidden it has been said.
        label = self.host_label(result)
        repeated = result.task.action in _FAIL_ACTIONS and self._said.get(label) == text
        self._said[label] = text
        if repeated:
            return
        where = f"{label} {outcome} at '{result.task.get_name().strip()}'"
        options = {"color": constants.COLOR_ERROR, "stderr": self.get_option("display_failed_stderr")}
        self._show(f"{where}:", **options)
        self._show(text, "  ", **options)


def _stopping() -> str:
    """How the playbook is called that stops runs."""
    package = __name__.split(".")
    if package[0] == "ansible_collections":
        return ".".join([*package[1:3], "stop"])
    path = Path(__file__).resolve().parents[1] / "playbooks" / "stop.yml"
    place = os.path.relpath(path)
    return str(path) if place.startswith("..") else place
