"""Why a service does not run, found in what it wrote."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from rackmark import last_words
from rackmark.last_words import Line, journal, log_file, sentence, trouble, words

STARTED = datetime(2026, 11, 20, 10, 44, 17).timestamp()
# slurmd 22.05 where cgroups are read-only; before that a day on which all was well again after a fault.
SLURMD_LOG = """\
[2026-11-19T08:00:00.000] error: Unable to register: Unable to contact slurm controller (connect failure)
[2026-11-20T10:44:17.915] CPU frequency setting not configured for this node
[2026-11-20T10:44:17.915] error: common_cgroup_instantiate: unable to create cgroup '/sys/fs/cgroup/freezer/slurm_node2' : Read-only file system
[2026-11-20T10:44:17.915] error: unable to build slurm cgroup for ns freezer: Read-only file system
[2026-11-20T10:44:17.915] error: unable to create slurm freezer xcgroup
[2026-11-20T10:44:17.915] error: slurmd initialization failed
"""  # noqa: E501 - as slurmd wrote it


def entry(message: str | list[int], pid: str = "77", when: float = STARTED) -> str:
    return json.dumps({"MESSAGE": message, "_PID": pid, "__REALTIME_TIMESTAMP": str(int(when * 1e6))})


def test_the_log_file_says_what_the_journal_does_not(tmp_path):
    path = tmp_path / "slurmd.log"
    path.write_text(SLURMD_LOG)
    by_systemd = journal(entry("slurmd.service: Main process exited, code=exited, status=1/FAILURE", pid="1"))
    said = words(log_file(path), by_systemd, STARTED)
    assert said == (
        "common_cgroup_instantiate: unable to create cgroup '/sys/fs/cgroup/freezer/slurm_node2' : Read-only"
        " file system"
        " / unable to build slurm cgroup for ns freezer: Read-only file system / slurmd initialization failed"
    )


def test_a_fault_of_the_day_before_is_not_taken_for_that_of_now(tmp_path):
    path = tmp_path / "slurmd.log"
    path.write_text(SLURMD_LOG.splitlines(keepends=True)[0])
    assert words(log_file(path), journal(entry("it started", when=STARTED - 60)), STARTED) == ""
    assert "Unable to contact" in words(log_file(path), [], None)


@pytest.mark.parametrize(
    ("wrote", "said"),
    [
        (
            'ts=2026-11-20T10:44:17.1Z level=error component=web msg="Unable to start web listener"'
            ' err="listen tcp 127.0.0.1:9090: bind: address already in use"',
            "Unable to start web listener: listen tcp 127.0.0.1:9090: bind: address already in use",
        ),
        (
            "2026-11-20 10:44:17 0 [ERROR] mariadbd: Can't create/write to file '/x' (Errcode: 28)",
            "[ERROR] mariadbd: Can't create/write to file '/x' (Errcode: 28)",
        ),
        (
            '2026-11-20 10:44:17 +0000 Error:     Keyfile is insecure: "/etc/munge/munge.key" should be owned by UID 0',
            'Error:     Keyfile is insecure: "/etc/munge/munge.key" should be owned by UID 0',
        ),
        ("slurmdbd: fatal: slurmdbd.conf file should be 600", "fatal: slurmdbd.conf file should be 600"),
        ("\x1b[31mOSError: [Errno 98] Address already in use\x1b[0m", "OSError: [Errno 98] Address already in use"),
    ],
)
def test_lines_of_many_programs_are_read_without_their_trimmings(wrote, said):
    assert trouble([Line(wrote)]) == said


@pytest.mark.parametrize(
    "wrote",
    [
        'ts=2026-11-20T10:44:17.1Z level=info msg="no error found"',
        "2026-11-20 10:44:17 0 [Note] InnoDB: 0 errors",
        "Traceback (most recent call last):",
    ],
)
def test_what_only_looks_like_trouble_is_none(wrote):
    assert trouble([Line(wrote)]) == ""


def test_of_a_service_that_is_killed_systemd_says_why():
    lines = [
        entry("Started x.service - X.", pid="1"),
        entry("x.service: Main process exited, code=killed, status=9/KILL", pid="1"),
        entry("x.service: Failed with result 'signal'.", pid="1"),
        entry("x.service: Scheduled restart job, restart counter is at 1.", pid="1"),
    ]
    assert words([], journal("\n".join(lines)), STARTED) == "x.service: Main process exited, code=killed, status=9/KILL"


def test_the_same_fault_again_and_again_is_said_once():
    lines = [Line("error: no key"), Line("Starting"), Line("fatal: gone")] * 5
    assert trouble(lines) == "no key / fatal: gone"


def test_bytes_that_are_no_text_and_lines_that_are_no_entries_do_no_harm():
    assert [line.text for line in journal(entry([102, 97, 105, 108, 255]) + "\n-- No entries --\n")] == ["fail\ufffd"]


def test_secrets_are_not_repeated():
    said = trouble([Line("error: cannot log in with password=hunter2 at http://ann:pw@db.example/")])
    assert "hunter2" not in said
    assert "ann:pw" not in said


def test_a_log_that_an_operator_has_moved_is_found(tmp_path, monkeypatch):
    conf, log = tmp_path / "slurm.conf", tmp_path / "elsewhere.log"
    conf.write_text(f"ClusterName=x\nSlurmdLogFile={log}\n")
    log.write_text("[2026-11-20T10:44:17.915] fatal: no cores\n")
    monkeypatch.setattr(last_words, "_SLURM_CONF", (Path("/nowhere"), conf))
    assert sentence("slurmd", lambda _: (0, "", ""), STARTED) == (
        f"It last said: fatal: no cores (more in {log} and 'journalctl -u slurmd')."
    )


def test_silence_is_said():
    assert sentence("docker", lambda _: (0, "", ""), STARTED) == "It has not said why in 'journalctl -u docker'."
