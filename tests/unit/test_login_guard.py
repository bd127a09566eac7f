"""sshd's PAM stack with the guard of compute nodes, evaluated as Linux-PAM evaluates it."""

from __future__ import annotations

import re

import pytest
from rackmark.login_guard import Guard, GuardError, guarded, unguarded

SSHD = """\
# PAM configuration for the Secure Shell service
@include common-auth
account    required     pam_nologin.so
# account  required     pam_access.so
@include common-account
session    required     pam_loginuid.so
# Standard Un*x session setup and teardown.
@include common-session
session    optional     pam_motd.so noupdate
@include common-password
"""
SESSION = """\
# here are the per-package modules (the "Primary" block)
session	[default=1]			pam_permit.so
session	requisite			pam_deny.so
session	required			pam_permit.so
session	required	pam_unix.so
session	optional	pam_systemd.so # registers
session	optional	pam_mkhomedir.so
"""
GUARD = Guard("node1", ["admin", "alice"], ["sudo", "adm"])


def modules_run(text, kind, user, uid=1000, groups=()):
    """Modules of a stack that a login meets, in their order; pam_succeed_if is worked out, the others end well."""
    lines = [line for line in text.splitlines() if line.startswith((kind + " ", kind + "\t"))]
    met, place = [], 0
    while place < len(lines):
        _, control, module, *arguments = re.findall(r"\[[^]]*\]|\S+", lines[place])
        if module == "pam_succeed_if.so":
            _, field, test, value = arguments
            result = {
                "eq": field == "uid" and str(uid) == value,
                "in": user in value.split(":"),
                "ingroup": value in groups,
            }[test]
        else:
            met.append(module)
            result = True
        jumps = dict(pair.split("=") for pair in control.strip("[]").split()) if control.startswith("[") else {}
        action = jumps.get("success" if result else "default", jumps.get("default", "ok"))
        place += 1 + (int(action) if action.isdigit() else 0)
        assert place <= len(lines), "a jump beyond the end fails the login"
    return met


@pytest.mark.parametrize(
    ("user", "uid", "groups"), [("root", 0, ()), ("alice", 1001, ()), ("bob", 1002, ("sudo",)), ("eve", 1003, ("adm",))]
)
def test_administrators_meet_what_they_met_before_and_nothing_of_slurm(user, uid, groups):
    text = guarded(SSHD, SESSION, GUARD)
    assert "pam_slurm_adopt.so" not in modules_run(text, "account", user, uid, groups)
    before = modules_run(SESSION, "session", user)
    found = modules_run(text, "session", user, uid, groups)
    assert [module for module in found if module != "pam_permit.so"] == [
        "pam_loginuid.so",
        *(module for module in before if module != "pam_permit.so"),
        "pam_motd.so",
    ]


def test_users_are_adopted_last_and_not_moved_by_systemd():
    text = guarded(SSHD, SESSION, GUARD)
    assert modules_run(text, "account", "mallory", groups=("users",)) == [
        "pam_nologin.so",
        "pam_slurm_adopt.so",
        "pam_permit.so",
    ]
    session = modules_run(text, "session", "mallory", groups=("users",))
    assert "pam_systemd.so" not in session
    assert "pam_mkhomedir.so" in session
    assert "pam_deny.so" not in session
    assert "nodename=node1 action_adopt_failure=deny action_generic_failure=deny" in text


def test_what_is_written_again_is_the_same_and_what_is_taken_away_leaves_no_trace():
    text = guarded(SSHD, SESSION, GUARD)
    assert guarded(text, SESSION, GUARD) == text
    assert unguarded(text) == SSHD
    assert unguarded(SSHD) == SSHD
    assert unguarded(guarded(SSHD.rstrip("\n"), SESSION, GUARD)) == SSHD


def test_what_an_administrator_adds_stays():
    text = guarded(SSHD, SESSION, GUARD) + "session optional pam_echo.so\n"
    assert "pam_echo.so" in guarded(text, SESSION, Guard("node1"))
    assert unguarded(text) == SSHD + "session optional pam_echo.so\n"


@pytest.mark.parametrize(
    ("sshd", "guard", "words"),
    [
        (SSHD + "account required pam_slurm_adopt.so\n", GUARD, "pam_slurm_adopt.so that is not Rackmark's"),
        (SSHD.replace("common-session", "password-auth"), GUARD, "no line '@include common-session'"),
    ],
)
def test_a_stack_that_is_somebody_elses_is_left_alone(sshd, guard, words):
    with pytest.raises(GuardError, match=words):
        guarded(sshd, SESSION, guard)


@pytest.mark.parametrize("name", ["a b", "x\naccount sufficient pam_permit.so", "", "a:b"])
def test_a_name_cannot_bring_lines_of_its_own(name):
    with pytest.raises(GuardError, match="is no name"):
        Guard("node1", [name])
