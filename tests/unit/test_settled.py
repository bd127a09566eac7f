"""What is noted on a host as done, and what makes such a note void."""

from __future__ import annotations

import json
import os
import pwd
import time
from pathlib import Path
from typing import Any

import pytest
from rackmark import dpkg, settled, this_run

TOLD = {"task": "role_Write_it", "digest": "abc"}
INSTALLED = "Package: munge\nStatus: install ok installed\nVersion: 1.2\n"


@pytest.fixture
def noted(tmp_path):
    """A folder of notes, and a file that one is about."""
    file = tmp_path / "settings"
    file.write_text("a = 1\n")
    folder = tmp_path / "notes"
    settled.note(TOLD, files=[file, tmp_path / "missing"], folder=folder)
    assert settled.holding(folder) == {"role_Write_it": "abc"}
    return file, folder


def edit(file: Path) -> None:
    """In place, with as many bytes and at the same time as before."""
    before = file.stat()
    file.write_text("a = 2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def link_elsewhere(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "drift",
    [
        edit,
        Path.unlink,
        link_elsewhere,
        lambda file: file.chmod(0o600),
        lambda file: file.with_name("missing").touch(),
    ],
    ids=["edited", "removed", "linked", "other rights", "a file that was to be missing"],
)
def test_a_note_about_a_file_that_is_no_longer_the_same_is_void(noted, drift):
    file, folder = noted
    drift(file)
    assert settled.holding(folder) == {}


def test_what_nobody_will_ask_for_is_not_noted(tmp_path):
    settled.note(None, files=[tmp_path], folder=tmp_path / "notes")
    assert not (tmp_path / "notes").exists()


def test_notes_are_for_root_alone_and_one_that_is_torn_does_not_count(noted):
    _, folder = noted
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / TOLD["task"]).stat().st_mode & 0o777 == 0o600
    (folder / TOLD["task"]).write_text('{"digest": "ab')
    assert settled.holding(folder) == {}


def test_a_note_of_another_release_does_not_count(noted):
    _, folder = noted
    (folder / "other").write_text('{"digest": "def", "files": {}}')
    assert settled.holding(folder) == {"role_Write_it": "abc"}


def test_a_note_about_an_account_holds_while_its_entry_is_the_same(tmp_path, monkeypatch):
    entries = {"root": [*pwd.getpwnam("root"), 0]}
    monkeypatch.setattr(settled, "account", entries.get)
    settled.note(TOLD, accounts=["root"], folder=tmp_path)
    assert settled.holding(tmp_path)
    entries["root"] = [*entries["root"][:-1], 1]
    assert settled.holding(tmp_path) == {}
    del entries["root"]
    assert settled.holding(tmp_path) == {}


def test_a_note_ends_when_it_says(tmp_path):
    settled.note(TOLD, until=1.0, folder=tmp_path / "notes")
    assert settled.holding(tmp_path / "notes") == {}


@pytest.mark.parametrize(
    ("status", "holds"),
    [
        (INSTALLED, True),
        (INSTALLED.replace("1.2", "1.3"), False),
        (INSTALLED.replace("ok installed", "ok half-configured"), False),
        ("", False),
    ],
    ids=["as it was", "another version", "interrupted", "removed"],
)
def test_packages_are_looked_up_in_the_database_of_dpkg(tmp_path, monkeypatch, status, holds):
    monkeypatch.setattr(dpkg, "STATUS", tmp_path / "status")
    monkeypatch.setattr(dpkg, "JOURNAL", tmp_path / "updates")
    dpkg.STATUS.write_text(status)
    settled.note(TOLD, packages=["munge=1.2"], folder=tmp_path / "notes")
    assert bool(settled.holding(tmp_path / "notes")) is holds


@pytest.mark.parametrize(
    ("properties", "holds"),
    [
        ({}, True),
        ({"ActiveState": "failed"}, False),
        ({"UnitFileState": "disabled"}, False),
        ({"NeedDaemonReload": "yes"}, False),
        ({"ExecMainStartTimestampMonotonic": "1"}, False),  # long before the file was written
    ],
    ids=["runs", "failed", "not enabled", "its unit was edited", "started before its file was written"],
)
def test_a_service_is_looked_up_in_systemd(tmp_path, monkeypatch, properties, holds):
    moment = str(int(time.monotonic() * 1e6))
    shown = {
        "LoadState": "loaded",
        "ActiveState": "active",
        "UnitFileState": "enabled",
        "NeedDaemonReload": "no",
        "ExecMainStartTimestampMonotonic": str(int(moment) + 60_000_000),
        "StateChangeTimestampMonotonic": moment,
        **properties,
    }
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(
        "#!/bin/sh\ncat <<'END'\n" + "\n".join(f"{key}={value}" for key, value in shown.items()) + "\nEND\n"
    )
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{systemctl.parent}:{os.environ['PATH']}")
    file = tmp_path / "settings"
    file.touch()
    service = {"name": "munge", "restart_for": [str(file)], "reload_for": []}
    settled.note(TOLD, service=service, folder=tmp_path / "notes")
    assert bool(settled.holding(tmp_path / "notes")) is holds


class Task:
    """As an action has it."""

    def __init__(self, **args: Any) -> None:
        self.action, self.args, self.delegate_to, self.no_log = "host_files", args, None, False

    def get_name(self) -> str:
        return "role : Write it"


def note_of(task: Task) -> dict[str, Any] | None:
    action = this_run.PassesOver()
    action._task = task
    return action.note({"inventory_hostname": "node1"})


@pytest.fixture
def looked(monkeypatch):
    """node1 was looked at, and what this task asks for is settled there."""
    monkeypatch.setattr(this_run, "_found", {})
    this_run.looked_at("node1", {})
    note = note_of(Task(files=["x"]))
    assert note is not None
    this_run.looked_at("node1", {note["settled"]["task"]: note["settled"]["digest"]})


def test_a_task_is_passed_over_where_the_same_is_settled(looked):
    assert note_of(Task(files=["x"])) is None


def test_a_task_that_asks_for_something_else_is_carried_out(looked):
    assert note_of(Task(files=["y"]))


def test_after_any_change_on_the_host_every_task_is_carried_out_and_noted_again(looked):
    this_run.touched("node1")
    assert note_of(Task(files=["x"]))


def test_a_task_for_another_host_is_carried_out_there(looked):
    task = Task(files=["x"])
    task.delegate_to = "node2"
    assert note_of(task) == {}


def test_what_was_seen_long_ago_says_nothing(looked, monkeypatch):
    monkeypatch.setattr(this_run, "LONGEST_SECONDS", 0.0)
    assert note_of(Task(files=["x"]))


def test_of_a_task_with_secrets_nothing_is_noted(looked):
    task = Task(files=["x"])
    task.no_log = True
    assert note_of(task) == {}


def test_a_digest_does_not_depend_on_the_order_of_arguments():
    assert settled.digest("m", {"a": 1, "b": [2]}) == settled.digest("m", {"b": [2], "a": 1})
    assert json.dumps(settled.digest("m", {"a": 1})) != json.dumps(settled.digest("n", {"a": 1}))


def test_a_role_whose_packages_this_run_has_installed_asks_no_more(monkeypatch):
    monkeypatch.setattr(this_run, "_packages", {})
    this_run.installed("node1", ["munge", "slurmd"])
    this_run.installed("node1", ["chrony"])
    assert this_run.has_packages("node1", ["chrony", "munge"])
    assert not this_run.has_packages("node1", ["chrony", "docker.io"])
    assert not this_run.has_packages("node2", ["munge"])
