#!/usr/bin/python
"""Ansible module: Docker's daemon.json."""

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_daemon_config
short_description: Own a part of Docker's daemon.json
description:
  - Merges options into C(daemon.json). Keys that someone else wrote stay as they are, unless C(options) names them.
    Keys that this module wrote earlier and that are no longer asked for go. What it wrote is remembered in
    C(rackmark.json) beside it.
  - The new file lands only after dockerd itself has accepted it, together with the flags that its service has. A file
    that is not JSON is refused and left alone.
  - Says what the running engine needs to follow; does not do it. Every run says so again until C(/run/rackmark-docker)
    is removed, so that an interrupted one is caught up.
options:
  defaults:
    description: Options that yield to what others have written.
    type: dict
    default: {}
  options:
    description: Options that overrule the file. A null deletes a key, whoever wrote it.
    type: dict
    default: {}
  restart:
    description: Whether the engine has to be restarted for another reason, such as new settings of its service.
    type: bool
    default: false
  path:
    description: The file.
    type: path
    default: /etc/docker/daemon.json
  settled:
    description: Set by the action of the same name, to note on the host that this is done, for the next run to know.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
    details: Where dockerd is not installed yet, the file is not validated.
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Configure Docker
  docker_daemon_config:
    defaults:
      live-restore: true
    options:
      runtimes:
        nvidia:
          path: nvidia-container-runtime
      bip: null
  register: _docker_config
  notify: Restart docker
"""

RETURN = r"""
action:
  description:
    - What the engine needs, C(none), C(reload) or C(restart). It is C(restart), too, when the program that it runs was
      replaced by an upgrade.
  type: str
  returned: always
reload_first:
  description: Whether to reload before the restart, so that an engine that would end its containers learns not to.
  type: bool
  returned: always
options:
  description: Everything in the file.
  type: dict
  returned: always
validated:
  description: Whether dockerd was asked and accepted the file; nothing is asked when nothing changes.
  type: bool
  returned: always
"""

import os
import re
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import docker_daemon, host_files, settled
from ansible.module_utils.rackmark.host_files import Wanted

PID = Path("/run/docker.pid")
PENDING = Path("/run/rackmark-docker")
VALIDATION_SECONDS = "20"


class Engine:
    """dockerd as it is installed and running on this host."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.program = module.get_bin_path("dockerd", opt_dirs=["/usr/sbin", "/usr/bin"])

    def refuses(self, options: docker_daemon.Options) -> str | None:
        """dockerd's own words against the options, None when it accepts them."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            file = Path(folder) / "daemon.json"
            file.write_text(docker_daemon.text_of(options), encoding="utf-8")
            file.chmod(0o644)
            command = [str(self.program), *self._flags(), "--config-file", str(file)]
            status, output, errors = self.module.run_command([*command, "--validate"])
            said = (errors + output).strip()
            accepted = status == 0
            if "unknown flag: --validate" in said:
                # Before Docker 23 it reads and checks the file, and only then notices that it is not root.
                nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
                _, output, errors = self.module.run_command([*nobody, "timeout", VALIDATION_SECONDS, *command])
                said = (errors + output).strip()
                accepted = "needs to be started with root" in said
        return None if accepted else said.rpartition(f"{file}: ")[2]

    def running_program(self) -> str:
        """Its path, with what the kernel adds when an upgrade has replaced it; empty when no engine runs."""
        try:
            program = os.readlink(f"/proc/{PID.read_text().strip()}/exe")
        except OSError:
            return ""
        return program if "/dockerd" in program else ""

    def _flags(self) -> list[str]:
        """An option that is in the file and among these keeps dockerd from starting."""
        show = ["systemctl", "show", "docker", "--property=ExecStart", "--value"]
        started = re.search(r"argv\[\]=(.*?) ;", self.module.run_command(show)[1])
        words = started[1].split()[1:] if started else []
        return [word for word in words if not word.startswith("$")]


def write(path: Path, text: str) -> None:
    host_files.Prepared(Wanted(path, content=text), text).land()


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "defaults": {"type": "dict", "default": {}},
            "options": {"type": "dict", "default": {}},
            "restart": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["path"])
    memory = path.with_name("rackmark.json")
    engine = Engine(module)
    old_text = host_files.read(path)
    try:
        current = docker_daemon.parse(old_text, path)
        ours_before = docker_daemon.parse(host_files.read(memory), memory)
    except ValueError as error:
        module.fail_json(msg=str(error))
    merged = docker_daemon.merge(current, ours_before, module.params["defaults"], module.params["options"])
    new_file = merged.options != current or host_files.differs_in_rights(Wanted(path, content=""))
    new_memory = merged.ours != ours_before
    if new_file and engine.program is None and not module.check_mode:
        module.fail_json(msg=f"There is no dockerd on this host to check {path} with: install Docker first.")
    validated = new_file and engine.program is not None
    refusal = engine.refuses(merged.options) if validated else None
    if refusal:
        module.fail_json(
            msg=f"{path} was left as it is, dockerd refuses the new one: {refusal}. Correct docker_options, or what"
            " others wrote into that file."
        )
    running = engine.running_program()
    action = docker_daemon.strongest(
        docker_daemon.action(current, merged.options),
        PENDING.read_text() if PENDING.exists() else "none",
        "restart" if running.endswith(" (deleted)") or module.params["restart"] else "none",
    )
    if not module.check_mode:
        if action != "none":
            PENDING.write_text(action)
        if new_memory:
            write(memory, docker_daemon.text_of(merged.ours))  # first: what lands unremembered would never go again
        if new_file:
            write(path, docker_daemon.text_of(merged.options))
        # Until the engine has followed, and has not been replaced by an upgrade.
        engine_runs = {"name": "docker", "restart_for": [engine.program] if engine.program else [], "reload_for": []}
        settled.note(module.params["settled"], files=[path, memory], absent=[PENDING], service=engine_runs)

    module.exit_json(
        changed=new_file or new_memory or action != "none",
        action=action,
        reload_first=action == "restart" and running != "" and merged.options.get("live-restore") is True,
        options=merged.options,
        validated=validated,
        diff={
            "before_header": str(path),
            "after_header": str(path),
            "before": old_text or "",
            "after": docker_daemon.text_of(merged.options) if new_file else old_text or "",
        },
    )


if __name__ == "__main__":
    main()
