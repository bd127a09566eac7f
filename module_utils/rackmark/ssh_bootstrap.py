"""From a host that asks for a password to one that asks for a key: what is compared, said and run on the way."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

# What a server may offer, the best first.
KEY_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
CONNECT_SECONDS = 10
# Ways to log in that take a password.
PASSWORD_METHODS = ("password", "keyboard-interactive")


class BootstrapError(Exception):
    """Why a host cannot be taken over, as a sentence with the way out."""


@dataclass(frozen=True)
class Target:
    """Where and as whom to log in, and how the host and this side prove who they are."""

    host: str
    address: str
    port: int
    user: str
    key: Path
    known_hosts: Path

    def __str__(self) -> str:
        return f"{self.host} ({known_name(self.address, self.port)})"

    def ssh(self, command: str, *options: str) -> list[str]:
        """A new login by key, as Ansible makes it, that never rides on an open connection and never asks."""
        settings = (
            "BatchMode=yes",
            "ControlMaster=no",
            "ControlPath=none",
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=yes",
            "UpdateHostKeys=no",
            f"UserKnownHostsFile={self.known_hosts}",
            f"ConnectTimeout={CONNECT_SECONDS}",
            "ServerAliveInterval=10",
            *options,
        )
        dashed = [word for setting in settings for word in ("-o", setting)]
        where = ["-i", str(self.key), "-p", str(self.port), "-l", self.user, self.address]
        return ["ssh", *dashed, *where, command]


@dataclass(frozen=True)
class HostKey:
    kind: str
    blob: str

    @property
    def fingerprint(self) -> str:
        """As ssh-keygen -l shows it."""
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    def line(self, address: str, port: int) -> str:
        return f"{known_name(address, port)} {self.kind} {self.blob}"


def known_name(address: str, port: int) -> str:
    """The name of a host in known_hosts."""
    return address if port == 22 else f"[{address}]:{port}"


def host_keys(lines: str) -> list[HostKey]:
    """Keys in lines of known_hosts, as ssh-keyscan and ssh-keygen -F print them; the best kind first."""
    words = [line.split() for line in lines.splitlines() if not line.startswith("#")]
    keys = [HostKey(parts[1], parts[2]) for parts in words if len(parts) >= 3 and parts[1] in KEY_TYPES]
    return sorted(keys, key=lambda key: KEY_TYPES.index(key.kind))


def trusted_key(target: Target, shown: list[HostKey], known: list[HostKey]) -> HostKey | None:
    """The shown key that known_hosts vouches for; None for a host that it does not know."""
    if not known:
        return None
    for key in shown:
        if key in known:
            return key
    name = known_name(target.address, target.port)
    raise BootstrapError(
        f"{target} shows the host key {_listed(shown)}, but {target.known_hosts} has {_listed(known)}: it was installed"
        " anew, or somebody answers in its place. Compare with 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub' on"
        f" its console; if that is the new one, run \"ssh-keygen -R '{name}' -f {target.known_hosts}\" and try again."
    )


def vouched_key(target: Target, shown: list[HostKey], fingerprint: str) -> HostKey:
    """The shown key with the fingerprint that the operator gave."""
    for key in shown:
        if key.fingerprint == fingerprint:
            return key
    raise BootstrapError(
        f"{target} shows the host key {_listed(shown)}, but bootstrap_fingerprints says {fingerprint}: correct it, or"
        " find out who answers at this address."
    )


def _listed(keys: Iterable[HostKey]) -> str:
    return ", ".join(f"{key.fingerprint} ({key.kind})" for key in keys)


def login_methods(ssh_errors: str) -> list[str]:
    """What a server that refused ssh would have accepted; nothing where it did not say."""
    said = re.search(r"Permission denied \(([^)]*)\)", ssh_errors)
    return said[1].split(",") if said else []


def last_words(errors: str) -> str:
    """What ssh or ssh-keyscan said at the end, without its own name in front."""
    lines = [line.strip() for line in errors.splitlines() if line.strip() and not line.startswith("#")]
    return re.sub(r"^ssh: ", "", lines[-1]) if lines else "it said nothing"


def as_root(script: str, user: str, asks_password: bool = False) -> str:
    """Command that runs a script as root; a password that sudo asks for comes from standard input."""
    command = f"sh -c {shlex.quote(script)}"
    if user == "root":
        return command
    return f"sudo -S -p '' {command}" if asks_password else f"sudo -n {command}"


def add_key_script(public_key: str) -> str:
    """Lets a key in, beside those that are there."""
    key = shlex.quote(public_key.strip())
    return f"""set -eu
umask 077
mkdir -p ~/.ssh
file=~/.ssh/authorized_keys
touch "$file"
grep -qxF -- {key} "$file" && exit 0
[ -z "$(tail -c 1 "$file")" ] || echo >> "$file"
printf '%s\\n' {key} >> "$file"
"""


def sudo_script(user: str) -> str:
    """Lets a user become root without a password, if sudo's own checker agrees."""
    file = "/etc/sudoers.d/rackmark-" + re.sub(r"[^A-Za-z0-9_-]", "_", user)
    rule = shlex.quote(f"{user} ALL=(ALL:ALL) NOPASSWD: ALL")
    return f"""set -eu
umask 227
new=$(mktemp {file}.XXXXXX)
trap 'rm -f "$new"' EXIT
printf '%s\\n' '# Rackmark: its playbooks become root without a password.' {rule} > "$new"
visudo -cqf "$new"
chmod 0440 "$new"
mv "$new" {file}
"""


@dataclass(frozen=True)
class Doors:
    """Which ways in stay open."""

    password: bool = True
    root: bool = True

    @property
    def settings(self) -> list[str]:
        """Lines for sshd. The first word on a setting wins, so they stand before all others."""
        closed: list[str] = []
        if not self.password:
            # The older name of KbdInteractiveAuthentication, which all releases know.
            closed += ["PasswordAuthentication no", "ChallengeResponseAuthentication no"]
        if not self.root:
            closed.append("PermitRootLogin no")
        return ["PubkeyAuthentication yes", *closed] if closed else []

    @property
    def effective(self) -> list[str]:
        """What sshd says of itself then."""
        renamed = {"challengeresponseauthentication": "kbdinteractiveauthentication"}
        pairs = (setting.lower().split() for setting in self.settings)
        return [f"{renamed.get(name, name)} {value}" for name, value in pairs]


# Answers of the script below.
SAME, READY, RESTORED = "same", "ready", "restored"
KEEP = "keep"


def close_doors_script(doors: Doors, only_look: bool = False) -> str:
    """Changes sshd's settings while the connection it came by stays open, and waits for a word.

    Anything but KEEP on standard input, also the end of the connection, puts everything back.
    """
    content = "".join(f"{line}\\n" for line in doors.settings)
    effective = shlex.quote("\n".join(doors.effective))
    return f"""set -u
umask 077
export PATH="$PATH:/usr/sbin:/sbin"
directory=/etc/ssh/sshd_config.d
file=$directory/00-rackmark.conf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '# Rackmark: keys only, as playbooks/bootstrap_ssh.yml was asked.\\n{content}' > "$work/new"
if ! grep -Eiq '^[[:space:]]*Include[[:space:]]+"?/etc/ssh/sshd_config\\.d/' /etc/ssh/sshd_config; then
    file=/etc/ssh/sshd_config
    (echo '# BEGIN Rackmark'; cat "$work/new"; echo '# END Rackmark'
     sed '/^# BEGIN Rackmark$/,/^# END Rackmark$/d' $file) > "$work/whole"
    mv "$work/whole" "$work/new"
fi
in_effect() {{ [ "$(sshd -T 2>/dev/null | grep -ixF -e {effective} | sort -u | wc -l)" -eq {len(doors.effective)} ]; }}
reload() {{ ! systemctl is-active --quiet ssh || systemctl reload ssh; }}
place() {{
    if [ -e $file ]; then cp -p $file $file.new; else mkdir -p $directory; install -m 0644 /dev/null $file.new; fi
    cat "$1" > $file.new
    mv $file.new $file
}}
put_back() {{ if [ -e "$work/old" ]; then place "$work/old"; else rm -f $file; fi; }}
give_up() {{ put_back; echo "$*" >&2; exit 1; }}
if cmp -s "$work/new" $file && in_effect; then echo {SAME}; exit 0; fi
{"echo " + READY + "; exit 0" if only_look else ""}
[ ! -e $file ] || cp -p $file "$work/old"
place "$work/new"
said=$(sshd -t 2>&1) || give_up "sshd refuses the new settings, they were taken back: $said"
in_effect || give_up "another line in /etc/ssh wins over $file, which was taken back: look at 'sshd -T'"
reload || give_up "sshd could not be reloaded, the new settings were taken back: look at 'systemctl status ssh'"
echo {READY}
answer=
read -r answer || true
if [ "$answer" != {KEEP} ]; then put_back; reload; echo {RESTORED}; fi
"""
