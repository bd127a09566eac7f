#!/usr/bin/python
"""Ansible module: Debian packages, all of a host in one go."""

from __future__ import annotations

DOCUMENTATION = r"""
module: deb_packages
short_description: Install Debian packages where they are missing
description:
  - Looks into dpkg's database first. Where everything is installed nothing else happens, no package list is read and
    nothing is downloaded, which makes this several times faster than C(ansible.builtin.apt) on a host that is as it
    should be.
  - Otherwise finishes what an interrupted dpkg left behind, refreshes the package lists where they are old, and
    installs without recommended packages.
  - Daemons are not started by their installation; the role that configures one starts it.
  - Where something else is at work with apt or dpkg, an upgrade by the system or a run that was cut off, it is waited
    for, up to a quarter of an hour, and said whom for.
options:
  names:
    description: Packages, as C(name) or C(name=version).
    type: list
    elements: str
    required: true
  refresh:
    description: Read the package lists again although they are not old, since a source is new.
    type: bool
    default: false
  lists_age:
    description: Seconds after which package lists are old.
    type: int
    default: 86400
  settled:
    description: Set by the action of the same name, to note on the host that this is done, for the next run to know.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Install munge
  deb_packages:
    names: [munge]

- name: Install from a source that was just added
  deb_packages:
    names: [docker-ce]
    refresh: "{{ _docker_source is changed }}"
"""

RETURN = r"""
installed:
  description: Packages that were missing.
  type: list
  elements: str
  returned: always
packages_present:
  description: All packages asked for, which are installed now.
  type: list
  elements: str
  returned: without check mode, by the action
busy:
  description: The process that held dpkg's or apt's lock, so that nothing was done. The action waits and asks again.
  type: str
  returned: when one did
"""

import os
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import dpkg, settled

LISTS = Path("/var/lib/apt/lists")
# apt asks this program before it starts a daemon; 101 means no.
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = "#!/bin/sh\n# Rackmark, while it installs packages\nexit 101\n"
APT = [
    "apt-get",
    "--yes",
    "--quiet",
    "--no-install-recommends",
    "--option=Dpkg::Options::=--force-confdef",
    "--option=Dpkg::Options::=--force-confold",
    f"--option=DPkg::Lock::Timeout={dpkg.LOCK_SECONDS}",
    "--option=Acquire::Retries=3",
]


def lists_are_old(max_age: int) -> bool:
    stamps = [path.stat().st_mtime for path in LISTS.glob("*_Packages*")] if LISTS.is_dir() else []
    return not stamps or time.time() - max(*stamps, LISTS.stat().st_mtime) > max_age


def run(module: AnsibleModule, command: list[str], purpose: str) -> None:
    environment = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "NEEDRESTART_SUSPEND": "1"}
    status, output, errors = module.run_command(command, environ_update=environment)
    if status != 0:
        give_way(module, errors)
        said = [line for line in (errors + output).splitlines() if line.startswith(("E:", "dpkg: error", "W: Failed"))]
        module.fail_json(
            msg=f"{purpose} failed: {' / '.join(said[:5]) or (errors or output)[-500:]}. Look at the package sources"
            f" of this host (/etc/apt) and at its network, then run '{' '.join(command)}' there.",
            stdout=output[-4000:],
            stderr=errors[-4000:],
        )


def give_way(module: AnsibleModule, errors: str = "") -> None:
    """dpkg has no patience of its own, and apt's is silent: the action of the same name waits."""
    if busy := dpkg.at_work(errors):
        module.exit_json(changed=False, installed=[], busy=busy)


def install(module: AnsibleModule, packages: list[str], interrupted: bool) -> None:
    give_way(module)
    own_policy = not POLICY.exists() or POLICY.read_text() == POLICY_TEXT  # ours may be left from a power cut
    try:
        if own_policy:
            POLICY.write_text(POLICY_TEXT)
            POLICY.chmod(0o755)
        if interrupted:
            run(
                module,
                ["dpkg", "--configure", "--pending", "--force-confdef", "--force-confold"],
                "Finishing dpkg's work",
            )
            run(module, [*APT, "--fix-broken", "install"], "Repairing half-installed packages")
        if not packages:
            return
        if module.params["refresh"] or lists_are_old(module.params["lists_age"]):
            run(module, [*APT, "update"], "Reading the package lists")
        run(module, [*APT, "--allow-downgrades", "install", *packages], f"Installing {', '.join(packages)}")
    finally:
        if own_policy:
            POLICY.unlink(missing_ok=True)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "refresh": {"type": "bool", "default": False},
            "lists_age": {"type": "int", "default": 86400},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    if not dpkg.STATUS.exists():
        module.fail_json(msg=f"This host has no {dpkg.STATUS}: Rackmark provisions Debian and Ubuntu hosts.")
    status = dpkg.STATUS.read_text(encoding="utf-8", errors="replace")
    interrupted = dpkg.interrupted(status)
    absent = dpkg.missing(dict.fromkeys(module.params["names"]), dpkg.installed_versions(status))
    if (absent or interrupted) and not module.check_mode:
        install(module, absent, interrupted)
        os.sync()  # a power cut right after must not find a package that is recorded and not written
    if not module.check_mode:
        settled.note(module.params["settled"], packages=module.params["names"])
    module.exit_json(changed=bool(absent or interrupted), installed=absent)


if __name__ == "__main__":
    main()
