"""Ansible action: make a host that asks for a password accept a key. Runs where Ansible runs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.ssh_bootstrap import (
    CONNECT_SECONDS,
    KEEP,
    PASSWORD_METHODS,
    READY,
    SAME,
    BootstrapError,
    Doors,
    Target,
    add_key_script,
    as_root,
    close_doors_script,
    last_words,
    login_methods,
    sudo_script,
)

COMMAND_SECONDS = 60
NEW_LOGIN_TRIES = 3


class PasswordMissing(Exception):  # noqa: N818 - not an error where a person can be asked
    """The host wants the password, and there is none."""


def ssh(target: Target, command: str, *options: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            target.ssh(command, *options),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise BootstrapError(f"{target} did not answer within {COMMAND_SECONDS} s, and is left as it is.") from error


def install_key_by_password(target: Target, password: str) -> None:
    try:
        import paramiko
    except ImportError as error:
        raise BootstrapError("paramiko is missing on this machine: run ./setup.sh.") from error
    client = paramiko.SSHClient()
    client.load_host_keys(str(target.known_hosts))
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    try:
        client.connect(
            target.address,
            target.port,
            target.user,
            password,
            look_for_keys=False,
            allow_agent=False,
            timeout=CONNECT_SECONDS,
            banner_timeout=CONNECT_SECONDS,
            auth_timeout=COMMAND_SECONDS,
        )
        _, output, errors = client.exec_command(
            as_root(add_key_script(target.key.with_name(target.key.name + ".pub").read_text()), "root"),
            timeout=COMMAND_SECONDS,
        )
        if output.channel.recv_exit_status() != 0:
            said = last_words(errors.read().decode(errors="replace"))
            raise BootstrapError(f"{target} let {target.user} in, but the key could not be written: {said}.")
    except paramiko.BadAuthenticationType as error:
        raise BootstrapError(
            f"{target} takes no password for {target.user}, only {', '.join(error.allowed_types)}, and refuses the key"
            f" {target.key}: install {target.key}.pub there by the way that is open."
        ) from error
    except paramiko.AuthenticationException as error:
        raise BootstrapError(
            f"{target} refuses the password for {target.user}: it is another one there, or {target.user} may not log in"
            " with a password (PermitRootLogin and AllowUsers in its sshd_config)."
        ) from error
    except (paramiko.SSHException, OSError) as error:
        raise BootstrapError(f"{target} broke off while {target.user} logged in: {error}. Try again.") from error
    finally:
        client.close()


def let_sudo_do_without_password(target: Target, password: str) -> None:
    done = ssh(target, as_root(sudo_script(target.user), target.user, asks_password=True), stdin=password + "\n")
    if done.returncode != 0:
        raise BootstrapError(
            f"{target}: {target.user} cannot become root with sudo and this password ({last_words(done.stderr)}): add"
            f" {target.user} to the group sudo there, or log in as root."
        )


def newly_let_in(target: Target) -> subprocess.CompletedProcess[str]:
    """A login after sshd took its new settings, which takes it a moment."""
    for _ in range(NEW_LOGIN_TRIES - 1):
        done = ssh(target, "true")
        if done.returncode == 0:
            return done
        time.sleep(1)
    return ssh(target, "true")


def proof_against_passwords(target: Target) -> str:
    """Why a host is not; nothing where it says itself that it takes none."""
    refused = ssh(target, "true", "PubkeyAuthentication=no", "PreferredAuthentications=none")
    methods = login_methods(refused.stderr)
    left = [method for method in methods if method in PASSWORD_METHODS]
    if left:
        return f"{target.user} could still log in by {' and '.join(left)}: look for a Match in its sshd_config"
    return "" if methods else f"it did not say how one may log in: {last_words(refused.stderr)}"


def close_doors(target: Target, doors: Doors) -> bool:
    """Whether anything had to be changed. The host rolls back unless it is told that a new login works."""
    command = target.ssh(as_root(close_doors_script(doors), target.user))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as session:
        answer = session.stdout.readline().strip() if session.stdout else ""
        complaint = ""
        if answer == READY:
            login = newly_let_in(target)
            if login.returncode != 0:
                complaint = f"a new login by key failed: {last_words(login.stderr)}"
            elif not doors.password:
                complaint = proof_against_passwords(target)
        _, errors = session.communicate("" if complaint else f"{KEEP}\n")
    if complaint:
        raise BootstrapError(f"{target} has its old sshd settings back, since {complaint}.")
    if answer not in (SAME, READY) or session.returncode != 0:
        raise BootstrapError(f"{target} has its old sshd settings: {last_words(errors)}.")
    return answer == READY


def take_over(target: Target, password: str, doors: Doors) -> list[str]:
    """What was done to the host, nothing where it was all there."""
    done = []

    def secret() -> str:
        if not password:
            raise PasswordMissing
        return password

    if ssh(target, "true").returncode != 0:
        install_key_by_password(target, secret())
        login = ssh(target, "true")
        if login.returncode != 0:
            raise BootstrapError(
                f"{target} has the key now and still refuses it for {target.user}: {last_words(login.stderr)}. Look at"
                " PubkeyAuthentication and AuthorizedKeysFile in its sshd_config, and at the rights of the home folder."
            )
        done.append("key installed")
    if ssh(target, as_root("true", target.user)).returncode != 0:
        let_sudo_do_without_password(target, secret())
        done.append("sudo without a password")
    if doors.settings and close_doors(target, doors):
        done.append("sshd: " + ", ".join(doors.settings))
    return done


def would_take_over(target: Target, doors: Doors) -> list[str]:
    if ssh(target, "true").returncode != 0:
        return ["key to install"]
    if ssh(target, as_root("true", target.user)).returncode != 0:
        return ["sudo without a password to set up"]
    if not doors.settings:
        return []
    look = ssh(target, as_root(close_doors_script(doors, only_look=True), target.user))
    return ["sshd to set"] if look.stdout.strip() == READY else []


class ActionModule(ActionBase):
    """Documented in library/ssh_bootstrap.py.

    The password is read from a variable and is no argument, since arguments of tasks are shown and recorded.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        variables, args = task_vars or {}, self._task.args
        target = Target(
            host=variables["inventory_hostname"],
            address=args["address"],
            port=int(args["port"]),
            user=args["user"],
            key=Path(args["key"]).expanduser(),
            known_hosts=Path(args["known_hosts"]).expanduser(),
        )
        doors = Doors(password=args["password_login"], root=args["root_login"])
        password = str(self._templar.template(variables[args["password_variable"]]))
        try:
            if target.user == "root" and not doors.root:
                raise BootstrapError(
                    f"{target} is reached as root: with bootstrap_root_login=false name another user in ansible_user,"
                    " who may use sudo."
                )
            done = would_take_over(target, doors) if self._task.check_mode else take_over(target, password, doors)
        except PasswordMissing:
            if args["password_may_follow"]:
                return {**result, "needs_password": True}
            msg = (
                f"{target} wants a password for {target.user} and there is none: run in a terminal to be asked, or set"
                " RACKMARK_BOOTSTRAP_PASSWORD in the environment, or bootstrap_password in a vault."
            )
            return {**result, "failed": True, "msg": msg}
        except (BootstrapError, OSError) as error:
            return {**result, "failed": True, "msg": str(error)}
        return {**result, "changed": bool(done), "done": done, "needs_password": False}
