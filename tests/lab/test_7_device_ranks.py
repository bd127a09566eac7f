"""Eight devices on each of four nodes: 32 ranks, each with its own. Devices are simulated, processors do the work."""

from __future__ import annotations

import json

import pytest
from lab.cluster import Cluster
from lab.counting_runs import run as count
from lab.simulated_nvml import build_nvml, watts
from lab.stub_packages import STUBS

NODES = ("node1", "node2", "node3", "node4")


@pytest.fixture(scope="module")
def devices(no_cluster, tmp_path_factory):
    """What stands for the driver's library says of every device that it is simulated."""
    library = build_nvml(tmp_path_factory.mktemp("nvml"))
    cluster = Cluster(no_cluster.artifacts)
    cluster.play("playbooks/lab_down.yml").succeeded()
    cluster.play("playbooks/lab_up.yml", lab_nodes=4, lab_accelerators=dict.fromkeys(NODES, "nvidia:8")).succeeded()
    cluster.play("site.yml", cmdline="--skip-tags nvidia,docker").succeeded()
    for node in NODES:
        cluster.copy(library, node, "/usr/lib/libnvidia-ml.so.1")
    yield cluster
    cluster.play("playbooks/lab_down.yml").succeeded()


def test_resnet_trains_on_32_ranks(devices):
    devices.play("run_resnet.yml", preset="tiny", cases="4n8g").succeeded()
    run = devices.latest_run()
    summary = json.loads((run / "summary.json").read_text())
    (case,) = summary["cases"]
    assert (summary["state"], case["world_size"], case["repeats_ok"]) == ("ok", 32, 1)
    assert set(summary["simulated"]) == {"nodes", "accelerators"}
    assert summary["baseline"] is None
    folder = run / "cases/4n8g/r1"
    starts = {}
    for rank in range(32):
        first = next(line for line in (folder / f"rank-{rank}.log").read_text().splitlines() if "RACKMARK" in line)
        starts[rank] = json.loads(first.removeprefix("RACKMARK "))
    assert {rank: start["rank"] for rank, start in starts.items()} == {rank: rank for rank in range(32)}
    assert [starts[rank]["local_rank"] for rank in range(32)] == list(range(8)) * 4
    assert [starts[rank]["host"] for rank in range(32)] == [node for node in NODES for _ in range(8)]
    preflight = json.loads((folder / "preflight.json").read_text())
    assert {len(node["devices"]) for node in preflight["nodes"].values()} == {8}
    all_devices_are_sampled(run, folder, case)


def all_devices_are_sampled(run, folder, case):
    result = json.loads((folder / "result.json").read_text())
    seen = result["telemetry"]
    assert {name: len(node["devices"]) for name, node in seen["nodes"].items()} == dict.fromkeys(NODES, 8)
    for node in seen["nodes"].values():
        for device in node["devices"]:
            assert device["name"].endswith("(simulated)")
            assert device["power"] == {"mean": watts(device["number"]), "max": watts(device["number"])}
    seconds = seen["window"]["end"] - seen["window"]["begin"]
    joules = len(NODES) * seconds * sum(map(watts, range(8)))
    assert (result["energy_of"], case["energy_of"]) == ("devices", "devices")
    assert result["energy_j"] == case["energy_j"] == pytest.approx(joules, rel=0.02)
    assert result["samples_per_j"] == pytest.approx(3 * 32 * 2 / joules, rel=0.02)
    assert (run / "devices.png").read_bytes().startswith(b"\x89PNG")
    assert "Energy is that of the devices alone" in (run / "report.html").read_text()


def test_devices_that_a_node_lacks_are_said_before_a_rank_starts(devices):
    devices.on("node2", "mv /dev/nvidia7 /root/")
    try:
        play = devices.play("run_resnet.yml", preset="tiny", cases="2n8g")
        play.failed_with("preflight_failed", "node2")
    finally:
        devices.on("node2", "mv /root/nvidia7 /dev/ && rackmark-health || true")


@pytest.fixture
def npus(no_cluster):
    """Two nodes with eight devices of Ascend each, of which a stub of npu-smi tells."""
    cluster = Cluster(no_cluster.artifacts)
    cluster.play("playbooks/lab_down.yml").succeeded()
    cluster.play("playbooks/lab_up.yml", lab_nodes=2, lab_accelerators=dict.fromkeys(NODES[:2], "ascend:8")).succeeded()
    cluster.play("site.yml", cmdline="--skip-tags ascend,docker").succeeded()
    for node in NODES[:2]:
        cluster.copy(STUBS / "npu-smi", node, "/usr/local/bin/npu-smi")
    yield cluster
    cluster.play("playbooks/lab_down.yml").succeeded()


def test_devices_of_ascend_are_sampled_and_one_node_whose_npu_smi_hangs_takes_the_energy_and_nothing_else(npus):
    count(npus, cases="2n8g", repeats=1, steps=200).succeeded()
    result = json.loads((npus.latest_run() / "cases/2n8g/r1/result.json").read_text())
    for node in result["telemetry"]["nodes"].values():
        assert [device["power"]["mean"] for device in node["devices"]] == [60 + number for number in range(8)]
        assert {device["utilisation"]["max"] for device in node["devices"]} == {88}
        assert {device["clock"]["mean"] for device in node["devices"]} == {None}
    hangs = (
        'case "$*" in *watch*) exec sleep 600 ;; esac'  # what asks for the list, such as the health check, is answered
    )
    npus.on("node2", f"sed -i '2i {hangs}' /usr/local/bin/npu-smi")
    count(npus, cases="2n8g", repeats=1, steps=200).succeeded()
    result = json.loads((npus.latest_run() / "cases/2n8g/r1/result.json").read_text())
    assert (result["state"], result["energy_j"]) == ("ok", None)
    assert "node2 device 0 and 7 more: npu-smi" in result["telemetry"]["energy"]["reason"]
    one, two = result["telemetry"]["nodes"].values()
    assert one["devices"][3]["power"]["mean"] == 63
    assert two["devices"][3]["power"]["mean"] is None
    assert two["samples"] == pytest.approx(one["samples"], abs=2)
    assert npus.on("node2", "pgrep -u rackmark -af '[n]pu-smi|[s]leep 600' || true") == ""  # the exporter has its own
