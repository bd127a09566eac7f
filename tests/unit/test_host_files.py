"""host_files: the text of a file, and the module on files of this machine."""

from __future__ import annotations

import getpass
import grp
import json
import os
import subprocess
from pathlib import Path

import pytest
from rackmark.host_files import Change, Wanted, drop_lines, with_block

ROOT = Path(__file__).parents[2]
ME = {"owner": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name}


def test_a_block_is_added_replaced_in_place_and_removed():
    added = with_block("first\n", "ours", "# {mark} x")
    assert added == "first\n# BEGIN x\nours\n# END x\n"
    replaced = with_block(added + "last\n", "other\nlines\n", "# {mark} x")
    assert replaced == "first\n# BEGIN x\nother\nlines\n# END x\nlast\n"
    assert with_block(replaced, "", "# {mark} x") == "first\nlast\n"


def test_a_block_after_a_last_line_without_an_end():
    assert with_block("first", "ours", "# {mark}") == "first\n# BEGIN\nours\n# END\n"


def test_backslashes_in_a_block_stay_as_they_are():
    assert r"\1 \n" in with_block("# BEGIN\nold\n# END\n", r"\1 \n", "# {mark}")


def test_lines_are_dropped_by_pattern():
    assert drop_lines("127.0.0.1 localhost\n127.0.1.1 me\n", r"^127\.0\.1\.1\s") == "127.0.0.1 localhost\n"


def test_a_name_of_a_hosts_file_has_one_address():
    text = (
        "127.0.0.1 localhost head\n10.0.0.99 head\n10.0.0.98 Head head.old # stale\n# head was here\n"
        "10.0.0.7 store node1 # ours\n# BEGIN\n10.0.0.1 head\n# END\n10.0.0.8 printer\n"
    )
    wanted = Wanted(Path("/x"), block="10.0.0.2 head\n10.0.0.3 node1", marker="# {mark}", claims_names=True)
    assert wanted.new_text(text) == (
        "127.0.0.1 localhost\n10.0.0.98 head.old # stale\n# head was here\n"
        "10.0.0.7 store # ours\n# BEGIN\n10.0.0.2 head\n10.0.0.3 node1\n# END\n10.0.0.8 printer\n"
    )
    assert wanted.new_text(wanted.new_text(text)) == wanted.new_text(text)


@pytest.mark.parametrize("kinds", [{}, {"content": "a", "block": "b"}, {"content": "a", "absent": True}])
def test_a_file_is_exactly_one_kind(kinds):
    with pytest.raises(ValueError, match="exactly one of content, block, target"):
        Wanted(Path("/x"), **kinds)


def run_module(tmp_path, files, *options):
    """The module through Ansible, as a playbook uses it; its result."""
    tasks = [
        {"host_files": {"files": [{**ME, **file} for file in files]}, "register": "made", "ignore_errors": True},
        {"copy": {"content": "{{ made | to_json }}", "dest": f"{tmp_path}/result.json"}, "check_mode": False},
    ]
    play = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]
    (tmp_path / "play.json").write_text(json.dumps(play))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    command = ["ansible-playbook", "-i", "/dev/null", str(tmp_path / "play.json"), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "result.json").read_text())


def test_files_are_written_once_with_their_rights_and_all_or_none(tmp_path):
    target = tmp_path / "folder/deep/file"
    files = [
        {"path": str(target), "content": "secret\n", "mode": "0600"},
        {"path": str(tmp_path / "gone"), "state": "absent"},
        {"path": str(tmp_path / "made"), "state": "directory", "mode": "0750"},
        {"path": str(tmp_path / "link"), "target": "made"},
    ]
    (tmp_path / "gone").write_bytes(b"a key \xff\xfe")

    would = run_module(tmp_path, files, "--check", "--diff")
    assert len(would["changed_files"]) == 4
    assert would["diff"][0]["after"] == "secret\n"
    assert "a key" not in str(would["diff"])
    assert not target.exists()

    assert run_module(tmp_path, files)["changed"]
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("secret\n", 0o600)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o750
    assert not (tmp_path / "gone").exists()
    assert (tmp_path / "link").readlink() == Path("made")
    assert run_module(tmp_path, files)["changed_files"] == []

    refused = [
        {"path": str(target), "content": "new\n"},
        {"path": str(tmp_path / "b"), "content": "b", "validate": "false %s"},
    ]
    failed = run_module(tmp_path, refused)
    assert "b was left as it is: 'false' refuses" in failed["msg"]
    assert target.read_text() == "secret\n"
    assert sorted(path.name for path in target.parent.iterdir()) == ["file"]


def test_a_difference_shows_no_password_of_a_url_that_was_there_before(tmp_path):
    path = tmp_path / "pip.conf"
    path.write_text("index-url = https://me:s3cret@mirror/simple\n")
    change = Change(Wanted(path, content="timeout = 60\n", **ME))
    assert change.diff()["before"] == "index-url = https://***@mirror/simple\n"
    assert change.diff()["after"] == "timeout = 60\n"
