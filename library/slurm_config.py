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
  - Before the files land, a slurmctld that is shut off from the network reads them as a whole and tells what is wrong.
  - When the real slurmctld does not come up with them, or does not take them over, those that were in force are put
    back, and a slurmctld that ran before runs again.
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
    default: /var/lib/rackmark/slurm_in_force
  remarks:
    description: What the operator should know of this configuration, in sentences; they become warnings.
    type: list
    elements: str
    default: []
  timeout:
    description: >-
      Seconds that a slurmctld which is alive has to answer after a restart. One that has ended is not waited for.
    type: int
    default: 300
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

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import service_wait, slurm_trial
from ansible.module_utils.rackmark.files import changed_files, write_files
from ansible.module_utils.rackmark.slurm_change import effect, parameters

TRIAL_SECONDS = 60
LARGEST_FILE = 2**20


def read_folder(folder: Path, names: list[str]) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in names if (folder / name).is_file()}


class Controller:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.service = service_wait.Service("slurmctld", module.run_command)
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

    def fault(self) -> str | None:
        return self.run("sinfo", "--noheader")

    def check(self) -> None:
        with tempfile.TemporaryDirectory(prefix="rackmark-slurm-") as name:
            folder = Path(name)
            said = self.reader_refuses(folder) or self.controller_refuses(folder)
        if said:
            self.module.fail_json(
                msg=f"Slurm refuses the new slurm.conf, the old one is left as it is: {said}. Look at slurm_config and"
                " slurm_partitions in the inventory.",
            )

    def reader_refuses(self, folder: Path) -> str | None:
        """What Slurm does not know: a client reads the same file as the daemons."""
        if shutil.which("scontrol") is None:
            return None
        write_files(folder, {name: text.encode() for name, text in self.files.items()})
        environment = {"SLURM_CONF": f"{folder}/slurm.conf"}
        return self.run("scontrol", "show", "hostnames", "node1", environment=environment)

    def controller_refuses(self, folder: Path) -> str | None:
        """What a slurmctld that begins with these files ends of; None, too, where the host lets none be shut off."""
        if not all(map(shutil.which, ("slurmctld", "unshare", "ip"))) or self.run(
            "unshare", "--net", "--pid", "--fork", "true"
        ):
            return None
        left_out = {*self.module.params["files"], "slurmdbd.conf"}
        others = (path for path in self.folder.glob("*.conf") if path.name not in left_out)
        files = {
            path.name: path.read_bytes() for path in others if path.is_file() and path.stat().st_size < LARGEST_FILE
        }
        files.update({name: text.encode() for name, text in self.files.items()})
        inside, text = folder / "trial", self.files["slurm.conf"]
        hostname = socket.gethostname().partition(".")[0]
        files["slurm.conf"] = slurm_trial.trial_copy(text, str(inside), hostname).encode()
        write_files(inside, files)
        (inside / "state").mkdir()
        user = slurm_trial.slurm_user(parameters(text))
        try:
            for path in (*inside.iterdir(), inside):
                shutil.chown(path, user)
        except LookupError:
            return f"SlurmUser={user} is no user of this host"
        inside.chmod(0o700)  # what operators add to Slurm's folder may hold passwords
        folder.chmod(0o711)
        return self.said_by_trial([*shlex.split(slurm_trial.COMMAND), str(inside / "slurm.conf")], folder / "said")

    def said_by_trial(self, command: list[str], output: Path) -> str | None:
        with output.open("wb") as file, subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        ) as trial:
            try:
                deadline = time.monotonic() + TRIAL_SECONDS
                while time.monotonic() < deadline:
                    ended = trial.poll() is not None
                    said = output.read_text(errors="replace")
                    if slurm_trial.is_in_charge(said):
                        return None
                    if ended:
                        return slurm_trial.refusal(said) or f"slurmctld ended with it and said: {said.strip()[-300:]}"
                    time.sleep(0.02)
                return f"slurmctld had not begun to work with it after {TRIAL_SECONDS} s"
            finally:
                # Not unshare alone: slurmctld becomes another user, and so no longer ends with its parent.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(trial.pid, signal.SIGKILL)

    def write(self, files: dict[str, str]) -> None:
        write_files(self.folder, {name: text.encode() for name, text in files.items()})
        for name in set(self.module.params["files"]) - set(files):
            (self.folder / name).unlink(missing_ok=True)

    def bring_into_force(self, how: str) -> None:
        if how == "restart":
            said = self.restart()
            if said:
                self.put_back(f"slurmctld does not come up with the new configuration: {said}")
        # The nodes have their configuration from slurmctld, and get the new one by this.
        said = self.run("scontrol", "reconfigure")
        if said:
            self.put_back(f"slurmctld does not take the new configuration over ({said}). {self.service.last_words()}")

    def restart(self) -> str | None:
        self.run("systemctl", "daemon-reload")
        began = time.time()
        said = self.run("systemctl", "restart", "slurmctld")
        if said:
            return f"{said} {self.service.last_words(began)}"
        wrong = service_wait.wait(self.service, self.fault, self.module.params["timeout"], second_chance=False)
        return f"it {wrong}" if wrong else None

    def put_back(self, fault: str) -> None:
        """What was in force, which may be other than what lay there before: a person may have edited that."""
        self.write(self.last or self.old)
        said = self.restart()
        outcome = f" slurmctld does not come up with that either: {said}" if said else ""
        self.module.fail_json(msg=f"{fault} So the old one is back in place.{outcome}")

    def remember(self) -> None:
        write_files(self.in_force, {name: text.encode() for name, text in self.files.items()})
        for name in self.unwanted:
            (self.in_force / name).unlink(missing_ok=True)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "dict", "required": True},
            "folder": {"type": "path", "default": "/etc/slurm"},
            "in_force": {"type": "path", "default": "/var/lib/rackmark/slurm_in_force"},
            "remarks": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": service_wait.PATIENCE},
        },
        supports_check_mode=True,
    )
    for remark in module.params["remarks"]:
        module.warn(remark)
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
