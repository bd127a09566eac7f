"""What Slurm prints, read."""

from __future__ import annotations

import json

from rackmark.slurm_jobs import parse_jobs, progress
from rackmark.slurm_nodes import complaint, parse_sinfo, take_census

SCONTROL = (
    "JobId=12 JobName=rackmark:r:2n1g:1 UserId=a(1) GroupId=a(1) MCS_label=N/A Priority=42 JobState=RUNNING Reason=None"
    " Dependency=(null) ExitCode=0:0 StartTime=2026-11-18T10:00:00 EndTime=2026-11-18T10:10:00 NodeList=node[1-2]\n"
    "JobId=13 JobName=rackmark:r:1n1g:1 UserId=a(1) JobState=NODE_FAIL Reason=NodeDown ExitCode=1:0"
    " StartTime=2026-11-18T10:00:00 EndTime=2026-11-18T10:00:30 NodeList=node3 BatchHost=node3\n"
    "JobId=14 JobName=rackmark:r:4n1g:1 JobState=PENDING Reason=Dependency ExitCode=0:0 StartTime=Unknown"
    " EndTime=Unknown NodeList=(null)\n"
)


def job(name, folder, nodes=1):
    case = name.split(":")[2]
    return {"name": name, "case": case, "repeat": 1, "nodes": nodes, "devices_per_node": 1, "folder": str(folder)}


def test_jobs_by_name_with_what_ended_them():
    jobs = parse_jobs(SCONTROL)
    failed = jobs["rackmark:r:1n1g:1"]
    assert (failed.job_id, failed.state, failed.reason, failed.exit_code, failed.nodes) == (
        13,
        "NODE_FAIL",
        "NodeDown",
        "1:0",
        "node3",
    )
    assert failed.end - failed.start == 30
    assert failed.finished
    assert not jobs["rackmark:r:2n1g:1"].finished
    waiting = jobs["rackmark:r:4n1g:1"]
    assert (waiting.finished, waiting.nodes, waiting.start) == (False, None, None)


def test_no_jobs():
    assert parse_jobs("No jobs in the system\n") == {}


def test_progress_shows_the_rate_of_all_ranks(tmp_path):
    step = {"event": "step", "time": 1.0, "step": 3, "samples": 8, "seconds": 0.5, "loss": 7.0}
    (tmp_path / "rank-0.log").write_text(f"noise\nRACKMARK {json.dumps(step)}\nRACKMARK " + '{"event": "step", "st')
    jobs = [
        job("rackmark:r:2n1g:1", tmp_path, nodes=2),
        job("rackmark:r:1n1g:1", tmp_path / "none"),
        job("rackmark:r:4n1g:1", tmp_path / "none", nodes=4),
    ]
    assert progress(jobs, parse_jobs(SCONTROL)) == "1 of 3 jobs done; 2n1g r1 step 3, 32 samples/s; 1 waiting"


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
