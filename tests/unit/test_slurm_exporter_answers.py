"""What the Slurm exporter makes of the words of Slurm's commands, as recorded from Slurm 22.05 and 24.11."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "roles/slurm_exporter/files"))

from slurm_exporter import jobs, nodes, searches, services
from slurm_exporter.command import SlurmError
from unit.slurm_jobs_fixture import JOBS, NOW, squeue

NODE_22_05 = (
    "NodeName=node1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=1 CPUEfctv=2 CPUTot=2 CPULoad=0.97 AvailableFeatures=(null)"
    " ActiveFeatures=(null) Gres=(null) NodeAddr=node1 NodeHostName=node1 Version=22.05.8 OS=Linux 6.18.44 #1 SMP"
    " PREEMPT_DYNAMIC @0  RealMemory=22899 AllocMem=0 FreeMem=13527 Sockets=1 Boards=1 State=MIXED ThreadsPerCore=1"
    " TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=compute  BootTime=1794992588 SlurmdStartTime=1795046400"
    " LastBusyTime=1795046400 CfgTRES=cpu=2,mem=22899M,billing=2 AllocTRES=cpu=1 CapWatts=n/a CurrentWatts=0 AveWatts=0"
    " ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s\n"
)


# The reason has a second line, which scontrol joins behind who gave it.
NODE_24_11 = (
    "NodeName=node2 Arch=x86_64 CoresPerSocket=2  CPUAlloc=2 CPUEfctv=2 CPUTot=2 CPULoad=4.03 AvailableFeatures=(null)"
    " ActiveFeatures=(null) Gres=gpu:ascend:8 NodeAddr=node2 NodeHostName=node2 Version=24.11.5 OS=Linux 6.18.44 #1 SMP"
    " PREEMPT_DYNAMIC @0  RealMemory=22899 AllocMem=0 FreeMem=7745 Sockets=1 Boards=1 State=ALLOCATED+DRAIN"
    " ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=compute,urgent  BootTime=1794992588"
    " SlurmdStartTime=1795047067 LastBusyTime=1795047066 ResumeAfterTime=None"
    " CfgTRES=cpu=2,mem=22899M,billing=2,gres/gpu=8 AllocTRES=cpu=2,gres/gpu=4"
    " CurrentWatts=0 AveWatts=0  Reason=bad [root@1795047169]        fan é\n"
)


def test_nodes_of_both_slurms():
    found = nodes.parse_nodes((NODE_22_05 + NODE_24_11).encode())
    assert {state: count for state, count in found.states.items() if count} == {"mixed": 1, "draining": 1}
    assert set(found.states) == set(nodes.STATES)
    assert {name: sum(states.values()) for name, states in found.partitions.items()} == {"compute": 2, "urgent": 1}
    assert found.cpus == {"allocated": 3, "idle": 1, "other": 0, "total": 4}
    assert found.devices == {("compute", "gpu"): 8, ("urgent", "gpu"): 8}
    assert found.out_of_service == [("node2", "draining", "bad fan é")]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("IDLE", "idle"),
        ("IDLE+CLOUD", "idle"),
        ("IDLE+DYNAMIC_NORM", "idle"),
        ("IDLE*", "not_responding"),
        ("IDLE+NOT_RESPONDING", "not_responding"),
        ("UNKNOWN+NOT_RESPONDING", "unknown"),
        ("IDLE+COMPLETING", "completing"),
        ("IDLE+PLANNED", "planned"),
        ("IDLE+RESERVED", "reserved"),
        ("RESERVED", "reserved"),
        ("IDLE+POWERED_DOWN", "power_saving"),
        ("IDLE~", "power_saving"),
        ("IDLE#", "power_saving"),
        ("IDLE+CLOUD+POWER", "power_saving"),
        ("MAINT", "maintenance"),
        ("IDLE+MAINTENANCE", "maintenance"),
        ("MIXED$", "mixed"),
        ("MIXED+PLANNED", "mixed"),
        ("MIXED-", "mixed"),
        ("MIXED+COMPLETING", "mixed"),
        ("ALLOCATED+REBOOT_REQUESTED", "allocated"),
        ("ALLOCATED@", "allocated"),
        ("ALLOCATED*", "not_responding"),
        ("IDLE+REBOOT_ISSUED", "rebooting"),
        ("DOWN^", "rebooting"),
        ("DOWN+MAINTENANCE", "maintenance"),
        ("DOWN*$", "maintenance"),
        ("MIXED+MAINTENANCE+DRAIN", "draining"),
        ("DOWN+MAINTENANCE+DRAIN", "drained"),
        ("DOWN+CLOUD+POWERED_DOWN", "power_saving"),
        ("DOWN+POWERING_UP+NOT_RESPONDING", "power_saving"),
        ("DOWN#", "power_saving"),
        ("DOWN+FAIL+POWERED_DOWN", "fail"),
        ("MIXED+DRAIN", "draining"),
        ("ALLOCATED*+DRAIN", "draining"),
        ("IDLE+COMPLETING+DRAIN", "draining"),
        ("DRAINING*", "draining"),
        ("IDLE+DRAIN", "drained"),
        ("DRAINED~", "drained"),
        ("DOWN*+DRAIN", "drained"),
        ("IDLE+DRAIN+INVALID_REG", "drained"),
        ("IDLE+MAINTENANCE+DRAIN", "drained"),
        ("DOWN", "down"),
        ("DOWN*", "down"),
        ("DOWN*+", "down"),
        ("DOWN+NOT_RESPONDING", "down"),
        ("IDLE+INVALID_REG", "down"),
        ("INVAL", "down"),
        ("IDLE+FAIL", "fail"),
        ("FAILING*", "fail"),
        ("UNKNOWN", "unknown"),
        ("FUTURE", "unknown"),
        ("SOMETHING_NEW", "unknown"),
    ],
)
def test_a_node_is_in_one_state(text, state):
    assert nodes.state_of(nodes.flags_of(text)) == state


def node_line(name, state, reason=""):
    return f"NodeName={name} CPUAlloc=0 CPUTot=2 State={state} Partitions=compute{reason and f' Reason={reason}'}\n"


def test_nodes_without_power_are_named():
    states = {
        "off": "IDLE+CLOUD+POWERED_DOWN",
        "going": "IDLE+POWERING_DOWN",
        "coming": "MIXED+POWERING_UP+NOT_RESPONDING",
        "old": "IDLE~",
        "drained": "IDLE+DRAIN+POWERED_DOWN",
        "asked": "IDLE+POWER_DOWN",
        "on": "IDLE",
        "broken": "DOWN*",
    }
    found = nodes.parse_nodes("".join(node_line(*item) for item in states.items()).encode())
    assert found.powered_down == ["off", "going", "coming", "old", "drained"]
    assert [gone.node for gone in found.out_of_service] == ["drained", "broken"]


def test_a_node_that_did_not_come_back_from_saving_power_is_down():
    reason = "ResumeTimeout reached [slurm@2026-11-19T00:00:00]"
    found = nodes.parse_nodes(node_line("n1", "DOWN+CLOUD+POWERED_DOWN", reason).encode())
    assert found.out_of_service == [("n1", "down", "ResumeTimeout reached")]
    assert found.powered_down == ["n1"]


@pytest.mark.parametrize(
    ("gres", "devices"),
    [
        ("(null)", {}),
        ("gpu:8", {"gpu": 8}),
        ("gpu:a100:8(S:0-1)", {"gpu": 8}),
        ("gpu:a100:4(S:0,2),gpu:h100:2(S:1),nic:2", {"gpu": 6, "nic": 2}),
        ("shard:no_consume:4K", {"shard": 4096}),
    ],
)
def test_devices_of_a_node(gres, devices):
    assert nodes.devices_of(gres) == devices


def test_a_reason_of_any_size_is_one_bounded_line():
    reason = 'Reason=a "q" \\ b\tc [root@1795047169]        NodeName=evil State=X ' + "0" * 5000
    (gone,) = nodes.parse_nodes(f"NodeName=n1 CPUAlloc=0 CPUTot=2 State=IDLE+DRAIN {reason}\n".encode()).out_of_service
    assert gone.reason.startswith('a "q" \\ b c NodeName=evil State=X 000')
    assert len(gone.reason) == 200


@pytest.mark.parametrize("said", ["", "No nodes in the system\n", "NodeName=n1 CPUAlloc=0\n", "\x00\xff" * 50])
def test_no_nodes_are_no_answer(said):
    with pytest.raises(SlurmError):
        nodes.parse_nodes(said.encode("latin-1"))


@pytest.mark.parametrize(
    "said",
    [
        b"slurm_load_jobs error: something\n",
        b"\x00\xff\n" * 50,
        squeue([("compute", "RUNNING", "ann", "None", "1", "1", "2", "cpu=1,gres/gpu=" + "1" * 400)]),
        squeue([("compute", "RUNNING", "ann", "None", "1", "1", "2", "cpu=many")]),
    ],
)
def test_what_cannot_be_read_is_no_answer(said):
    with pytest.raises(SlurmError):
        jobs.parse_jobs(said, NOW)


def test_a_large_cluster_is_read_in_well_under_a_second():
    many_nodes = "".join(NODE_24_11.replace("node2", f"node{number}") for number in range(2000)).encode()
    many_jobs = squeue([JOBS[number % len(JOBS)] for number in range(10_000)])
    began = time.process_time()
    found_nodes, found_jobs = nodes.parse_nodes(many_nodes), jobs.parse_jobs(many_jobs, NOW)
    assert time.process_time() - began < 1
    assert (found_nodes.states["draining"], sum(found_jobs.states.values())) == (2000, 10_000)


PING_DOWN = """Slurmctld(primary) at head is DOWN
Slurmctld(backup) at head2 is UP
*****************************************
** RESTORE SLURMCTLD DAEMON TO SERVICE **
*****************************************
"""


def test_controllers():
    assert services.parse_ping(PING_DOWN, "") == [("head", "primary", False), ("head2", "backup", True)]
    with pytest.raises(SlurmError, match="says 'Munge is down'"):
        services.parse_ping("", "Munge is down")


def test_the_queue_of_the_database():
    assert services.parse_statistics("Agent queue size:     7\nDBD Agent queue size: 1\n\nJobs submitted: 10\n") == 1
    with pytest.raises(SlurmError):
        services.parse_statistics("Agent queue size: 7\n")


def test_searches_say_how_far_they_are_in_the_comment_of_their_job():
    job = "12|rackmark:20261120-101500-automl:4n8g:1|"
    said = searches.parse_searches(f"{job}rackmark trials=37 best=0.7131 gflops=812.4\n".encode()).numbers
    assert said == {
        ("20261120-101500-automl", "4n8g", "1", "trials"): 37,
        ("20261120-101500-automl", "4n8g", "1", "best"): 0.7131,
        ("20261120-101500-automl", "4n8g", "1", "gflops"): 812.4,
    }


@pytest.mark.parametrize(
    "line",
    [
        "12|other|rackmark trials=3",
        "12|rackmark:r:1n1g:1|(null)",
        "12|rackmark:r:1n1g:1|rackmark trials=3; rm",
        '12|rackmark:r:1n1g:1|rackmark a"b=3',
        "12|rackmark:r:1n1g:1|rackmark trials=1e999",
        "12|rackmark:r:1n1g:1|rackmark trials=--",
        "rackmark trials=3",
    ],
)
def test_comments_of_another_form_say_nothing(line):
    assert searches.parse_searches(f"{line}\n".encode()).numbers == {}
