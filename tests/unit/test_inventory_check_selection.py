"""Tags and hosts on the command line: those that do not exist, and operations done in part."""

from __future__ import annotations

import pytest
from unit.validate_fixture import (
    ROOT,
    inventory,
)


def test_tags_and_hosts_that_do_not_exist_are_named_before_any_host_is_touched(validate, tmp_path):
    limit = tmp_path / "limit"
    limit.write_text("head\nnode7\n")
    wrong = ("--tags", "slrum,base", "--skip-tags", "dockr", "--limit", f"node1,nosuch,@{limit}")
    status, output = validate(inventory(), *wrong, playbook="site.yml")
    assert status == 2
    assert "--tags names 'slrum', and site.yml has no such tag: did you mean slurm?" in output
    assert "--skip-tags names 'dockr', and site.yml has no such tag: did you mean docker?" in output
    assert "--limit names 'nosuch', which is no host or group of the inventory: the hosts are head,node[1-2]." in output
    assert "--limit names 'node7'" in output
    assert "UNREACHABLE" not in output


@pytest.mark.parametrize("playbook", ["add_nodes", "remove_nodes", "rolling", "rotate_secrets", "drain", "resume"])
def test_operations_are_not_done_in_part(validate, playbook):
    status, output = validate(inventory(), "--tags", "slurm", "-e", "nodes=node1", playbook=f"playbooks/{playbook}.yml")
    assert status == 2
    assert "--tags names" in output
    assert "leave --tags out" in output


@pytest.mark.parametrize("playbook", ["add_nodes", "remove_nodes", "rolling", "drain", "resume"])
def test_operations_need_the_controller(validate, playbook):
    arguments = ("--limit", "node1", "-e", "nodes=node1")
    status, output = validate(inventory(), *arguments, playbook=f"playbooks/{playbook}.yml")
    assert status == 2
    assert f"--limit leaves out head, and {playbook}.yml asks Slurm there: leave --limit out" in output


@pytest.mark.parametrize("playbook", ["analyze", "bootstrap_ssh", "compare", "lab_down", "lab_up", "report"])
def test_tags_are_refused_also_where_no_cluster_is_needed(validate, playbook):
    status, output = validate(inventory(), "--tags", "slrum", playbook=f"playbooks/{playbook}.yml")
    assert status != 0
    assert f"--tags names 'slrum', and {playbook}.yml has no tags: leave --tags out." in output


def test_the_tags_that_site_has_are_those_of_its_roles(validate):
    status, output = validate(inventory(), "--tags", "xyz", playbook="site.yml")
    assert status == 2
    said = output.partition("it has ")[2].partition(";")[0].split(", ")
    roles = {path.name for path in (ROOT / "roles").iterdir()} - {
        "bootstrap",
        "benchmark",
        "cluster",
        "lab",
        "modelarts",
    }
    assert set(said) == {*roles, "clocks", "leftovers"}


@pytest.mark.parametrize("playbook", ["add_nodes", "remove_nodes", "rolling", "rotate_secrets"])
def test_a_step_of_a_role_is_no_part_of_an_operation(validate, playbook):
    arguments = ("--tags", "munge_configure", "-e", "nodes=node1")
    status, output = validate(inventory(), *arguments, playbook=f"playbooks/{playbook}.yml")
    assert status == 2
    assert "--tags names" in output
    assert "leave --tags out" in output


def test_a_misspelt_step_of_a_role_is_named(validate):
    status, output = validate(inventory(), "--tags", "slurm_configre,munge_run", playbook="site.yml")
    assert status == 2
    assert "--tags names 'slurm_configre', and site.yml has no such tag: did you mean slurm_configure?" in output


def test_secrets_are_not_replaced_on_a_part_of_the_hosts(validate):
    status, output = validate(inventory(), "--limit", "all:!node2", playbook="playbooks/rotate_secrets.yml")
    assert status == 2
    assert "--limit leaves out node2, and rotate_secrets.yml needs every host of the inventory" in output
    assert "remove_nodes.yml -e nodes=node2" in output
    silent = inventory({"cluster_probe": True}, head={"ansible_connection": "local"})
    status, output = validate(silent, playbook="playbooks/rotate_secrets.yml")
    assert status == 2
    assert "or take it out of the cluster first (playbooks/remove_nodes.yml -e nodes=node1,node2)" in output


@pytest.mark.parametrize("playbook", ["rank_table", "run", "lab_up"])
def test_a_limit_that_leaves_out_this_machine_is_refused_where_all_is_done_here(validate, playbook):
    arguments = ("--limit", "node1", "-e", "launcher=local")
    status, output = validate(inventory(), *arguments, playbook=f"playbooks/{playbook}.yml")
    assert status != 0
    assert "--limit node1 leaves out localhost, the machine on which this playbook works" in output
    assert "leave --limit out" in output


def test_a_task_to_start_at_that_does_not_exist_is_an_error(validate):
    status, output = validate(inventory(), "--start-at-task", "nosuch", playbook="site.yml")
    assert status == 2
    assert "--start-at-task names 'nosuch', and site.yml has no such task" in output


def test_words_that_set_no_variable_are_refused(validate):
    status, output = validate(inventory(), "-e", "fast")
    assert status == 2
    assert "-e has 'fast', which sets no variable: write name=value" in output
