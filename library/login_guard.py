#!/usr/bin/python
"""Ansible module: who may log in to a compute node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: login_guard
short_description: Require a job for users' SSH logins to a compute node
description:
  - Adds C(pam_slurm_adopt) to the account stack of C(/etc/pam.d/sshd), and keeps C(pam_systemd) from taking users
    out of their job's cgroup again. Root and administrators meet exactly what they met before, without asking Slurm.
  - No other service (C(su), C(cron), the console) is touched, and no file is named that could be missing later.
  - Before the file is changed root and the users named log in with the old and with the new stack, to an C(sshd) of
    this module's own that sees it in a mount namespace. If a login fails that works without the change, nothing is
    changed.
options:
  state:
    description: Whether there is a guard.
    type: str
    choices: [present, absent]
    default: present
  node:
    description: What Slurm calls this host.
    type: str
    default: ''
  users:
    description: Administrators by name.
    type: list
    elements: str
    default: []
  groups:
    description: Groups of administrators.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Require a job for SSH logins
  login_guard:
    node: node1
    users: [admin]
    groups: [sudo]

- name: Allow SSH logins without a job
  login_guard:
    state: absent
"""

RETURN = r"""
tried:
  description: Users who logged in to see whether they still can.
  type: list
  elements: str
  returned: when the file was changed
"""

import grp
import os
import pwd
import subprocess
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.files import write_files
from ansible.module_utils.rackmark.login_guard import COMMON_SESSION, SSHD, Guard, GuardError, guarded, unguarded

SECONDS = 30
NOBODY = 2**32 - 1  # a process that no login started
SSHD_CONFIG = """\
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM yes
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
PermitUserRC no
ForceCommand /bin/true
"""


class Door:
    """An sshd that listens nowhere, for logins with a key that is gone with it. PAM takes it for the real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o711)  # sshd reads the public key as the user
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        (folder / "user.pub").chmod(0o644)
        (folder / "known_hosts").write_text(f"localhost {(folder / 'host.pub').read_text()}")
        (folder / "config").write_text(SSHD_CONFIG.format(folder=folder))
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # missing where systemd starts an sshd for each login

    def refusal(self, user: str, stack: str) -> str | None:
        """What the user is told with this PAM stack, which nobody else sees; None for one who gets in."""
        (self.folder / "stack").write_text(stack)
        sshd = f"mount --bind {self.folder}/stack {SSHD} && exec /usr/sbin/sshd -i -f {self.folder}/config"
        known = ["GlobalKnownHostsFile=/dev/null", f"UserKnownHostsFile={self.folder}/known_hosts"]
        settings = ["BatchMode=yes", "StrictHostKeyChecking=yes", *known]
        own = ["IdentitiesOnly=yes", "ControlPath=none", f"ProxyCommand=unshare --mount sh -c '{sshd}'"]
        options = [word for setting in (*settings, *own) for word in ("-o", setting)]
        command = ["ssh", "-F", "/dev/null", "-i", str(self.folder / "user"), *options, f"{user}@localhost", "true"]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {SECONDS} s"
        return None if done.returncode == 0 else " ".join(done.stderr.split()) or f"exit status {done.returncode}"


def login_user() -> str | None:
    """Who Ansible logged in as, before it became root."""
    if os.environ.get("SUDO_USER"):
        return os.environ["SUDO_USER"]
    try:
        number = int(Path("/proc/self/loginuid").read_text())
        return pwd.getpwuid(number).pw_name if number != NOBODY else None
    except (OSError, ValueError, KeyError):
        return None


def user_exists(name: str) -> bool:
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def groups_of(user: pwd.struct_passwd) -> list[str]:
    found = []
    for number in os.getgrouplist(user.pw_name, user.pw_gid):
        try:
            found.append(grp.getgrgid(number).gr_name)
        except KeyError:  # a group without a name
            continue
    return found


def check_login_user(guard: Guard) -> None:
    name = login_user()
    if name is None:
        return
    user = pwd.getpwnam(name)
    if not guard.admits(name, user.pw_uid, groups_of(user)):
        raise GuardError(
            f"Ansible logs in to this host as {name}, who would be locked out: add {name} to slurm_access_users, or to"
            f" one of the groups of slurm_access_groups ({', '.join(guard.groups) or 'none'})."
        )


def check_sshd(module: AnsibleModule) -> None:
    status, output, errors = module.run_command(["/usr/sbin/sshd", "-T"])
    if status != 0:
        raise GuardError(f"sshd does not accept its own settings, so nothing was changed: {errors.strip()}")
    if "usepam yes" not in output.lower().splitlines():
        raise GuardError(
            "sshd does not use PAM on this host (UsePAM no), so it asks nobody who may log in: set 'UsePAM yes' in"
            " /etc/ssh/sshd_config, or slurm_access_enabled: false."
        )


def try_logins(old: str, new: str, users: list[str]) -> list[str]:
    """Users who can log in, the same with the new stack as with the old one; the one in force is not touched."""
    with tempfile.TemporaryDirectory(dir="/run", prefix="rackmark-login-") as folder:
        door = Door(Path(folder))
        before = {user: door.refusal(user, old) for user in users}
        welcome = [user for user, said in before.items() if said is None]
        if not welcome:
            said = "; ".join(f"{user}: {words}" for user, words in before.items())
            raise GuardError(
                f"{SSHD} was left as it is, since no login could be tried even without the change ({said})."
            )
        refused = {user: said for user in welcome for said in [door.refusal(user, new)] if said}
    if refused:
        said = "; ".join(f"{user}: {words}" for user, words in refused.items())
        raise GuardError(f"{SSHD} was left as it is: with the new one administrators could not log in ({said}).")
    return welcome


def main() -> None:
    names = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "node": {"type": "str", "default": ""},
            "users": names,
            "groups": names,
        },
        required_if=[("state", "present", ["node"])],
        supports_check_mode=True,
    )
    params, path = module.params, Path(SSHD)
    present = params["state"] == "present"
    result: dict[str, object] = {"changed": False}
    try:
        old = path.read_text() if path.exists() or present else ""
        new = unguarded(old)
        if present:
            guard = Guard(params["node"], params["users"], params["groups"])
            check_sshd(module)
            check_login_user(guard)
            new = guarded(old, Path(COMMON_SESSION).read_text(), guard)
        if new != old:
            result = {
                "changed": True,
                "diff": {"before_header": SSHD, "after_header": SSHD, "before": old, "after": new},
            }
            if not module.check_mode:
                known = [user for user in params["users"] if user_exists(user)]
                users = list(dict.fromkeys(["root", *known, *filter(None, [login_user()])]))
                result["tried"] = try_logins(old, new, users)
                write_files(path.parent, {path.name: new.encode()})
    except (GuardError, OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
