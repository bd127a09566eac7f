"""The munge key: what is taken for one, and what the module says and writes."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest
from rackmark import munge, password_rules

ROOT = Path(__file__).parents[2]
KEY = base64.b64encode(bytes(range(256)) * 4).decode()


def play(folder, *asked):
    """The module through Ansible, once for each set of options: results, and all that it ever shows."""
    tasks = []
    for number, options in enumerate(asked):
        given = {"path": str(folder / "munge.key"), **options}
        tasks += [
            {"munge_key": given, "register": "made", "ignore_errors": True},
            {"copy": {"content": "{{ made | to_json }}", "dest": f"{folder}/result-{number}.json"}, "no_log": True},
        ]
    play = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]
    (folder / "play.json").write_text(json.dumps(play))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    command = ["ansible-playbook", "-i", "/dev/null", "-vvv", "--diff", str(folder / "play.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads((folder / f"result-{number}.json").read_text()) for number in range(len(asked))]
    return results, done.stdout + done.stderr


def test_a_key_may_be_broken_into_lines():
    assert munge.decoded(base64.encodebytes(bytes(1024)).decode()) == bytes(1024)


def test_what_is_no_key_is_refused_and_nothing_written(tmp_path):
    complaints = {
        "%%%%": "is not base64",
        KEY[:-1]: "is not base64",
        KEY + "ä": "is not base64",
        "": "has 0 bytes",
        base64.b64encode(bytes(31)).decode(): "has 31 bytes",
        base64.b64encode(bytes(1025)).decode(): "has 1025 bytes",
    }
    results, shown = play(tmp_path, *({"key": text} for text in complaints))
    for result, (text, words) in zip(results, complaints.items(), strict=True):
        assert result["failed"]
        assert result["msg"] == f"The munge key {words}: use {munge.RULE}."
        assert len(text) < 10 or text[:40] not in shown
    assert not (tmp_path / "munge.key").exists()


def test_a_key_that_cannot_be_written_is_shown_nowhere(tmp_path):
    (result,), shown = play(tmp_path, {"key": KEY, "path": str(tmp_path / "none/munge.key")})
    assert "The munge key could not be written to" in result["msg"]
    assert KEY[:40] not in shown + json.dumps(result)


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        (
            password_rules.MONITORING,
            "twelve-chars",
            ["short", "a" * 73, "with a space in", "with-a-$-in-it", "ümlaut-password"],
        ),
        (password_rules.SLURMDBD, "Vault!Pw=12,3;x", ["short", "with#sign in", "with'quote", "back\\slash"]),
        (password_rules.GRAFANA, "e1ght-ch", ["short", "with a space", "with-%-in-it"]),
    ],
)
def test_a_password_that_a_service_cannot_take_is_refused_without_being_shown(rule, right, wrong):
    rule.check("some_password", right)
    for password in wrong:
        with pytest.raises(ValueError, match="some_password cannot be used: use a password of ") as refused:
            rule.check("some_password", password)
        assert password not in str(refused.value)
