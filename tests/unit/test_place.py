from __future__ import annotations

import pytest
from rackmark.run.place import place_of_hosts
from rackmark.run.queues.slurm_place import place_in_slurm

GPUS = "node1|idle|gpu:nvidia:8(S:0-1)|64|none\nnode2|mixed|gpu:nvidia:8(S:0-1)|64|none\n"


def test_nodes_and_devices_are_those_that_slurm_shows():
    place = place_in_slurm(GPUS, 0, "auto", [])
    assert (place.nodes, place.devices_per_node, place.accelerator, place.device) == (2, 8, "nvidia", "cuda")


def test_a_node_in_two_partitions_counts_once():
    assert place_in_slurm(GPUS + GPUS, 0, "auto", []).nodes == 2


@pytest.mark.parametrize(
    ("resource", "accelerator", "request_name", "device", "count"),
    [
        ("gpu:4", "nvidia", "gpu", "cuda", 4),
        ("gpu:a100:4,nvme:1", "nvidia", "gpu", "cuda", 4),
        ("gpu:ascend:8", "ascend", "gpu", "npu", 8),
        ("npu:8", "ascend", "npu", "npu", 8),
        ("(null)", "none", "", "cpu", 1),
    ],
)
def test_resources_by_any_of_their_names(resource, accelerator, request_name, device, count):
    place = place_in_slurm(f"node1|idle|{resource}|64|none", 0, "auto", [])
    assert (place.accelerator, place.resource, place.device) == (accelerator, request_name, device)
    assert place.devices_per_node == count


def test_simulated_accelerators_are_handed_out_and_processors_do_the_work():
    place = place_in_slurm(GPUS, 0, "auto", ["nodes", "accelerators"])
    assert (place.accelerator, place.devices_per_node, place.device) == ("nvidia", 8, "cpu")


def test_the_operator_knows_better():
    place = place_in_slurm(GPUS, 2, "cpu", [])
    assert (place.devices_per_node, place.device) == (2, "cpu")
    with pytest.raises(ValueError, match="benchmark_device is 'tpu': use auto, cpu, cuda, npu"):
        place_in_slurm(GPUS, 0, "tpu", [])


def test_nodes_that_cannot_take_jobs_are_left_out_with_their_reason():
    place = place_in_slurm(GPUS + "node3|down*|gpu:nvidia:8|64|Not responding\n", 0, "auto", [])
    assert place.nodes == 2
    assert place.unfit == ["node3 is down* (Not responding)"]


def test_the_larger_number_of_equal_nodes_is_measured():
    place = place_in_slurm(GPUS + "node3|idle|(null)|64|none\n", 0, "auto", [])
    assert (place.nodes, place.unfit) == (2, ["node3 has other devices (none)"])


def test_a_cluster_without_usable_nodes():
    with pytest.raises(ValueError, match=r"No node can take jobs: node1 is drained \(fan is broken\)\."):
        place_in_slurm("node1|drained|(null)|64|fan is broken", 0, "auto", [])
    with pytest.raises(ValueError, match="Slurm shows no nodes in this partition"):
        place_in_slurm("", 0, "auto", [])


def test_hosts_without_slurm():
    place = place_of_hosts(2, 8, "ascend", "auto")
    assert (place.nodes, place.devices_per_node, place.device) == (2, 8, "npu")
    assert place_of_hosts(1, 0, "none", "auto").devices_per_node == 1


def test_nodes_that_are_planned_completing_or_asleep_count_and_silent_ones_do_not():
    rows = "\n".join(
        f"node{n}|{state}|(null)|2|none" for n, state in enumerate(["mixed-", "allocated+", "idle~", "idle*"])
    )
    place = place_in_slurm(rows, 0, "auto", [])
    assert (place.nodes, place.unfit) == (3, ["node3 is idle*"])
