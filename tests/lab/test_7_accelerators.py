"""Nodes with accelerators: found, and given what their vendors' software needs. Devices and packages are simulated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lab.accelerated import ADDRESSES, ASCEND, MANAGERS, NEWER, OLDER
from lab.cluster import NAME, ROOT
from lab.stub_packages import DRIVER, TOOLKIT, Signer, sha256


def facts() -> dict[str, dict[str, Any]]:
    """The fact of every node, as the module alone tells it."""
    ansible = [str(Path(sys.executable).with_name("ansible")), "slurm_compute", "-m", "host_facts", "--one-line"]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "RACKMARK_LAB": NAME}
    said = subprocess.run(ansible, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    answers = (line.split(" | SUCCESS => ") for line in said.splitlines())
    return {node: json.loads(answer)["ansible_facts"]["accelerators"] for node, answer in answers}


def test_check_mode_on_blank_nodes(blank):
    blank.play(cmdline="--check --diff").succeeded()
    assert blank.on("node1", "ls /etc/apt/sources.list.d; command -v nvidia-smi || true") == ""
    assert blank.on("node2", "getent passwd HwHiAiUser; ls /usr/local/Ascend 2>/dev/null || true") == ""
    assert blank.ran() == []


@pytest.mark.usefixtures("blank")
def test_accelerators_are_found_without_a_driver():
    found = facts()
    nvidia, ascend, none = found["node1"], found["node2"], found["node3"]
    assert (nvidia["vendor"], nvidia["count"], nvidia["model"]) == ("nvidia", 8, "H100 SXM5 80GB")
    assert nvidia["devices"] == [f"/dev/nvidia{number}" for number in range(8)]
    assert (ascend["vendor"], ascend["count"], ascend["model"]) == ("ascend", 8, "Ascend 910B")
    assert (none["vendor"], none["count"], none["model"], none["devices"]) == ("none", 0, None, [])


def test_a_repository_with_another_key_is_refused(blank, tmp_path):
    stranger = Signer(tmp_path / "key")
    wrong = {"url": blank.url, "key": stranger.public}
    stranger.close()
    blank.play(cmdline="--tags nvidia", nvidia_repository=wrong).failed_with("not signed")
    assert blank.on("node1", "command -v nvidia-smi || true") == ""


def test_without_a_repository_it_is_said_what_to_set(blank):
    said = blank.play(cmdline="--tags nvidia", nvidia_repository={}, nvidia_driver_packages=[])
    said.failed_with("nvidia-container-toolkit", "nvidia_repository", "nvidia_archive")


def test_a_wrong_checksum_is_refused_before_anything_runs(blank):
    packages = [*blank.variables["ascend_packages"]]
    packages[-1] = {**packages[-1], "sha256": "0" * 64}
    blank.play(cmdline="--tags ascend", ascend_packages=packages).failed_with("docker_runtime", "0" * 64, "sha256")
    assert blank.ran() == []


def test_a_device_address_that_two_devices_have_is_named(blank):
    twice = [*ADDRESSES[:7], ADDRESSES[0]]
    blank.play(cmdline="--tags ascend", addresses=twice).failed_with("198.51.100.10", "node2 device 0", "device 7")


def test_the_toolkit_and_the_driver_come_from_the_signed_repository(accelerated):
    assert accelerated.version("node1", TOOLKIT[0]) == NEWER
    assert accelerated.version("node1", DRIVER) == NEWER
    assert "trusted" not in accelerated.on("node1", "cat /etc/apt/sources.list.d/rackmark-nvidia.sources")
    assert len(accelerated.on("node1", "nvidia-smi -L").splitlines()) == 8
    assert "simulated" in accelerated.on("node1", "nvidia-smi -L")


def test_persistence_mode_is_on(accelerated):
    assert accelerated.on("node1", "systemctl is-active nvidia-persistenced") == "active"
    assert accelerated.on("node1", "systemctl is-enabled nvidia-persistenced") == "enabled"
    assert accelerated.on("node1", "cat /run/nvidia-persistence-simulated") == "Enabled"


def test_ascend_packages_are_installed_in_the_vendors_order(accelerated):
    assert [line.split()[:2] for line in accelerated.ran()] == [list(pair) for pair in ASCEND.items()]
    assert "Total Count                    : 8" in accelerated.on("node2", "npu-smi info -l")


def test_the_runtimes_installer_does_not_touch_dockers_configuration(accelerated):
    assert accelerated.on("node2", "ls /etc/docker/daemon.json 2>/dev/null || true") == ""
    accelerated.on("node2", "echo '{\"debug\": true}' > /etc/docker/daemon.json && chmod 640 /etc/docker/daemon.json")
    newer = [*accelerated.variables["ascend_packages"][:3], accelerated.ascend_package("docker_runtime", "6.0.1")]
    accelerated.play(cmdline="--tags ascend", ascend_packages=newer).succeeded()
    accelerated.variables["ascend_packages"] = newer
    assert accelerated.ran()[-1].startswith("docker_runtime 6.0.1")
    assert accelerated.on("node2", "cat /etc/docker/daemon.json; stat -c %a /etc/docker/daemon.json").split("\n") == [
        '{"debug": true}',
        "640",
    ]
    accelerated.on("node2", "rm /etc/docker/daemon.json")


def test_devices_belong_to_the_vendors_group_and_the_benchmark_user_is_in_it(accelerated):
    names = [f"davinci{number}" for number in range(8)] + MANAGERS
    rights = accelerated.on("node2", "cd /dev && stat -c '%n %a %G' " + " ".join(names)).splitlines()
    assert rights == [f"{name} 660 HwHiAiUser" for name in names]
    assert "HwHiAiUser" in accelerated.on("node2", "id -nG rackmark").split()
    seen = accelerated.on("node2", "runuser -u rackmark -- npu-smi info -l")
    assert "Total Count                    : 8" in seen
    assert "Total Count                    : 0" in accelerated.on("node2", "runuser -u nobody -- npu-smi info -l")


def test_device_addresses_are_set_and_kept(accelerated):
    conf = accelerated.on("node2", "cat /etc/hccn.conf").splitlines()
    assert {"address_0=198.51.100.10", "netmask_7=255.255.255.0", "gateway_3=198.51.100.1"} <= set(conf)
    assert "netdetect_5=198.51.100.1" in conf
    assert "ipaddr:198.51.100.17" in accelerated.on("node2", "hccn_tool -i 7 -ip -g")


def test_a_second_run_changes_nothing_and_sets_nothing_again(accelerated):
    before = accelerated.ran(), accelerated.on("node2", "grep -c -- ' -s ' /var/lib/hccn-simulated/calls")
    again = accelerated.play().succeeded()
    assert again.changed == []
    assert before == (accelerated.ran(), accelerated.on("node2", "grep -c -- ' -s ' /var/lib/hccn-simulated/calls"))


def test_an_address_or_a_right_that_was_changed_by_hand_is_put_right_and_others_stay(accelerated):
    accelerated.on("node2", "hccn_tool -i 3 -ip -s address 203.0.113.9 netmask 255.255.0.0 && chmod 666 /dev/davinci1")
    accelerated.on("node2", "echo send_arp_status_3=1 >> /etc/hccn.conf")
    seen = accelerated.play(cmdline="--tags ascend --check --diff").succeeded()
    assert "device 3: ip 198.51.100.13 255.255.255.0" in seen.output
    assert accelerated.on("node2", "stat -c %a /dev/davinci1") == "666"
    accelerated.play(cmdline="--tags ascend").succeeded()
    assert "ipaddr:198.51.100.13" in accelerated.on("node2", "hccn_tool -i 3 -ip -g")
    assert accelerated.on("node2", "stat -c %a /dev/davinci1") == "660"
    kept = accelerated.on("node2", "cat /etc/hccn.conf")
    assert "send_arp_status_3=1" in kept
    assert kept.count("address_3=") == 1


def test_firmware_goes_before_the_driver_when_both_are_replaced(accelerated):
    known = len(accelerated.ran())
    newer = [
        accelerated.ascend_package("driver", "24.1.0"),
        accelerated.ascend_package("firmware", "7.5.0.1.129", ending=2),  # installed, in effect after a restart
        *accelerated.variables["ascend_packages"][2:],
    ]
    told = accelerated.play(cmdline="--tags ascend", ascend_packages=newer).succeeded()
    assert [line.split()[0] for line in accelerated.ran()[known:]] == ["firmware", "driver"]
    assert "ascend_reboot=true" in told.output
    accelerated.variables["ascend_packages"] = newer


def test_an_installer_that_installs_another_version_is_not_believed(accelerated):
    liar = accelerated.ascend_package("toolkit", "8.0.RC3")
    packages = [*accelerated.variables["ascend_packages"][:2], {**liar, "version": "8.1.RC1"}]
    accelerated.play(cmdline="--tags ascend", ascend_packages=packages).failed_with("8.0.RC3", "8.1.RC1")


def test_an_older_toolkit_is_taken_in_one_piece(accelerated):
    accelerated.play(cmdline="--tags nvidia", nvidia_toolkit_version=OLDER).succeeded()
    assert {accelerated.version("node1", package) for package in TOOLKIT} == {OLDER}
    assert accelerated.play(cmdline="--tags nvidia", nvidia_toolkit_version=OLDER).succeeded().changed == []


def test_a_site_without_a_repository_gives_files(accelerated):
    served = accelerated.folder / "served"
    archive = []
    for package in TOOLKIT:
        path = served / f"{package}_{NEWER}_all.deb"
        source = {"url": f"{accelerated.url}/{path.name}"} if package == TOOLKIT[3] else {"file": str(path)}
        archive.append({"name": package, "version": NEWER, "sha256": sha256(path), **source})
    offline = {"nvidia_repository": {}, "nvidia_archive": archive}
    accelerated.play(cmdline="--tags nvidia", **offline).succeeded()
    assert {accelerated.version("node1", package) for package in TOOLKIT} == {NEWER}
    assert accelerated.on("node1", "ls /etc/apt/sources.list.d /etc/apt/keyrings | grep rackmark || true") == ""
    assert accelerated.play(cmdline="--tags nvidia", **offline).succeeded().changed == []
    accelerated.play(cmdline="--tags nvidia").succeeded()


def test_a_host_without_accelerators_gets_nothing(accelerated):
    assert accelerated.on("node3", "ls /etc/apt/sources.list.d") == ""
    assert accelerated.on("node3", "getent passwd HwHiAiUser || echo nobody") == "nobody"


# A device that a job may use has no driver here ("No such device or address"); any other is denied by its cgroup.
