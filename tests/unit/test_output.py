"""What a user of ansible-playbook sees on the terminal."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from in_terminal import Terminal
from rackmark.terminal import Window, broken, shortened, window

ROOT = Path(__file__).parents[2]
PLAYBOOK = """
- name: Show things
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Change something
      ansible.builtin.command: "true"
    - name: Leave it out
      ansible.builtin.command: "true"
      when: false
    - name: Say something
      ansible.builtin.debug:
        msg: All is well
    - name: Go wrong
      ansible.builtin.fail:
        msg: The value 7 is too large, use 6.
      when: go_wrong | default(false) | bool
    - name: Go wrong with or without secrets
      when: secret is defined
      block:
        - name: Refuse it
          assert: {that: false, fail_msg: "The value 7 is too large, use 6."}
          no_log: "{{ secret | bool }}"
          register: refused
      rescue: # no_log hides why
        - name: Say why
          ansible.builtin.fail:
            msg: "{{ refused.msg }}"
- name: A play for nobody
  hosts: nobody
  tasks: []
"""


@pytest.fixture
def run(tmp_path):
    playbook = tmp_path / "show.yml"
    playbook.write_text(PLAYBOOK)

    def run(*arguments):
        command = [
            str(Path(sys.executable).with_name("ansible-playbook")),
            str(playbook),
            "-i",
            "/dev/null",
            *arguments,
        ]
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
        return subprocess.run(
            [*command, "-c", "local"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_a_line_per_task_with_its_outcome(run):
    done = run()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "Show things" in lines
    (changed,) = [line for line in lines if "Change something" in line]
    assert changed.split()[0] == "0:00"
    assert changed.endswith("1 changed")
    assert next(line for line in lines if "Leave it out" in line).endswith("not needed")
    assert "  All is well" in lines
    assert "A play for nobody" not in done.stdout


def test_a_host_without_python_is_told_what_to_install(run):
    done = run("-e", "ansible_python_interpreter=/usr/bin/no-such-python")
    assert done.returncode == 2
    said = " ".join((done.stdout + done.stderr).split())
    assert "The module interpreter '/usr/bin/no-such-python' was not found." in said
    assert (
        "Install Python on localhost: 'apt-get install python3' there; or correct ansible_python_interpreter." in said
    )


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "sudo: unknown user rackmark",
            "There is no user rackmark on localhost: run 'ansible-playbook site.yml' first",
        ),
        (
            "sudo: user 'rackmark' not found",
            "There is no user rackmark on localhost: run 'ansible-playbook site.yml' first",
        ),
        ("/bin/sh: 1: sudo: not found", "There is no sudo on localhost, and working as another user takes it"),
        ("bash: sudo: command not found", "There is no sudo on localhost, and working as another user takes it"),
    ],
)
def test_a_host_where_nobody_can_work_as_the_user_is_told_what_is_missing(run, tmp_path, said, sentence):
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\necho "{said}" >&2\necho sudo: error in plugin >&2\nexit 1\n')
    sudo.chmod(0o755)
    done = run("-e", f"ansible_become_exe={sudo}", "--become", "--become-user=rackmark")
    assert done.returncode == 2
    assert sentence in " ".join((done.stdout + done.stderr).split())


def test_a_failure_is_a_sentence_and_a_status(run):
    done = run("-e", "go_wrong=true")
    assert done.returncode == 2
    assert "localhost FAILED at 'Go wrong':\n  The value 7 is too large, use 6." in done.stdout + done.stderr
    assert '"msg"' not in done.stdout + done.stderr


@pytest.mark.parametrize("secret", ["true", "false"])
def test_why_something_failed_is_said_once_also_where_no_log_hides_it(run, secret):
    done = run("-e", f"secret={secret}")
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count("The value 7 is too large, use 6.") == 1
    assert ("the output has been hidden" in done.stdout + done.stderr) == (secret == "true")


def test_verbose_output_is_ansibles_own(run):
    assert "TASK [Change something]" in run("-v").stdout


def test_a_log_shows_what_is_running_while_it_runs(tmp_path):
    pipe, log, playbook = tmp_path / "pipe", tmp_path / "log", tmp_path / "long.yml"
    os.mkfifo(pipe)
    tasks = [
        {"name": "Be quick", "ansible.builtin.command": "true"},
        {"name": "Take long", "ansible.builtin.command": f"cat {pipe}"},
    ]
    playbook.write_text(json.dumps([{"name": "Long", "hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(playbook), "-i", "/dev/null", "-c", "local"]
    with log.open("wb") as output, subprocess.Popen(command, cwd=ROOT, stdout=output) as process:
        while process.poll() is None:
            try:
                end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # nobody reads from it yet
                time.sleep(0.05)
            else:
                shown = log.read_text()
                os.close(end)
                break
        assert process.wait(30) == 0
    assert "1 changed" in shown
    assert "Take long" in shown.splitlines()[-1]


LONG = "The sentence that nobody can see in one line of a narrow window names the value 7 and the fix, 6."


def in_window(tmp_path, tasks, columns, **environment):
    playbook = tmp_path / "narrow.yml"
    playbook.write_text(json.dumps([{"name": "Narrow", "hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(playbook), "-i", "/dev/null", "-c", "local"]
    environ = {**os.environ, "ANSIBLE_FORCE_COLOR": "1", **environment}
    if columns is None:
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        return done.stdout
    return Terminal(command, columns, cwd=ROOT, env=environ).end()[0]


TASKS = [
    {"name": "Build the environment on the shared storage, once for all of them", "ansible.builtin.command": "true"},
    {"name": "Say it", "ansible.builtin.debug": {"msg": ["", LONG, "word " * 40]}},
    {"name": "Leave it out, which is said with a name as long as this one is", "command": "true", "when": False},
    {"name": "Go wrong", "ansible.builtin.fail": {"msg": LONG}},
]


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_no_line_is_longer_than_the_window(tmp_path, columns):
    lines = in_window(tmp_path, TASKS, columns).splitlines()
    assert max(map(len, lines)) <= columns
    (changed,) = [number for number, line in enumerate(lines) if "Build the environment" in line]
    assert lines[changed].endswith("1 changed")
    assert next(line for line in lines if "Leave it out" in line).endswith("not needed")
    assert " ".join(" ".join(lines).split()).count(LONG) == 2
    assert any(line.startswith("    ") and line.endswith("6.") for line in lines) or columns > len(LONG)


def test_a_log_keeps_its_sentences_whole(tmp_path):
    assert f"\n  {LONG}\n" in in_window(tmp_path, TASKS, None, COLUMNS="80")


def test_an_outcome_that_has_no_room_beside_its_task_stands_below_it(tmp_path):
    loop = {"name": TASKS[0]["name"], "ansible.builtin.command": "{{ item }}", "loop": ["true"], "changed_when": False}
    lines = in_window(tmp_path, [loop], 30).splitlines()
    (task,) = [number for number, line in enumerate(lines) if line.startswith("   0:0")]
    assert (lines[task][9:], lines[task + 1].endswith("1 ok")) == ("...", True)
    assert max(map(len, lines[task : task + 2])) <= 30


def test_words_that_are_longer_than_the_window_stay_whole():
    path = "/" + "x" * 90
    assert broken(f"The report is in {path} now.", Window(40), "  ") == [
        "  The report is in",
        f"    {path}",
        "    now.",
    ]
    assert broken("", Window(40), "  ") == [""]
    assert shortened("a name of some length", 10) == "a name..."


def test_a_window_is_as_wide_as_it_is_now():
    screen, inside = os.openpty()
    for columns, shown in ((132, 132), (60, 60), (0, 80)):
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        assert window(inside) == Window(shown)
    os.close(inside)
    os.close(screen)
    assert window(-1) == Window(120, live=False)
