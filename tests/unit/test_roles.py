"""Rules that hold for every role."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jinja2 import Environment, nodes
from rackmark.inventory_check.values import faults
from rackmark.role_specs import read_roles

ROOT = Path(__file__).parents[2]
ROLES = sorted((ROOT / "roles").iterdir())
TEMPLATES = sorted(ROOT.glob("roles/*/templates/*"))
SPECIFIED = read_roles(ROOT / "roles")
CLUSTER = next(role for role in SPECIFIED if role.name == "cluster")
GENERATED_ELSEWHERE = {"manifest.json.j2"}  # JSON has no comments


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_documented_variables_are_those_with_a_default(role):
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    spec = yaml.safe_load((role / "meta/argument_specs.yml").read_text())
    first = next(iter(spec["argument_specs"].values()))
    assert sorted(defaults) == sorted(first["options"])


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_carry_the_name_of_their_role(role):
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    assert [name for name in defaults if not name.startswith(f"{role.name}_")] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_generated_file_says_that_it_is_generated(template):
    if template.name not in GENERATED_ELSEWHERE:
        assert "ansible_managed" in template.read_text()


def undeclared(texts):
    """Names that templates read."""
    used = [name for text in texts for name in Environment().parse(text).find_all(nodes.Name)]
    return {name.name for name in used} - {name.name for name in used if name.ctx == "store"}


def templates_in(data):
    if isinstance(data, dict):
        conditions = data.get("when", [])  # without braces
        whens = [f"{{{{ {text} }}}}" for text in (conditions if isinstance(conditions, list) else [conditions])]
        return whens + [text for value in data.values() for text in templates_in(value)]
    if isinstance(data, list):
        return [text for value in data for text in templates_in(value)]
    return [data] if isinstance(data, str) and "{{" in data else []


@pytest.mark.parametrize("role", SPECIFIED, ids=lambda role: role.name)
def test_defaults_are_what_the_documentation_allows(role):
    literal = {name: value for name, value in role.defaults.items() if not templates_in(value)}
    assert [fault for name, value in literal.items() for fault in faults(name, role.options[name], value)] == []


@pytest.mark.parametrize("role", [role for role in ROLES if role.name != "cluster"], ids=lambda role: role.name)
def test_variables_of_the_cluster_have_their_defaults_from_role_cluster_alone(role):
    paths = [path for part in ("defaults", "vars", "tasks", "templates") for path in role.glob(f"{part}/**/*.*")]
    texts = "\n".join(path.read_text() for path in paths if path.suffix in {".yml", ".j2"})
    code = "\n".join(re.findall(r"{{.*?}}|{%.*?%}", texts, re.DOTALL))
    read = re.findall(rf"\b(?:{'|'.join(CLUSTER.defaults)})\b(?!'\])[^}}]{{0,12}}", code)
    assert [use for use in read if "| default(" in use] == []
    about = role / "meta/main.yml"
    dependencies = (yaml.safe_load(about.read_text()) if about.exists() else {}).get("dependencies", [])
    assert ("cluster" in dependencies) == bool(read)


def test_every_part_of_a_role_that_playbooks_play_is_documented():
    parts = {(role.name, part) for role in SPECIFIED for part in role.parts} | {("cluster", "check")}
    played = [entry for path in ROOT.glob("playbooks/*.yml") for entry in roles_in(yaml.safe_load(path.read_text()))]
    assert [
        entry
        for entry in played
        if "tasks_from" in entry and "{{" not in entry["tasks_from"] and part_of(entry) not in parts
    ] == []


def part_of(entry):
    return entry["name"], entry["tasks_from"].removesuffix(".yml")


def roles_in(data):
    """What plays say of the roles that they import or include."""
    for value in data if isinstance(data, list) else data.values() if isinstance(data, dict) else []:
        yield from roles_in(value)
    if isinstance(data, dict):
        yield from (
            data[f"ansible.builtin.{way}_role"]
            for way in ("import", "include")
            if f"ansible.builtin.{way}_role" in data
        )


def test_every_short_name_that_roles_and_playbooks_read_is_documented_and_no_other():
    command_line = ROOT / "roles/cluster/vars/main/command_line.yml"
    documented = yaml.safe_load(command_line.read_text())["_cluster_command_line"]
    roles = [text for role in SPECIFIED for text in templates_in(role.defaults)]
    assert {name for name in undeclared(roles) if is_short(name)} <= set(documented)
    plays = [text for path in ROOT.glob("playbooks/*.yml") for text in templates_in(yaml.safe_load(path.read_text()))]
    assert set(documented) <= undeclared(roles + plays)


def is_short(name):
    magic = {"groups", "hostvars", "inventory_hostname", "lookup", "query", "role_path", "group_names"}
    prefixes = tuple(f"{role.name}_" for role in SPECIFIED)
    return name not in magic and not name.startswith(("_", "ansible_", *prefixes))


def test_a_switch_works_when_the_command_line_gives_it_as_text():
    """-e nvidia_reboot=false is the text "false", which is true."""
    switches = "|".join(name for role in SPECIFIED for name, spec in role.options.items() if spec.get("type") == "bool")
    use = re.compile(rf"\b({switches})\b(?!(?: \| default\(\w+\))? \| bool)")
    files = [
        path for folder in ("roles/*/tasks", "roles/*/vars", "playbooks") for path in ROOT.glob(f"{folder}/**/*.yml")
    ]
    texts = [text for path in files for text in templates_in(yaml.safe_load(path.read_text()))]
    texts += [path.read_text() for path in TEMPLATES]
    code = [part for text in texts for part in re.findall(r"{{.*?}}|{%.*?%}", text, re.DOTALL)]
    assert [part for part in code if use.search(part)] == []
