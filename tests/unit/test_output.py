"""What a user of ansible-playbook sees on the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
