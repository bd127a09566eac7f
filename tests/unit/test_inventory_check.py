"""What is found wrong with values, names, groups, hosts and ports, and how it is said."""

from __future__ import annotations

import pytest
from rackmark.inventory_check import cluster, names, values
from rackmark.inventory_check.problems import COMMAND_LINE, Problems, shown

SPEC = {
    "x_count": {"type": "int"},
    "x_share": {"type": "float"},
    "x_on": {"type": "bool"},
    "x_kind": {"type": "str", "choices": ["nfs", "existing"]},
    "x_auto": {"type": "str", "choices": ["auto", "true", "false"]},
    "x_dir": {"type": "path", "default": "/x"},
    "x_hosts": {"type": "list", "elements": "str"},
    "x_options": {"type": "dict"},
    "x_password": {"type": "int"},
    "x_hidden": {"type": "int", "no_log": True},
    "x_parts": {
        "type": "list",
        "elements": "dict",
        "options": {
            "name": {"type": "str", "required": True, "description": "What it is called."},
            "nodes": {"type": "int"},
            "token": {"type": "int"},
        },
    },
}


def said(name, value):
    return [f"{fault.what}: {fault.fix}" for fault in values.faults(name, SPEC[name], value)]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("x_count", [4, "4", "-1"]),
        ("x_share", [0.5, 1, "0.5"]),
        ("x_on", [True, "yes", "false", "on", 0]),
        ("x_kind", ["nfs", None]),
        ("x_auto", ["auto", "true", True]),
        ("x_hosts", [[], ["a", "b"], [1]]),
        ("x_options", [{}, {"a": [1]}]),
        ("x_parts", [[], [{"name": "a"}, {"name": "b", "nodes": "3"}]]),
    ],
)
def test_right_values(name, right):
    assert [said(name, value) for value in right] == [[]] * len(right)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("x_count", "four", "x_count is 'four': use a whole number."),
        ("x_count", True, "x_count is true: use a whole number."),
        ("x_count", 1.5, "x_count is 1.5: use a whole number."),
        ("x_share", "half", "x_share is 'half': use a number."),
        ("x_on", "maybe", "x_on is 'maybe': use true or false."),
        ("x_kind", "nsf", "x_kind is 'nsf': use one of nfs, existing (did you mean nfs?)."),
        ("x_dir", None, "x_dir is empty: give it a value, or remove it."),
        ("x_dir", ["a"], "x_dir is a list: use a path."),
        ("x_hosts", ["a", {"b": 1}], "x_hosts[1] is a mapping: use text."),
        (
            "x_parts",
            [{"name": "a", "node": 3}],
            "x_parts[0] has 'node': use one of name, nodes, token (did you mean nodes?).",
        ),
        ("x_parts", [{"nodes": 3}], "x_parts[0] has no name: add it: What it is called."),
        ("x_parts", [{"name": "a", "nodes": "all"}], "x_parts[0].nodes is 'all': use a whole number."),
    ],
)
def test_a_wrong_value_is_named_with_what_to_do(name, value, sentence):
    assert said(name, value) == [sentence]


def test_text_where_structure_is_wanted_says_how_to_write_it_on_the_command_line():
    assert said("x_hosts", "a,b") == [
        """x_hosts is 'a,b': use a list; on the command line -e '{"x_hosts": ["a", "b"]}'."""
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x_password", "s3cret"),
        ("x_hidden", "s3cret"),
        ("x_parts", [{"name": "a", "token": "s3cret"}]),
        ("x_parts", "s3cret"),
        ("x_parts", ["s3cret"]),
    ],
)
def test_secrets_are_never_shown(name, value):
    (sentence,) = said(name, value)
    assert "s3cret" not in sentence
    assert "wrong (its value is not shown)" in sentence


def test_urls_are_shown_without_their_credentials():
    assert shown("http://me:s3cret@proxy:80") == "'http://***@proxy:80'"


def test_one_line_for_the_same_problem_of_many_hosts():
    problems = Problems(["head", "node1", "node2", "node3"])
    for host in ("node1", "node2", "node3"):
        problems.add("b is 7", "use 6.", host)
    for host in ("head", "node1", "node2", "node3"):
        problems.add("c is 7", "use 6.", host)
    problems.add("d is 7", "use 6.", COMMAND_LINE)
    problems.add("a is missing", "add it.")
    assert problems.lines() == [
        "a is missing: add it.",
        "b is 7 (node[1-3]): use 6.",
        "c is 7 (all hosts): use 6.",
        "d is 7 (-e): use 6.",
    ]


KNOWN = names.Known(
    {
        "slurm": ["slurm_partitions", "slurm_config"],
        "slurm_health": ["slurm_health_disks"],
        "cluster": ["cluster_name"],
    },
    ["nodes", "repeats"],
)


def test_a_misspelt_variable_of_ansible_is_seen():
    assert names.meant_by("ansible_hst") == "ansible_host"
    assert names.meant_by("ansible_ssh_private_key") == "ansible_ssh_private_key_file"
    for right in ("ansible_host", "ansible_become_password", "ansible_version", "ansible_my_own", "ansible_sudo_pass"):
        assert names.meant_by(right) is None


def test_a_misspelt_name_leads_to_the_right_one():
    assert KNOWN.explain("slurm_partitons") == (
        "slurm_partitons is not a variable of role slurm",
        "did you mean slurm_partitions?",
    )
    assert KNOWN.explain("node") == ("node is not a variable that a playbook knows", "did you mean nodes?")
    assert KNOWN.explain("slurm_zzz")[1] == "roles/slurm/README.md lists those that are."
    assert KNOWN.role_of("slurm_health_dsks") == "slurm_health"
    assert "nodes" in KNOWN
    assert "slurm_partitons" not in KNOWN


def test_a_misspelt_beginning_is_seen_and_a_variable_of_ones_own_is_none():
    assert KNOWN.meant_by("slrum_config") == "slurm_config"
    assert KNOWN.meant_by("clutser_name") == "cluster_name"
    for own in ("my_cluster_name", "site", "rack_name", "customer_name"):
        assert KNOWN.meant_by(own) is None


def host(name, number, **more):
    variables = {"cluster_shared_storage": "existing", **more.pop("variables", {})}
    return cluster.Host(name, more.get("address", f"192.0.2.{number}"), more.get("port", "22"), True, variables)


def faulty(hosts, **groups):
    """Lines for a cluster of these hosts: a controller and the others, and more groups."""
    problems = Problems([host.name for host in hosts])
    of_all = {"slurm_controller": [hosts[0].name], "slurm_compute": [host.name for host in hosts[1:]], **groups}
    cluster.check(cluster.Cluster({host.name: host for host in hosts}, of_all), problems)
    return problems.lines()


HOSTS = [host("head", 10), host("node1", 11), host("node2", 12), host("node3", 13)]


def test_a_right_cluster_has_no_problems():
    assert faulty(HOSTS) == []
    assert faulty(HOSTS, slurm_compute_a=["node1"], slurm_login=["node2"], rack1=["node1", "node2"]) == []


def test_a_cluster_needs_a_controller_and_nodes():
    (line,) = faulty(HOSTS, slurm_controller=[])
    assert line.startswith("The inventory has 0 hosts in slurm_controller and 3 in slurm_compute")
    assert "lab_up.yml" in line
    assert "-i" in line


def test_a_group_with_a_misspelt_name():
    assert faulty(HOSTS, slurm_computes=["node1", "new"]) == [
        "slurm_computes is not a group that Rackmark knows (new,node1): did you mean slurm_compute?"
    ]


@pytest.mark.parametrize("group", ["slurm_database", "nfs_server", "monitoring_server"])
def test_groups_of_one_host(group):
    lines = faulty(HOSTS, **{group: ["node1", "node2"]})
    assert f"{group} has 2 hosts, node[1-2]: leave 1 of them in it." in lines


def test_a_second_controller_is_a_backup_and_needs_shared_state():
    (line,) = faulty(HOSTS, slurm_controller=["head", "node1"])
    assert line.startswith("slurm_controller has two hosts, head,node1, and slurm_state_dir is not set: ")
    shared = [host("head", 10, variables={"slurm_state_dir": "/userhome/slurm"}), *HOSTS[1:]]
    assert faulty(shared, slurm_controller=["head", "node1"]) == []
    lines = faulty(shared, slurm_controller=["head", "node1", "node2"])
    assert lines == ["slurm_controller has 3 hosts, head,node[1-2]: leave 2 of them in it."]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (host("node2", 11), "node1 and node2 have the same address 192.0.2.11, port 22"),
        (host("node1.b", 12), "node1 and node1.b have the same short name node1"),
        (host("node2", 12, address=None), "ansible_host is missing (node2)"),
        (host("node2", 12, address="node2.example.org"), "ansible_host is 'node2.example.org' (node2)"),
        (host("node2", 12, port="ssh"), "ansible_port is 'ssh' (node2)"),
        (host("node2", 12, port="70000"), "ansible_port is '70000' (node2)"),
        (host("node2", 12, port="0"), "ansible_port is '0' (node2)"),
        (host("node_2", 12), "node_2 cannot be the name of a host"),
        (host("Node2", 12), "Node2 cannot be the name of a host"),
        (host("192.0.2.12", 12), "192.0.2.12 cannot be the name of a host"),
        (host("localhost", 12), "localhost is a host of the inventory"),
        (host("node2", 12, port="70000"), "ansible_port is '70000' (node2)"),
        (host("node2", 12, port="0"), "ansible_port is '0' (node2)"),
        (host("node2", 12, address="2001:db8::2"), "ansible_host is the IPv6 address 2001:db8::2 (node2)"),
        (
            host("node2", 12, variables={"cluster_shared_storage": "nfs"}),
            "cluster_shared_storage is existing on head,node1 and nfs on node2",
        ),
        (
            host("node2", 12, variables={"cluster_devices_per_node": 8, "ascend_device_addresses": ["192.0.2.99"]}),
            "ascend_device_addresses has 1 addresses and cluster_devices_per_node is 8 (node2)",
        ),
    ],
)
def test_a_host_that_cannot_be_part_of_a_cluster(wrong, words):
    (line,) = faulty([*HOSTS[:2], wrong])
    assert line.startswith(f"{words}: ")


def test_hosts_behind_one_address_are_told_apart_by_their_port():
    assert faulty([HOSTS[0], host("node1", 11), host("node2", 11, port="2222")]) == []


def test_a_host_on_its_way_out_must_be_in_the_inventory():
    leaving = [host("head", 10, variables={"cluster_leaving": ["nod1"]}), *HOSTS[1:]]
    assert any("'nod1', which is not in the inventory: did you mean node1?" in line for line in faulty(leaving))


def test_shared_storage_by_nfs_needs_a_server_and_all_hosts_of_slurm_as_clients():
    hosts = [host(one.name, number, variables={"cluster_shared_storage": "nfs"}) for number, one in enumerate(HOSTS)]
    assert faulty(hosts)[0].startswith("cluster_shared_storage is 'nfs' and nfs_server has no host")
    (line,) = faulty(hosts, nfs_server=["head"], nfs_clients=["node1"])
    assert line.startswith("nfs_clients lacks node[2-3]")
    assert faulty(hosts, nfs_server=["head"], nfs_clients=["node1", "node2", "node3"]) == []
    assert faulty(HOSTS, nfs_server=["head"])[0].startswith(
        "nfs_server is head and cluster_shared_storage is 'existing'"
    )
