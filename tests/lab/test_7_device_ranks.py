"""Four devices on each of two nodes: 8 ranks, each with its own. Devices are simulated, processors do the work."""

from __future__ import annotations

import json

import pytest
import yaml
from lab.cluster import ROOT
from lab.counting_runs import run as count
from lab.simulated_nvml import build_nvml, watts
from lab.stub_packages import STUBS

NODES = ("node1", "node2")
DEVICES = 4
NPUS = 8
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
        starts[rank] = first_line(folder / f"rank-{rank}.log")
    assert {rank: start["rank"] for rank, start in starts.items()} == {rank: rank for rank in range(RANKS)}
    assert [starts[rank]["local_rank"] for rank in range(RANKS)] == list(range(DEVICES)) * len(NODES)
    assert [starts[rank]["host"] for rank in range(RANKS)] == [node for node in NODES for _ in range(DEVICES)]
    preflight = json.loads((folder / "preflight.json").read_text())
    assert {len(node["devices"]) for node in preflight["nodes"].values()} == {DEVICES}
    all_devices_are_sampled(run, folder, case)


def first_line(log):
    line = next(line for line in log.read_text().splitlines() if line.startswith("RACKMARK"))
    return json.loads(line.removeprefix("RACKMARK "))


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


@pytest.fixture(scope="module")
def npus(devices, tmp_path_factory):
    """The same nodes with eight devices of Ascend each, of which stubs of npu-smi and hccn_tool tell."""
    for node in NODES:
        devices.on(node, "rm /usr/lib/libnvidia-ml.so.1")
        for stub in ("npu-smi", "hccn_tool"):
            devices.copy(STUBS / stub, node, f"/usr/local/bin/{stub}")
    npus = dict.fromkeys(NODES, f"ascend:{NPUS}")
    devices.play("playbooks/lab_up.yml", lab_nodes=len(NODES), lab_accelerators=npus).succeeded()
    addresses = {node: {"ascend_device_addresses": addresses_of(node)} for node in NODES}
    hosts = tmp_path_factory.mktemp("npus") / "hosts.yml"
    hosts.write_text(yaml.safe_dump({"all": {"hosts": addresses}}))
    roles = "--tags ascend,slurm_health,slurm,slurm_access"
    devices.play("site.yml", cmdline=f"-i {ROOT / 'inventory'} -i {hosts} {roles}").succeeded()
    return devices


def addresses_of(node):
    network = 100 + NODES.index(node)
    return [{"address": f"198.51.{network}.{10 + number}/16"} for number in range(NPUS)]


def test_sixteen_ranks_on_two_nodes_have_one_rank_table_and_each_its_own_place_in_it(npus):
    case = f"{len(NODES)}n{NPUS}g"
    flags = {"benchmark_flags": ["--tell", "RANK_ID", "RANK_SIZE", "DEVICE_ID", "RANK_TABLE_FILE"]}
    count(npus, cases=case, repeats=1, benchmark_rank_table="1.0", **flags).succeeded()
    folder = npus.latest_run() / f"cases/{case}/r1"
    starts = [first_line(folder / f"rank-{rank}.log") for rank in range(16)]
    table = starts[0]["told"]["RANK_TABLE_FILE"]
    for rank, start in enumerate(starts):
        assert (start["rank"], start["host"]) == (rank, NODES[rank // NPUS])
        assert start["told"] == {
            "RANK_ID": str(rank),
            "RANK_SIZE": "16",
            "DEVICE_ID": str(rank % NPUS),
            "RANK_TABLE_FILE": table,
        }
    sums = {npus.on(node, f"sha256sum < {table}") for node in NODES}
    assert len(sums) == 1
    rank_table = json.loads((folder / "rank_table.json").read_text())
    devices = [device for server in rank_table["server_list"] for device in server["device"]]
    assert [device["rank_id"] for device in devices] == [str(rank) for rank in range(16)]
    wanted = [entry["address"].partition("/")[0] for node in NODES for entry in addresses_of(node)]
    assert [device["device_ip"] for device in devices] == wanted
    assert len(set(wanted)) == 16
    assert set(json.loads((npus.latest_run() / "summary.json").read_text())["simulated"]) == {"nodes", "accelerators"}


def test_a_device_without_an_address_ends_the_job_before_it_starts(npus):
    npus.on("node2", "mv /var/lib/hccn-simulated/3.ip /root/ && sed -i.kept /address_3=/d /etc/hccn.conf")
    try:
        play = count(npus, cases=f"{len(NODES)}n{NPUS}g", repeats=1, benchmark_rank_table="auto")
        play.failed_with("preflight_failed")
        play.failed_with("node2: The address of device 3 is not known")
    finally:
        npus.on("node2", "mv /root/3.ip /var/lib/hccn-simulated/ && mv /etc/hccn.conf.kept /etc/hccn.conf")


# As npu-smi of a super pod answers: two chips on a card, in pod 7.
SUPER_POD = """#!/bin/bash
# SIMULATED
case "$*" in
    "info -m") for n in {0..7}; do echo "$((n / 2))  $((n % 2))  $n  $n  Ascend 910"; done ;;
    "info -t spod-info -i "*) printf '\\tSDID : %s\\n\\tSuper Pod ID : 7\\n' "$((BASE + 2 * $5 + $7))" ;;
    *) exit 1 ;;
esac
"""


@pytest.fixture
def table_of(npus, tmp_path):
    """The rank table that the playbook writes, as text, and what the playbook said."""
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(
        yaml.safe_dump({"all": {"hosts": {n: {"ascend_device_addresses": addresses_of(n)} for n in NODES}}})
    )

    def table_of(**variables):
        dest = tmp_path / "rank_table.json"
        dest.unlink(missing_ok=True)
        inventories = f"-i {ROOT / 'inventory'} -i {hosts}"
        play = npus.play(
            "playbooks/rank_table.yml", cmdline=inventories, nodes=",".join(NODES), dest=str(dest), **variables
        )
        return dest.read_text() if dest.exists() else None, play

    return table_of


def test_a_rank_table_by_the_nodes_own_word_is_that_of_the_inventory(table_of, npus):
    by_inventory, _ = table_of()
    by_nodes, play = table_of(source="nodes")
    assert play.succeeded()
    assert by_nodes == by_inventory
    assert len(json.loads(by_nodes)["server_list"][1]["device"]) == NPUS

    stale = "198.51.101.99"
    for address in (stale, "198.51.101.13"):
        npus.on("node2", f"hccn_tool -i 3 -ip -s address {address} netmask 255.255.0.0")
        written, play = table_of(source="nodes")
        if address == stale:
            play.failed_with(
                f"node2: device 3 says {stale} and ascend_device_addresses has 198.51.101.13: run site.yml"
            )
            assert written is None
    assert written == by_inventory


def test_nodes_of_a_super_pod_tell_their_places_in_it(table_of, npus, tmp_path):
    for base, node in enumerate(NODES):
        program = tmp_path / node
        program.write_text(SUPER_POD.replace("BASE", str(100 * (base + 1))))
        npus.copy(program, node, "/usr/local/sbin/npu-smi")  # before the stub in root's PATH
        npus.on(node, "chmod 755 /usr/local/sbin/npu-smi")
    try:
        text, play = table_of(source="nodes", format="1.2")
        play.succeeded()
    finally:
        for node in NODES:
            npus.on(node, "rm /usr/local/sbin/npu-smi")
    table = json.loads(text)
    assert table["super_pod_list"] == [
        {"super_pod_id": "7", "server_list": [{"server_id": "node_0000"}, {"server_id": "node_0001"}]}
    ]
    ids = [device["super_device_id"] for server in table["server_list"] for device in server["device"]]
    assert ids == [str(base + number) for base in (100, 200) for number in range(NPUS)]


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
