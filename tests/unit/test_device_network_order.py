"""Whom an Ascend device pings, in which order: a part of it is a fair sample of the whole."""

from __future__ import annotations

from collections import Counter

import pytest
from rackmark.node.ping_order import NO_WAY, OTHER_NETWORK, SAME_NETWORK, WITHIN_NODE, Device, targets, way
from unit.ping_fixture import devices

ONE = Device("node1", 0, "10.0.1.0", "10.0.0.0/16", False)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (ONE._replace(number=1), WITHIN_NODE),
        (ONE._replace(node="node2"), SAME_NETWORK),
        (ONE._replace(node="node2", network=""), SAME_NETWORK),
        (ONE._replace(node="node2", network="10.1.0.0/16"), NO_WAY),
    ],
)
def test_ways(other, expected):
    assert way(ONE, other) == expected


def test_a_gateway_is_a_way_to_other_networks():
    assert way(ONE._replace(has_gateway=True), ONE._replace(node="node2", network="10.1.0.0/16")) == OTHER_NETWORK


def test_all_others_are_pinged_once():
    among = devices(5, 3)
    for own in range(len(among)):
        assert sorted([own, *targets(among, own, True)]) == list(range(len(among)))


def test_devices_of_the_own_node_can_be_left_out():
    among = devices(3, 4)
    assert {among[place].node for place in targets(among, 5, False)} == {"node1", "node3"}


def test_networks_without_a_gateway_are_left_out():
    among = devices(3, 4, lambda number: f"192.168.{number}.0/24")
    others = [among[place] for place in targets(among, 0, False)]
    assert {(other.node, other.number) for other in others} == {("node2", 0), ("node3", 0)}


@pytest.mark.parametrize("part", [8, 40, 200])
def test_a_part_of_a_thousand_devices_meets_all_kinds_all_distances_and_every_device_equally(part):
    among = [device._replace(has_gateway=True) for device in devices(125, 8, lambda number: f"10.{number % 4}.0.0/16")]
    orders = [targets(among, own, True)[:part] for own in range(len(among))]
    for own, order in enumerate(orders):
        assert {way(among[own], among[place]) for place in order} == {WITHIN_NODE, SAME_NETWORK, OTHER_NETWORK}
    times = Counter(place for order in orders for place in order)
    assert set(times) == set(range(len(among)))
    assert max(times.values()) <= 1.5 * min(times.values())
    both_ways = {(own, place) for own, order in enumerate(orders) for place in order}
    assert sum((other, one) in both_ways for one, other in both_ways) >= 0.7 * len(both_ways)
    far = [abs(place - own) for own, order in enumerate(orders) for place in order]
    assert sum(distance > 300 for distance in far) > 0.2 * len(far)
