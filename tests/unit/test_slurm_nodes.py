"""What sinfo prints, read."""

from __future__ import annotations

from pathlib import Path

import yaml
from rackmark.slurm_nodes import ROLLING_REASON, complaint, parse_sinfo, take_census

ROOT = Path(__file__).parents[2]


def test_nodes_that_take_jobs_and_nodes_that_do_not():
    nodes = parse_sinfo(
        "node1|idle|Unknown|none\nnode2|idle*|Unknown|none\nnode3|drained|root|disk is full\n"
        "node4|drained|slurm|Low RealMemory\nnode5|mixed|Unknown|none\n"
        "node6|drained|root|rackmark: no space on /tmp\n"  # by the health check, which runs as root
    )
    assert [name for name, node in nodes.items() if node.takes_jobs] == ["node1", "node5"]
    assert [name for name, node in nodes.items() if node.held_by_a_person] == ["node3"]
    assert nodes["node4"].reason == "Low RealMemory"


def test_what_rolling_left_drained_is_nobodys_wish():
    nodes = parse_sinfo(
        "node1|drained|root|changed by rolling.yml\nnode2|drained*|root|changed by rolling.yml\n"
        "node3|draining|root|changed by rolling.yml\nnode4|idle|root|changed by rolling.yml\n"
        "node5|drained|root|changed by rolling.yml, and noisy\nnode6|down|root|changed by rolling.yml\n"
    )
    census = take_census(nodes, nodes)
    assert [node.name for node in census.left_by_rolling] == ["node1", "node2", "node3"]
    assert census.fit == ["node4"]
    assert [node.name for node in census.held] == ["node5"]
    assert [node.name for node in census.unfit] == ["node6"]


def test_rolling_and_its_healing_know_the_same_reason():
    (play,) = (play for play in yaml.safe_load((ROOT / "playbooks/rolling.yml").read_text()) if "serial" in play)
    assert play["vars"]["_reason"] == ROLLING_REASON
    healing = yaml.safe_load((ROOT / "roles/slurm/tasks/left_by_rolling.yml").read_text())
    (resume,) = (task["slurm_node_state"] for task in healing if "slurm_node_state" in task)
    assert resume["only_reason"] == ROLLING_REASON


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
