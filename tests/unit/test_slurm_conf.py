from __future__ import annotations

import pytest
from rackmark.slurm_conf import controller_word, gres_lines, node_lines


def host(name="node1", nproc=8, memory=16000, accelerators=None, groups=(), **variables):
    facts = {
        "hostname": name,
        "processor_count": 1,
        "processor_threads_per_core": 2,
        "processor_nproc": nproc,
        "memtotal_mb": memory,
        "accelerators": accelerators or {"vendor": "none", "count": 0},
    }
    return {"ansible_facts": facts, "group_names": ["slurm_compute", *groups], **variables}


def hosts(*names, **kinds):
    return {name: host(name, **kinds) for name in names}


NVIDIA = {"vendor": "nvidia", "count": 8}
ASCEND = {"vendor": "ascend", "count": 8}
PLAIN = "Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=15200"


def test_hosts_alike_share_a_line_with_headroom_in_memory():
    assert node_lines(hosts(*[f"node{i}" for i in range(1, 101)])) == [f"NodeName=node[1-100] {PLAIN} State=UNKNOWN"]


def test_a_few_megabytes_make_no_difference_and_the_least_is_promised():
    assert node_lines({"node1": host("node1", memory=16100), "node2": host("node2", memory=16000)}) == [
        f"NodeName=node[1-2] {PLAIN} State=UNKNOWN"
    ]


@pytest.mark.parametrize("difference", [{"memory": 12000}, {"nproc": 4}, {"accelerators": NVIDIA}])
def test_a_host_unlike_its_group_is_refused_by_name(difference):
    members = {**hosts("node1", "node2", "node4"), "node3": host("node3", **difference)}
    with pytest.raises(
        ValueError, match=r"slurm_compute are not alike: node3 has .*; node\[1-2,4\] has .* group of their own"
    ):
        node_lines(members)


def test_other_hardware_in_a_group_of_its_own_is_another_line():
    members = {**hosts("node1", "node3"), **hosts("big1", "big2", memory=32000, groups=["big"])}
    assert [line.split()[0] for line in node_lines(members)] == ["NodeName=node[1,3]", "NodeName=big[1-2]"]


def test_options_of_a_host_are_no_oddness():
    members = {**hosts("node1", "node2"), "node3": host("node3", slurm_node_options={"Weight": 5})}
    assert [line.split()[0] for line in node_lines(members)] == ["NodeName=node[1-2]", "NodeName=node3"]
    assert "Weight=5" in node_lines(members)[1]


def test_a_host_without_facts_is_named():
    with pytest.raises(ValueError, match=r"node2 is not known .* without --limit"):
        node_lines({"node1": host(), "node2": {"ansible_facts": {}}})


def test_a_machine_that_calls_itself_something_else_is_known_by_both_names():
    members = {"gpu1": host("ip-10-0-0-9"), "gpu2": host("ip-10-0-0-7"), "gpu3": host("gpu3")}
    lines = node_lines(members)
    assert lines[0].startswith("NodeName=gpu3 Sockets")
    assert lines[1].startswith("NodeName=gpu[1-2] NodeHostname=ip-10-0-0-9,ip-10-0-0-7 NodeAddr=gpu[1-2] Sockets")
    assert controller_word("head", host("head")) == "head"
    assert controller_word("head", host("ip-10-0-0-2")) == "ip-10-0-0-2(head)"


def test_devices_become_gres_of_their_vendor():
    members = {
        **hosts("gpu1", "gpu2", accelerators=NVIDIA, groups=["gpus"]),
        **hosts("npu1", accelerators=ASCEND, groups=["npus"]),
        **hosts("cpu1", groups=["cpus"]),
    }
    assert [line.split()[-2] for line in node_lines(members)] == [
        "Gres=gpu:ascend:8",
        "RealMemory=15200",
        "Gres=gpu:nvidia:8",
    ]
    assert gres_lines(members) == [
        "NodeName=npu1 Name=gpu Type=ascend File=/dev/davinci[0-7]",
        "NodeName=gpu[1-2] Name=gpu Type=nvidia File=/dev/nvidia[0-7]",
    ]


def test_what_the_operator_declares_beats_what_is_detected():
    declared = host("node1", cluster_accelerator="nvidia", cluster_devices_per_node=1)
    assert gres_lines({"node1": declared}) == ["NodeName=node1 Name=gpu Type=nvidia File=/dev/nvidia0"]
    off = host("node1", accelerators=NVIDIA, cluster_accelerator="none")
    assert gres_lines({"node1": off}) == []


def test_a_thousand_hosts_are_a_short_text():
    names = [f"node{i}" for i in range(1, 1001)]
    members = {
        name: host(name, accelerators=NVIDIA, groups=["left" if i % 2 else "right"]) for i, name in enumerate(names)
    }
    assert len("\n".join(node_lines(members) + gres_lines(members))) < 300
