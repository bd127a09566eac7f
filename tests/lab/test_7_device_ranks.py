"""Four devices on each of two nodes: 8 ranks, each with its own. Devices are simulated, processors do the work."""

from __future__ import annotations

import json

import pytest
from lab.counting_runs import run as count
from lab.simulated_nvml import build_nvml, watts
from lab.stub_packages import STUBS

NODES = ("node1", "node2")
DEVICES = 4
RANKS = DEVICES * len(NODES)
CASE = f"{len(NODES)}n{DEVICES}g"
NOT_NEEDED = (
    "nvidia,ascend,docker,monitoring_access,node_exporter,accelerator_exporter,slurm_exporter,prometheus,alertmanager"
)


@pytest.fixture(scope="module")
def devices(no_cluster, tmp_path_factory):
    """What stands for the driver's library says of every device that it is simulated."""
    library = build_nvml(tmp_path_factory.mktemp("nvml"))
    no_cluster.boot_for("ranks", lab_nodes=len(NODES), lab_accelerators=dict.fromkeys(NODES, f"nvidia:{DEVICES}"))
    no_cluster.play("site.yml", cmdline=f"--skip-tags {NOT_NEEDED}").succeeded()
    for node in NODES:
        no_cluster.copy(library, node, "/usr/lib/libnvidia-ml.so.1")
    return no_cluster


def test_resnet_trains_with_a_rank_for_each_device(devices):
    devices.play("run_resnet.yml", preset="tiny", cases=CASE).succeeded()
    run = devices.latest_run()
    summary = json.loads((run / "summary.json").read_text())
    (case,) = summary["cases"]
    assert (summary["state"], case["world_size"], case["repeats_ok"]) == ("ok", RANKS, 1)
    assert set(summary["simulated"]) == {"nodes", "accelerators"}
    assert summary["baseline"] is None
    folder = run / f"cases/{CASE}/r1"
    starts = {}
    for rank in range(RANKS):
        first = next(line for line in (folder / f"rank-{rank}.log").read_text().splitlines() if "RACKMARK" in line)
        starts[rank] = json.loads(first.removeprefix("RACKMARK "))
    assert {rank: start["rank"] for rank, start in starts.items()} == {rank: rank for rank in range(RANKS)}
    assert [starts[rank]["local_rank"] for rank in range(RANKS)] == list(range(DEVICES)) * len(NODES)
    assert [starts[rank]["host"] for rank in range(RANKS)] == [node for node in NODES for _ in range(DEVICES)]
    preflight = json.loads((folder / "preflight.json").read_text())
    assert {len(node["devices"]) for node in preflight["nodes"].values()} == {DEVICES}
    all_devices_are_sampled(run, folder, case)


def all_devices_are_sampled(run, folder, case):
    result = json.loads((folder / "result.json").read_text())
    seen = result["telemetry"]
    assert {name: len(node["devices"]) for name, node in seen["nodes"].items()} == dict.fromkeys(NODES, DEVICES)
    for node in seen["nodes"].values():
        for device in node["devices"]:
            assert device["name"].endswith("(simulated)")
            assert device["power"] == {"mean": watts(device["number"]), "max": watts(device["number"])}
    seconds = seen["window"]["end"] - seen["window"]["begin"]
    joules = len(NODES) * seconds * sum(map(watts, range(DEVICES)))
    assert (result["energy_of"], case["energy_of"]) == ("devices", "devices")
    assert result["energy_j"] == case["energy_j"] == pytest.approx(joules, rel=0.02)
    assert result["samples_per_j"] == pytest.approx(3 * RANKS * 2 / joules, rel=0.02)
    assert (run / "devices.png").read_bytes().startswith(b"\x89PNG")
    assert "Energy is that of the devices alone" in (run / "report.html").read_text()


def test_devices_that_a_node_lacks_are_said_before_a_rank_starts(devices):
    devices.on("node2", "mv /dev/nvidia3 /root/")
    try:
        play = devices.play("run_resnet.yml", preset="tiny", cases=CASE)
        play.failed_with("node2")
        # The health check before a job may see it first, and then Slurm does not start the job at all.
        assert any(word in failure for failure in play.failures for word in ("preflight_failed", "Prolog failure"))
    finally:
        devices.on("node2", "mv /root/nvidia3 /dev/ && rackmark-health || true")


@pytest.fixture
def npus(devices):
    """The same nodes with as many devices of Ascend each, of which a stub of npu-smi tells."""
    for node in NODES:
        devices.on(node, "rm /usr/lib/libnvidia-ml.so.1")
        devices.copy(STUBS / "npu-smi", node, "/usr/local/bin/npu-smi")
    npus = dict.fromkeys(NODES, f"ascend:{DEVICES}")
    devices.play("playbooks/lab_up.yml", lab_nodes=len(NODES), lab_accelerators=npus).succeeded()
    devices.play("site.yml", cmdline="--tags slurm_health,slurm,slurm_access").succeeded()
    return devices


def test_devices_of_ascend_are_sampled_and_one_node_whose_npu_smi_hangs_takes_the_energy_and_nothing_else(npus):
    count(npus, cases=CASE, repeats=1, steps=200).succeeded()
    result = json.loads((npus.latest_run() / f"cases/{CASE}/r1/result.json").read_text())
    for node in result["telemetry"]["nodes"].values():
        assert [device["power"]["mean"] for device in node["devices"]] == [60 + number for number in range(DEVICES)]
        assert {device["utilisation"]["max"] for device in node["devices"]} == {88}
        assert {device["clock"]["mean"] for device in node["devices"]} == {None}
    hangs = (
        'case "$*" in *watch*) exec sleep 600 ;; esac'  # what asks for the list, such as the health check, is answered
    )
    npus.on("node2", f"sed -i '2i {hangs}' /usr/local/bin/npu-smi")
    count(npus, cases=CASE, repeats=1, steps=200).succeeded()
    result = json.loads((npus.latest_run() / f"cases/{CASE}/r1/result.json").read_text())
    assert (result["state"], result["energy_j"]) == ("ok", None)
    assert "node2 device 0 and 3 more: npu-smi" in result["telemetry"]["energy"]["reason"]
    one, two = result["telemetry"]["nodes"].values()
    assert one["devices"][3]["power"]["mean"] == 63
    assert two["devices"][3]["power"]["mean"] is None
    assert two["samples"] == pytest.approx(one["samples"], abs=2)
    assert npus.on("node2", "pgrep -u rackmark -af '[n]pu-smi|[s]leep 600' || true") == ""  # the exporter has its own
