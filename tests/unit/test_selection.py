"""What --limit and --tags name."""

from __future__ import annotations

import re

import pytest
from rackmark.inventory_check.selection import has_this_machine, limit_faults, part_faults, tag_faults

HOSTS = ["head", "node1", "node2", "node3"]
GROUPS = {"all": HOSTS, "ungrouped": [], "slurm_compute": HOSTS[1:], "rack_a": ["node1"]}


def limit(*patterns):
    return [f"{fault.what}: {fault.fix}" for fault in limit_faults(patterns, HOSTS, GROUPS)]


@pytest.mark.parametrize(
    "pattern",
    [
        *("node1", "!node1", "&rack_a", "all", "node*", "node?", "n[!x]de1", "node[1-2]", "~node\\d", "!~head"),
        *("rack_a[0]", "slurm_compute[0:1]", "slurm_compute[-1]", "slurm_compute[1:]", "*_a[0]"),
        *("localhost", "nfs_clients", "ungrouped"),
    ],
)
def test_patterns_that_name_something(pattern):
    assert limit(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("nosuch", "'nosuch'"),
        ("!nod9", "'nod9'"),
        ("&rack_b", "'rack_b'"),
        ("gpu*", "'gpu*'"),
        ("~gpu", "'~gpu'"),
        ("~(", "'~('"),
        ("gpus[0:1]", "'gpus[0:1]'"),
    ],
)
def test_patterns_that_name_nothing(pattern, named):
    (said,) = limit("head", pattern)
    assert said.startswith(f"--limit names {named}, which is no host or group of the inventory: ")


def test_the_nearest_name_is_offered():
    assert limit("slurm_compte") == [
        "--limit names 'slurm_compte', which is no host or group of the inventory: did you mean slurm_compute?"
    ]
    assert limit("xyz")[0].endswith(": the hosts are head,node[1-3].")


def test_a_group_that_is_known_and_has_no_host_is_no_mistake():
    assert limit("monitoring_server", "docker_hosts", "!slurm_login") == []


def tags(*asked, known=("always", "base", "slurm")):
    return [f"{fault.what}: {fault.fix}" for fault in tag_faults("--tags", asked, known, "site.yml")]


def test_tags_that_a_playbook_has():
    assert tags("base", "slurm", "all", "always", "never", "tagged", "untagged") == []


def test_tags_that_a_playbook_does_not_have():
    assert tags("base", "slrum", "xyz") == [
        "--tags names 'slrum', and site.yml has no such tag: did you mean slurm?",
        "--tags names 'xyz', and site.yml has no such tag: it has base, slurm.",
    ]
    assert tags("slurm", known=("always",)) == ["--tags names 'slurm', and site.yml has no tags: leave --tags out."]


def test_an_operation_is_not_done_in_part():
    (fault,) = part_faults(["slurm"], True, "add_nodes.yml")
    assert re.match("--tags names slurm, and add_nodes.yml only works as a whole", fault.what)
    assert list(part_faults(["slurm"], False, "site.yml")) == []
    assert list(part_faults(["all"], True, "add_nodes.yml")) == []
    assert list(part_faults(["untagged", "slurm"], True, "add_nodes.yml")) == []


@pytest.mark.parametrize(
    ("patterns", "answer"),
    [
        (["npu1"], False),
        (["all"], False),
        (["localhost"], True),
        (["npu1", "localhost"], True),
        (["local*"], True),
        (["!node1"], True),
        (["all", "!localhost"], False),
        (["npu1", "!node1"], False),
    ],
)
def test_whether_a_limit_leaves_this_machine_in(patterns, answer):
    assert has_this_machine(patterns) is answer
