"""What Prometheus scrapes follows from the inventory."""

from __future__ import annotations

import pytest
from rackmark.monitoring.targets import EXPORTERS, address_to_reach, targets


def host(address=None, vendor=None, **variables):
    facts = {"accelerators": {"vendor": vendor}} if vendor else {}
    return {"ansible_facts": facts, **({"ansible_host": address} if address else {}), **variables}


def scraped(hosts, controllers=(), servers=()):
    """Addresses by job and instance, jobs without any left out."""
    found = targets(hosts, controllers, servers)
    assert list(found) == list(EXPORTERS)
    return {
        job: {entry["labels"]["instance"]: entry["targets"][0] for entry in entries}
        for job, entries in found.items()
        if entries
    }


def test_every_host_has_a_node_exporter_at_its_address_or_else_its_name():
    assert scraped({"b": host("192.0.2.2"), "a": host()}) == {"node": {"a": "a:9100", "b": "192.0.2.2:9100"}}


def test_services_are_scraped_where_their_groups_are():
    jobs = scraped({"head": host("192.0.2.1"), "mon": host("192.0.2.9")}, ["head"], ["mon"])
    assert jobs["slurm"] == {"head": "192.0.2.1:9402"}
    assert jobs["prometheus"] == {"mon": "127.0.0.1:9090"}
    assert jobs["alertmanager"] == {"mon": "127.0.0.1:9093"}


def test_a_service_that_listens_elsewhere_is_scraped_there():
    mon = host("192.0.2.9", prometheus_listen_address="0.0.0.0", alertmanager_listen_address="192.0.2.9")
    jobs = scraped({"mon": mon}, [], ["mon"])
    assert jobs["prometheus"] == {"mon": "127.0.0.1:9090"} and jobs["alertmanager"] == {"mon": "192.0.2.9:9093"}


@pytest.mark.parametrize(
    ("vendor", "choice", "job"),
    [
        ("nvidia", None, "accelerator"),
        ("ascend", None, "accelerator"),
        ("nvidia", "own", "accelerator"),
        ("nvidia", "dcgm", "dcgm"),
        ("ascend", "dcgm", "accelerator"),
        ("none", "dcgm", None),
        (None, None, None),
    ],
)
def test_devices_are_watched_by_one_exporter(vendor, choice, job):
    variables = {"accelerator_exporter_nvidia": choice} if choice else {}
    jobs = scraped({"node1": host("192.0.2.1", vendor, **variables)})
    port = {"accelerator": 9401, "dcgm": 9400}
    assert jobs == {"node": {"node1": "192.0.2.1:9100"}, **({job: {"node1": f"192.0.2.1:{port[job]}"}} if job else {})}


def test_ports_are_those_of_the_host():
    node = host("192.0.2.1", "ascend", node_exporter_port="19100", accelerator_exporter_port=19401)
    assert scraped({"n": node}) == {"node": {"n": "192.0.2.1:19100"}, "accelerator": {"n": "192.0.2.1:19401"}}


def test_a_host_whose_facts_are_not_known_is_watched_all_the_same():
    assert scraped({"n": {"ansible_host": "192.0.2.1"}}) == {"node": {"n": "192.0.2.1:9100"}}


def test_the_same_hosts_in_another_order_are_the_same_targets():
    hosts = {"b": host("192.0.2.2"), "a": host("192.0.2.1")}
    assert targets(hosts, [], []) == targets(dict(reversed(hosts.items())), [], [])


@pytest.mark.parametrize(
    ("listens_on", "reached_at"),
    [
        ("0.0.0.0", "127.0.0.1:1"),
        ("", "127.0.0.1:1"),
        ("::", "127.0.0.1:1"),
        ("192.0.2.1", "192.0.2.1:1"),
        ("fd00::1", "[fd00::1]:1"),
        ("[fd00::1]", "[fd00::1]:1"),
    ],
)
def test_where_a_service_of_the_same_host_is_reached(listens_on, reached_at):
    assert address_to_reach(listens_on, 1) == reached_at
