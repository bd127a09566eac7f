"""The collection rackmark.core in a folder where nothing else of Rackmark is, with Ansible's own settings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
import yaml
from unit.validate_fixture import inventory

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
COUNTING = ROOT / "tests/workloads/counting"


class Elsewhere:
    def __init__(self, folder):
        self.folder = folder
        self.tree = folder / "ansible_collections/rackmark/core"

    def run(self, *words):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "RACKMARK_"))}
        path = f"{BIN}:{os.environ['PATH']}"
        environment = {**kept, "PATH": path, "HOME": str(self.folder), "ANSIBLE_COLLECTIONS_PATH": str(self.folder)}
        done = subprocess.run(
            list(map(str, words)), cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def play(self, playbook, *words, inventory="/dev/null"):
        return self.run("ansible-playbook", f"rackmark.core.{playbook}", "-i", inventory, *words)

    def inventory(self, **variables):
        path = self.folder / "hosts.yml"
        path.write_text(yaml.safe_dump(inventory(variables)))
        return path


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    built = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, ROOT / "collection/build.py", built], check=True)
    (archive,) = built.iterdir()
    made = Elsewhere(tmp_path_factory.mktemp("empty"))
    status, said = made.run("ansible-galaxy", "collection", "install", archive, "-p", ".", "--offline")
    assert status == 0, said
    return made


def test_wrong_names_and_tags_are_refused_as_in_the_clone(elsewhere):
    status, said = elsewhere.play("validate", inventory=elsewhere.inventory(slurm_confg={}))
    assert status != 0
    assert "did you mean slurm_config?" in said
    status, said = elsewhere.play("site", "--tags", "slrum", inventory=elsewhere.inventory())
    assert status != 0
    assert "--tags names 'slrum', and rackmark.core.site has no such tag: did you mean slurm?" in said


def test_a_good_inventory_is_accepted_in_its_own_words(elsewhere):
    (elsewhere.folder / "ansible.cfg").write_text("[defaults]\nstdout_callback = rackmark.core.rackmark\n")
    status, said = elsewhere.play("validate", inventory=elsewhere.inventory())
    (elsewhere.folder / "ansible.cfg").unlink()
    assert status == 0, said
    assert "3 hosts and 1 variables checked; SSH was not asked." in said
    assert re.search(r"^ +0:0\d  cluster: Check the inventory .* 1 ok$", said, re.MULTILINE)


def test_a_run_leaves_its_report_here_and_nothing_in_the_collection(elsewhere):
    given = {"benchmark_workload": str(COUNTING), "launcher": "local", "preset": "lab", "repeats": 1}
    status, said = elsewhere.play("run", "-e", json.dumps(given))
    assert status == 0, said
    latest = elsewhere.folder / "reports/runs/latest"
    assert json.loads((latest / "summary.json").read_text())["state"] == "ok"
    assert (latest / "report.html").stat().st_size > 0
    commit = json.loads((latest / "manifest.json").read_text())["software"]["rackmark"]
    assert commit == (elsewhere.tree / "COMMIT").read_text().strip()
    status, said = elsewhere.play("report")
    assert status == 0, said
    status, said = elsewhere.run("ansible-galaxy", "collection", "verify", "rackmark.core", "--offline")
    assert status == 0, said


def test_every_playbook_is_there_by_its_name(elsewhere):
    names = {path.stem for folder in (ROOT, ROOT / "playbooks") for path in folder.glob("*.yml")} - {"ansible-lint"}
    assert {path.stem for path in (elsewhere.tree / "playbooks").iterdir()} == names
    playbooks = sorted(f"rackmark.core.{name}" for name in names)
    status, said = elsewhere.run("ansible-playbook", *playbooks, "-i", elsewhere.inventory(), "--syntax-check")
    assert status == 0, said
    status, said = elsewhere.play("run_resnet", "-e", "launcher=local", "-e", "preset=lab", "--check")
    assert status == 0, said
    assert "ResNet-50" in said


def test_ansible_runner_plays_it(elsewhere):
    place = elsewhere.folder / "private"
    (place / "inventory").mkdir(parents=True)
    elsewhere.inventory().rename(place / "inventory/hosts.yml")
    status, said = elsewhere.run("ansible-runner", "run", place, "-p", "rackmark.core.validate")
    assert status == 0, said
    assert "SSH was not asked" in said


def test_a_role_and_a_module_are_of_use_in_a_playbook_of_ones_own(elsewhere):
    play = {
        "hosts": "localhost",
        "connection": "local",
        "vars": {"munge_controller": "localhost", "ansible_python_interpreter": "/usr/bin/python3"},
        "roles": ["rackmark.core.munge"],
        "tasks": [
            {"rackmark.core.host_files": {"files": [{"path": str(elsewhere.folder / "made"), "content": "made"}]}},
            {"ansible.builtin.debug": {"msg": "{{ ['node1', 'node2'] | rackmark.core.hostlist }}"}},
        ],
    }
    (elsewhere.folder / "own.yml").write_text(yaml.safe_dump([play]))
    skipped = ("--skip-tags", "munge_run")  # not every machine of tests has systemd
    status, said = elsewhere.run("ansible-playbook", "own.yml", "-i", "localhost,", "--check", *skipped)
    assert status == 0, said
    assert "TASK [rackmark.core.munge : Install the munge key on every host]" in said
    assert "node[1-2]" in said


def test_no_filter_is_looked_for_without_the_name_of_the_collection(elsewhere):
    """Ansible finds those of a collection in no other way, and not before a template is used."""
    documented = elsewhere.run("ansible-doc", "-t", "filter", "-l", "--json", "rackmark.core")[1]
    ours = {name.rpartition(".")[2] for name in json.loads(documented)}
    assert "hostlist" in ours
    used = {name for path in templates(elsewhere.tree) for name in filters_of(path)}
    assert {name for name in used if name in ours} == set()
    assert {name.rpartition(".")[2] for name in used if name.startswith("rackmark.core.")} <= ours


def templates(tree):
    for folder in ("playbooks", "roles"):
        yield from (path for path in (tree / folder).rglob("*") if path.suffix in (".yml", ".j2"))


def filters_of(path):
    text = path.read_text()
    parts = [text] if path.suffix == ".j2" else strings(yaml.safe_load(text))
    for part in parts:
        try:
            tree = jinja2.Environment().parse(part if "{{" in part or "{%" in part else f"{{{{ {part} }}}}")
        except jinja2.TemplateSyntaxError:
            continue  # words, not a template
        for used in tree.find_all(jinja2.nodes.Filter):
            yield used.name
            if used.name == "map" and used.args and isinstance(used.args[0], jinja2.nodes.Const):
                yield used.args[0].value


def strings(value):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def test_the_clone_itself_is_refused_as_a_collection(tmp_path):
    """Its plugins are in other folders: what would be built there would have none."""
    for folder in (ROOT, ROOT / "collection"):
        command = [BIN / "ansible-galaxy", "collection", "build", folder, "--output-path", tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "galaxy.yml" in done.stderr
    assert list(tmp_path.iterdir()) == []
