"""What sinfo prints, read."""

from __future__ import annotations

from rackmark.slurm_nodes import complaint, parse_sinfo, take_census


def test_nodes_that_take_jobs_and_nodes_that_do_not():
    nodes = parse_sinfo(
        "node1|idle|Unknown|none\nnode2|idle*|Unknown|none\nnode3|drained|root|disk is full\n"
        "node4|drained|slurm|Low RealMemory\nnode5|mixed|Unknown|none\n"
        "node6|drained|root|rackmark: no space on /tmp\n"  # by the health check, which runs as root
    )
    assert [name for name, node in nodes.items() if node.takes_jobs] == ["node1", "node5"]
    assert [name for name, node in nodes.items() if node.held_by_a_person] == ["node3"]
    assert nodes["node4"].reason == "Low RealMemory"


def test_a_complaint_names_every_node_its_reason_and_the_way_back():
    states = parse_sinfo(
        "node1|idle|Unknown|none\nnode2|down*|slurm|Not responding\nnode3|drained|slurm|Low RealMemory\n"
    )
    census = take_census(["node1", "node2", "node3", "node4"], states)
    assert census.fit == ["node1"]
    said = complaint(census)
    assert "does not know node4" in said
    assert "node2 is down* (Not responding); node3 is drained (Low RealMemory)" in said
    assert "scontrol update nodename=node3 state=resume" in said


def test_nothing_to_complain_about():
    assert complaint(take_census(["node1"], parse_sinfo("node1|mixed|Unknown|none\n"))) == ""
