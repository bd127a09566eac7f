#!/usr/bin/python
"""Ansible module: Slurm's configuration on a controller, written and in force."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_config
short_description: Write Slurm's configuration on a controller and bring it into force
description:
  - Writes the files, and when slurmctld runs makes it take them over, by C(scontrol reconfigure) where that is enough
    and by a restart of slurmctld where it is not. Running jobs survive both.
  - What was last brought into force is kept on the host, so that a run that was interrupted after writing is made good
    by the next one.
  - Slurm reads the new files before they land; when slurmctld does not come up with them, the old ones are put back.
options:
  files:
    description: Content of each file by its name, one of them slurm.conf.
    type: dict
    required: true
  folder:
    description: Where Slurm looks for its configuration.
    type: path
    default: /etc/slurm
  in_force:
    description: Folder for the copy of what is in force.
    type: path
    default: /var/lib/slurm/in_force
  timeout:
    description: Seconds that slurmctld has to answer after a restart.
    type: int
    default: 60
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Write Slurm's configuration and bring it into force
  slurm_config:
    files:
      slurm.conf: "{{ lookup('ansible.builtin.template', 'slurm.conf.j2') }}"
      cgroup.conf: "{{ lookup('ansible.builtin.template', 'cgroup.conf.j2') }}"
"""

RETURN = r"""
how:
  description: >-
    How the change came into force, C(nothing), C(written) (slurmctld was not running), C(reconfigure) or C(restart).
  type: str
  returned: always
parameters:
  description: Parameters and files that changed.
  type: list
  elements: str
  returned: always
"""

import shutil
import tempfile
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.files import changed_files, write_files
from ansible.module_utils.rackmark.slurm_change import effect


def read_folder(folder: Path, names: list[str]) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in names if (folder / name).is_file()}


class Controller:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.files: dict[str, str] = {name: text for name, text in module.params["files"].items() if text}
        self.unwanted = sorted(set(module.params["files"]) - set(self.files))
        self.folder = Path(module.params["folder"])
        self.in_force = Path(module.params["in_force"])
        names = list(module.params["files"])
        self.old = read_folder(self.folder, names)
        self.last = read_folder(self.in_force, names)

    def run(self, *words: str, environment: dict[str, str] | None = None) -> str | None:
        """None when the command ended well, else what it said."""
        status, output, errors = self.module.run_command(list(words), environ_update=environment or {})
        return None if status == 0 else (errors or output).strip()

    def is_running(self) -> bool:
        return self.run("systemctl", "is-active", "--quiet", "slurmctld") is None

    def answers(self) -> bool:
        return self.run("sinfo", "--noheader") is None

    def check(self) -> None:
        """Slurm's own reader refuses what it does not know; a client reads the same file as the daemons."""
        if shutil.which("scontrol") is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), {name: text.encode() for name, text in self.files.items()})
            Path(folder).chmod(0o755)
            said = self.run(
                "scontrol", "show", "hostnames", "node1", environment={"SLURM_CONF": f"{folder}/slurm.conf"}
            )
        if said:
            self.module.fail_json(
                msg=f"Slurm refuses the new slurm.conf, the old one is left as it is: {said}. Look at slurm_config and"
                " slurm_partitions in the inventory.",
            )

    def write(self, files: dict[str, str]) -> None:
        write_files(self.folder, {name: text.encode() for name, text in files.items()})
        for name in set(self.module.params["files"]) - set(files):
            (self.folder / name).unlink(missing_ok=True)

    def bring_into_force(self, how: str) -> None:
        if how == "restart":
            said = self.run("systemctl", "restart", "slurmctld") or self.wait()
            if said:
                self.write(self.old)
                self.run("systemctl", "restart", "slurmctld")
                self.module.fail_json(
                    msg=f"slurmctld does not come up with the new configuration ({said}); the old one is back in place."
                    " Its own words are in 'journalctl -u slurmctld' and in /var/log/slurm/slurmctld.log on this host."
                )
        # The nodes have their configuration from slurmctld, and get the new one by this.
        said = self.run("scontrol", "reconfigure")
        if said:
            self.module.fail_json(msg=f"'scontrol reconfigure' failed: {said}")

    def wait(self) -> str | None:
        deadline = time.monotonic() + self.module.params["timeout"]
        while time.monotonic() < deadline:
            if self.answers():
                return None
            if not self.is_running():
                return "it ended"
            time.sleep(0.2)
        return f"no answer in {self.module.params['timeout']} seconds"

    def remember(self) -> None:
        write_files(self.in_force, {name: text.encode() for name, text in self.files.items()})
        for name in self.unwanted:
            (self.in_force / name).unlink(missing_ok=True)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "dict", "required": True},
            "folder": {"type": "path", "default": "/etc/slurm"},
            "in_force": {"type": "path", "default": "/var/lib/slurm/in_force"},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    controller = Controller(module)
    to_write = changed_files(controller.folder, {name: text.encode() for name, text in controller.files.items()})
    changed = bool(to_write) or controller.old != controller.files or controller.last != controller.files
    needed = effect(controller.last, controller.files)
    how = needed.how if controller.is_running() else "written"
    if changed and not module.check_mode:
        controller.check()
        controller.write(controller.files)
        if how in ("reconfigure", "restart"):
            controller.bring_into_force(how)
        controller.remember()
    diff = [
        {
            "before_header": str(controller.folder / name),
            "after_header": str(controller.folder / name),
            "before": controller.old.get(name, ""),
            "after": controller.files.get(name, ""),
        }
        for name in sorted(module.params["files"])
        if controller.old.get(name) != controller.files.get(name)
    ]
    module.exit_json(changed=changed, how=how if changed else "nothing", parameters=needed.changed, diff=diff)


if __name__ == "__main__":
    main()
