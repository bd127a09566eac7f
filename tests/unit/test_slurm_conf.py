from __future__ import annotations

import pytest
from rackmark.slurm_conf import node_lines


def facts(nproc=8, sockets=1, threads=2, memory=16000):
    return {
        "processor_count": sockets,
        "processor_threads_per_core": threads,
        "processor_nproc": nproc,
        "memtotal_mb": memory,
    }


def test_hosts_alike_share_a_line_with_headroom_in_memory():
    assert node_lines({f"node{i}": facts() for i in range(1, 101)}) == [
        "NodeName=node[1-100] Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=15200 State=UNKNOWN"
    ]


def test_other_hardware_is_another_line():
    lines = node_lines({"node1": facts(), "node2": facts(memory=32000), "node3": facts()})
    assert [line.split()[0] for line in lines] == ["NodeName=node[1,3]", "NodeName=node2"]


def test_a_host_without_facts_is_named():
    with pytest.raises(ValueError, match=r"node2 is not known .* without --limit"):
        node_lines({"node1": facts(), "node2": {}})
