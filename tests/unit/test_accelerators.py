"""Accelerators: found on a PCI bus, their addresses, and which of a vendor's packages a host needs."""

from __future__ import annotations

import pytest
from rackmark import accelerators, vendor_packages
from rackmark.node import hccn

H100, A100, HUAWEI_910B, HUAWEI_NIC = (0x10DE, 0x2330), (0x10DE, 0x20B2), (0x19E5, 0xD802), (0x19E5, 0x0222)
THREE_D, DISPLAY, AUDIO, BRIDGE, PROCESSING, ETHERNET = 0x030200, 0x030000, 0x040300, 0x068000, 0x120000, 0x020000
SHA = "ab" * 32


@pytest.fixture
def host(tmp_path):
    """A host without devices: folders that stand for its PCI bus and its /dev."""
    (tmp_path / "pci").mkdir()
    (tmp_path / "dev").mkdir()
    return tmp_path


def plug(host, slot, ids, kind, virtual=False):
    folder = host / "pci" / slot
    folder.mkdir()
    for name, value in zip(("vendor", "device", "class"), (f"0x{ids[0]:04x}", f"0x{ids[1]:04x}", f"0x{kind:06x}")):
        (folder / name).write_text(value + "\n")
    if virtual:
        (folder / "physfn").mkdir()


def facts(host, vendor="auto", count="auto"):
    return accelerators.facts(accelerators.read_bus(host / "pci"), vendor, count, host / "dev")


def test_a_host_without_a_pci_bus_has_no_accelerators(host):
    (host / "pci").rmdir()
    assert facts(host)["vendor"] == "none"


def test_nvidia_is_told_from_its_sound_and_its_switches(host):
    for number in range(4):
        plug(host, f"0000:1{number}:00.0", H100, THREE_D)
    plug(host, "0000:10:00.1", (0x10DE, 0x228E), AUDIO)
    plug(host, "0000:05:00.0", (0x10DE, 0x22A3), BRIDGE)
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (host / "dev" / name).touch()
    found = facts(host)
    assert (found["vendor"], found["count"], found["model"], found["ids"]) == (
        "nvidia",
        4,
        "H100 SXM5 80GB",
        ["10de:2330"],
    )
    assert [name.rpartition("/")[2] for name in found["devices"]] == ["nvidia0", "nvidia1", "nvidia2", "nvidia10"]


def test_ascend_is_told_from_huaweis_network_cards(host):
    plug(host, "0000:81:00.0", HUAWEI_NIC, ETHERNET)
    plug(host, "0000:c1:00.0", HUAWEI_910B, PROCESSING)
    assert (facts(host)["vendor"], facts(host)["count"], facts(host)["model"]) == ("ascend", 1, "Ascend 910B")


def test_virtual_functions_are_part_of_a_device_that_is_counted(host):
    plug(host, "0000:10:00.0", A100, THREE_D)
    for number in range(4, 8):
        plug(host, f"0000:10:00.{number}", A100, THREE_D, virtual=True)
    assert facts(host)["count"] == 1


def test_an_unknown_or_mixed_model_has_no_name_and_keeps_its_ids(host):
    plug(host, "0000:10:00.0", (0x10DE, 0xFFFE), THREE_D)
    assert (facts(host)["model"], facts(host)["ids"]) == (None, ["10de:fffe"])
    plug(host, "0000:11:00.0", H100, THREE_D)
    assert (facts(host)["model"], facts(host)["ids"]) == (None, ["10de:2330", "10de:fffe"])


def test_two_vendors_on_one_host_need_a_word(host):
    plug(host, "0000:01:00.0", (0x10DE, 0x1234), DISPLAY)
    for number in range(8):
        plug(host, f"0000:8{number}:00.0", HUAWEI_910B, PROCESSING)
    with pytest.raises(ValueError, match=r"1 of NVIDIA and 8 of Ascend.*cluster_accelerator: nvidia or ascend"):
        facts(host)
    chosen = facts(host, vendor="ascend")
    assert (chosen["vendor"], chosen["count"], chosen["found"]) == ("ascend", 8, {"nvidia": 1, "ascend": 8})
    assert facts(host, vendor="none")["count"] == 0


def test_the_operators_count_wins_and_must_be_a_number(host):
    plug(host, "0000:10:00.0", H100, THREE_D)
    assert facts(host, count="2")["count"] == 2
    with pytest.raises(ValueError, match="cluster_devices_per_node is 'many'"):
        facts(host, count="many")


def test_a_vendor_said_of_the_whole_cluster_gives_nothing_to_a_host_without_devices(host):
    assert (facts(host, vendor="nvidia")["vendor"], facts(host, vendor="nvidia")["count"]) == ("none", 0)
    assert (facts(host, vendor="nvidia", count="8")["vendor"], facts(host, vendor="nvidia", count="8")["count"]) == (
        "nvidia",
        8,
    )


def test_a_guest_without_a_bus_counts_device_files_of_the_vendor_it_is_told(host):
    for number in range(2):
        (host / "dev" / f"davinci{number}").touch()
    (host / "dev/davinci_manager").touch()
    assert facts(host, vendor="ascend")["count"] == 2


DEVICES = [
    {"address": "192.0.2.10/24", "gateway": "192.0.2.1", "detect": "192.0.2.2"},
    {"address": "192.0.2.11/24"},
]


def test_hccn_conf_keeps_what_is_not_ours_and_each_key_once():
    values = hccn.conf_values(map(hccn.settings, DEVICES))
    assert values == {
        "address_0": "192.0.2.10",
        "netmask_0": "255.255.255.0",
        "gateway_0": "192.0.2.1",
        "netdetect_0": "192.0.2.2",
        "address_1": "192.0.2.11",
        "netmask_1": "255.255.255.0",
    }
    old = "send_arp_status_0=1\naddress_0=10.0.0.1\naddress_7=10.0.0.7\naddress_0=10.0.0.2\n"
    new = hccn.merged_conf(old, values)
    assert new.splitlines()[:3] == ["send_arp_status_0=1", "address_0=192.0.2.10", "address_7=10.0.0.7"]
    assert new.count("address_0=") == 1
    assert hccn.merged_conf(new, values) == new


def test_what_hccn_tool_says_is_compared_with_what_is_wanted():
    ip, gateway, detect = hccn.settings(DEVICES[0])
    assert ip.setting(3) == ["-i", "3", "-ip", "-s", "address", "192.0.2.10", "netmask", "255.255.255.0"]
    assert ip.as_said("ipaddr:192.0.2.10\nnetmask:255.255.255.0\n") == ip.values
    assert ip.as_said("ipaddr:192.0.2.10\nnetmask:255.255.0.0\n") != ip.values
    assert gateway.as_said("default gateway:192.0.2.1, Iface:eth0\n") == gateway.values
    assert detect.setting(0) == ["-i", "0", "-netdetect", "-s", "address", "192.0.2.2"]
    assert detect.as_said("netdetect address: 192.0.2.2\n") == detect.values
    assert detect.as_said("") != detect.values


def test_device_addresses_that_cannot_work_are_named():
    found = hccn.problems(
        {
            "node1": [{"address": "192.0.2.10/24"}, {"address": "192.0.2.11"}],
            "node2": [{"address": "192.0.2.300/24"}, {"address": "192.0.2.10/24", "gateway": "router"}],
            "node3": [{"address": "192.0.2.10/24"}],
            "node4": [],
        }
    )
    assert found == [
        "node1, device 1: device address '192.0.2.11' has no network: write it as 192.0.2.11/24.",
        "node2, device 0: device address '192.0.2.300/24' is not an IPv4 address with its network:"
        " write it as 192.0.2.10/24.",
        "node2, device 1: gateway 'router' of a device is not an IPv4 address.",
        "Device address 192.0.2.10 is given to node1 device 0 and node3 device 0; each device needs one of its own.",
    ]


def package(name, version="2", **more):
    entry = {"name": name, "version": version, "sha256": SHA, "file": f"/srv/{name}.run", "version_files": ["/x"]}
    return vendor_packages.package_of({**entry, **more})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"sha256": "abc"}, "sha256 is 'abc'"),
        ({"url": "http://192.0.2.1/x"}, "either file .* or url"),
        ({"version_files": []}, "give version_files"),
        ({"version": ""}, "give its version"),
    ],
)
def test_what_a_package_lacks_is_said(more, says):
    with pytest.raises(ValueError, match=f"Package 'driver'.*{says}"):
        package("driver", **more)


def test_the_installed_version_is_read_as_the_vendor_writes_it(tmp_path):
    info = tmp_path / "usr/toolkit/aarch64-linux/install.info"
    info.parent.mkdir(parents=True)
    info.write_text("package_name=Ascend-cann-toolkit\nversion=8.0.RC2\ninnerversion=V100R001\n")
    assert vendor_packages.version_in(["/usr/none", "/usr/toolkit/*-linux/install.info"], tmp_path) == "8.0.RC2"
    info.write_text("Version=24.1.rc2\ncompatible_version=[V100]\n")
    assert vendor_packages.version_in(["/usr/toolkit/*/install.info"], tmp_path) == "24.1.rc2"
    assert vendor_packages.version_in(["/usr/none"], tmp_path) is None
    assert package("docker_runtime", "6.0.0").is_version("v6.0.0")
    assert not package("docker_runtime", "6.0.0").is_version("6.0.0.1")
    assert not package("docker_runtime", "6.0.0").is_version(None)


def order(installed):
    needed = [package("driver"), package("firmware"), package("toolkit")]
    return [each.name for each in vendor_packages.in_order(needed, installed, ["firmware", "driver"])]


def test_firmware_goes_first_only_where_both_are_there_already():
    assert order({}) == ["driver", "firmware", "toolkit"]
    assert order({"driver": "1", "firmware": None}) == ["driver", "firmware", "toolkit"]
    assert order({"driver": "1", "firmware": "1"}) == ["firmware", "driver", "toolkit"]
