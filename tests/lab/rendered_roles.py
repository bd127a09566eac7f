"""Files of a role as a host would get them, made by Ansible with the role's own templates, on no host."""

from __future__ import annotations

import json
import subprocess
from os import environ
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOSTS = {
    "all": {
        "vars": {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "cluster_name": "render",
        },
        "children": {
            "slurm_controller": {"hosts": {"head": {"ansible_host": "192.0.2.10"}}},
            "slurm_database": {"hosts": {"head": {}}},
            "slurm_compute": {
                "hosts": {"node1": {"ansible_host": "192.0.2.11"}, "node2": {"ansible_host": "192.0.2.12"}}
            },
            "monitoring_server": {"hosts": {"head": {}}},
        },
    }
}
TASKS = """
- ansible.builtin.copy:
    dest: "{{ render_to }}"
    content: >-
      {{ lookup('ansible.builtin.vars', '_' ~ render_role ~ '_files') | selectattr('content', 'defined')
         | items2dict(key_name='path', value_name='content') | to_json }}
    mode: "0644"
"""
PLAY = [{"hosts": "head", "gather_facts": False, "roles": ["{{ render_role }}_rendered"]}]


def render(role: str, folder: Path, **variables: object) -> Path:
    """The folder with the role's files in it, under the paths that they have on a host."""
    stand_in = folder / "roles" / f"{role}_rendered"
    (stand_in / "tasks").mkdir(parents=True)
    (stand_in / "tasks/main.yml").write_text(TASKS)
    (stand_in / "meta").mkdir()
    (stand_in / "meta/main.yml").write_text("dependencies: [cluster]")
    for part in ("defaults", "vars", "templates"):
        (stand_in / part).symlink_to(ROOT / "roles" / role / part)
    (folder / "play.json").write_text(json.dumps(PLAY))
    (folder / "hosts.json").write_text(json.dumps(HOSTS))
    told = {"render_role": role, "render_to": str(folder / "files.json"), **variables}
    (folder / "variables.json").write_text(json.dumps(told))
    command = ["ansible-playbook", "-i", "hosts.json", "-e", "@variables.json", "play.json"]
    places = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_ROLES_PATH": f"{folder / 'roles'}:{ROOT / 'roles'}"}
    done = subprocess.run(command, cwd=folder, env={**environ, **places}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for path, content in json.loads((folder / "files.json").read_text()).items():
        place = folder / "host" / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return folder / "host"
