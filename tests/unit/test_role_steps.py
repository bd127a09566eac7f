"""The plays of site.yml as one table: which roles a host gets in which order, and the tags of their steps."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PLAYS = yaml.safe_load((ROOT / "playbooks/roles.yml").read_text())
IMPORT, INCLUDE = "ansible.builtin.import_tasks", "ansible.builtin.include_tasks"


def whole_roles(play):
    imported = [task["ansible.builtin.import_role"] for task in play["tasks"]]
    return [role["name"] for role in imported if "tasks_from" not in role]


def roles_of(*groups):
    """In the order of site.yml."""
    patterns = {play["name"]: play["hosts"].split(":") for play in PLAYS}
    return [role for play in PLAYS if {"all", *groups} & set(patterns[play["name"]]) for role in whole_roles(play)]


ROLES = [role for play in PLAYS for role in whole_roles(play)]


def tags_of(task):
    tags = task.get("tags", [])
    return {tags} if isinstance(tags, str) else set(tags)


def without_a_step(role, file="main.yml"):
    """Tasks that no ROLE_install, ROLE_configure or ROLE_run reaches."""
    steps = {f"{role}_{step}" for step in ("install", "configure", "run")}
    for task in yaml.safe_load((ROOT / "roles" / role / "tasks" / file).read_text()):
        has_step = bool(tags_of(task) & steps)
        included = task.get(INCLUDE)
        if IMPORT in task and not has_step:
            yield from without_a_step(role, task[IMPORT])
        elif not has_step:
            yield task["name"]
        elif isinstance(included, str):  # tags of such a task are not those of what it includes
            yield from without_a_step(role, included)
            yield from tags_inside(role, included) - tags_of(task)


def tags_inside(role, file):
    return {
        tag for task in yaml.safe_load((ROOT / "roles" / role / "tasks" / file).read_text()) for tag in tags_of(task)
    }


@pytest.mark.parametrize("role", ROLES)
def test_every_task_of_a_role_is_reached_by_the_tag_of_a_step(role):
    assert list(without_a_step(role)) == []


def test_rolling_applies_the_roles_of_a_compute_node_in_the_order_of_site():
    plays = yaml.safe_load((ROOT / "playbooks/rolling.yml").read_text())
    (play,) = [play for play in plays if play["name"] == "Change the nodes, batch by batch"]
    applied = []
    for task in play["tasks"]:
        if "ansible.builtin.include_role" in task:
            applied += task.get("loop", [task["ansible.builtin.include_role"]["name"]])
    assert applied == [role for role in roles_of("slurm_compute", "docker_hosts") if role in applied]
    assert set(roles_of("slurm_compute", "docker_hosts")) == set(applied)


def test_packages_of_every_role_are_installed_in_one_go():
    first = PLAYS[0]
    named = [Path(path).parts[2] for path in first["vars_files"]]
    texts = " ".join(str(value) for value in first["vars"].values())
    with_packages = [role for role in ROLES if (ROOT / "roles" / role / "vars/main/packages.yml").exists()]
    without_own = {"base", "nvidia"}  # base installs them; what role nvidia has comes from a source that it brings
    assert sorted(named) == sorted(set(with_packages) - without_own)
    assert [role for role in named if f"_{role}_packages" not in texts] == []
