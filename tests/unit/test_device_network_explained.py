"""Failed pings between Ascend devices are explained by the smallest thing that failed as a whole."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from rackmark.ping_matrix.explain import explanations
from rackmark.ping_matrix.sentences import sentences
from unit.ping_fixture import devices, failing, is_device, pinged

AMONG = devices(4, 4)


def said(fails, among=AMONG, links_down=()):
    return sentences(failing(among, fails), links_down)


def touches(one, other, node, number):
    return is_device(one, node, number) or is_device(other, node, number)


def between_nodes_of(one, other, node):
    return one.node != other.node and node in (one.node, other.node)


def test_nothing_failed():
    assert said(lambda one, other: False) == []


def test_a_device_that_nobody_reaches_is_named_alone_with_its_link():
    (sentence,) = said(lambda one, other: touches(one, other, "node2", 3), links_down=["node2 device 3"])
    assert sentence == (
        "node2 device 3 (10.0.2.3) reaches no device and is reached by none (30 pairs): look at its cable and its port"
        " of the switch; the link of node2 device 3 is DOWN."
    )


def test_a_link_that_is_down_is_said_even_where_no_ping_tells():
    assert said(lambda one, other: False, links_down=["node2 device 3"]) == ["node2 device 3: its link is DOWN."]


def test_a_device_that_is_not_reached_and_one_that_does_not_reach():
    assert said(lambda one, other: is_device(other, "node3", 1)) == [
        "node3 device 1 (10.0.3.1) is reached by no device (15 pairs); it reaches others."
    ]
    (sentence,) = said(lambda one, other: is_device(one, "node3", 1))
    assert sentence.startswith("node3 device 1 (10.0.3.1) reaches no device (15 pairs); others reach it")


def test_a_device_that_only_its_own_node_reaches():
    (sentence,) = said(lambda one, other: one.node != other.node and touches(one, other, "node3", 1))
    assert "node3 device 1 (10.0.3.1) reaches no device of another node" in sentence


def test_a_node_is_named_and_not_its_devices():
    (sentence,) = said(lambda one, other: between_nodes_of(one, other, "node2"))
    assert sentence.startswith("node2: none of its devices reaches another node or is reached from there (96 pairs)")


def test_of_two_nodes_nobody_can_say_which_it_is():
    assert said(lambda one, other: one.node != other.node, devices(2, 8)) == [
        "The devices of node1 and those of node2 do not reach one another (128 pairs)."
    ]


def test_one_pair_one_way_is_named_with_what_was_lost():
    assert said(lambda one, other: is_device(one, "node1", 0) and is_device(other, "node3", 1)) == [
        "node1 device 0 (10.0.1.0) does not reach node3 device 1 (10.0.3.1) (3 of 3 packets lost), which reaches it."
    ]


def test_one_pair_both_ways():
    (sentence,) = said(
        lambda one, other: {(one.node, one.number), (other.node, other.number)} == {("node1", 0), ("node3", 1)}
    )
    assert sentence.startswith("node1 device 0 (10.0.1.0) and node3 device 1 (10.0.3.1) do not reach one another")


def test_one_way_between_two_nodes():
    assert said(lambda one, other: (one.node, other.node) == ("node1", "node4")) == [
        "No device of node1 reaches one of node4 (16 pairs)."
    ]


def test_two_faults_are_two_sentences_and_the_larger_comes_first():
    first, second = said(lambda one, other: between_nodes_of(one, other, "node2") or is_device(other, "node3", 1))
    assert first.startswith("node2: none of its devices")
    assert second.startswith("node3 device 1 (10.0.3.1) is reached by no device")


def test_a_network_of_its_own_for_each_number_is_blamed_as_such():
    among = devices(4, 4, lambda number: f"192.168.{10 * number}.0/24")
    (sentence,) = said(lambda one, other: one.node != other.node and one.number == other.number == 2, among)
    assert sentence.startswith("Network 192.168.20.0/24: no device reaches one of another node (12 pairs)")
    (sentence,) = said(lambda one, other: one.node != other.node and {one.number, other.number} == {0, 2}, among)
    assert sentence.startswith("Networks 192.168.0.0/24 and 192.168.20.0/24 do not reach one another (24 pairs)")


def test_devices_of_one_number_that_share_a_switch():
    (sentence,) = said(lambda one, other: one.node != other.node and one.number == other.number == 2)
    assert sentence.startswith("Devices number 2 do not reach each other between nodes (12 pairs)")


def test_where_nothing_works_one_sentence_says_so_and_one_for_each_node_its_links():
    down = [f"node{node} device {number}" for node in (1, 2) for number in range(4)]
    assert said(lambda one, other: True, links_down=down) == [
        "No device reaches another (240 pairs): look at the links and at the switches.",
        "node1: the links of devices 0, 1, 2, 3 are DOWN.",
        "node2: the links of devices 0, 1, 2, 3 are DOWN.",
    ]


def test_where_nothing_works_between_nodes_of_several_networks():
    among = devices(4, 4, lambda number: f"192.168.{10 * number}.0/24")
    (sentence,) = said(lambda one, other: one.node != other.node, among)
    assert sentence.startswith("No device reaches one of another node (192 pairs)")


def test_nodes_whose_devices_only_talk_over_hccs_are_one_sentence_with_the_way_out():
    (sentence,) = said(lambda one, other: one.node == other.node)
    assert sentence.startswith("node[1-4]: devices do not reach others of the same node (48 pairs)")
    assert "-e within_nodes=false" in sentence


def test_a_pair_whose_way_back_was_not_tested_says_so():
    matrix = pinged(devices(2, 1), lambda one, other: "-" if one.node == "node1" else ".")
    assert sentences(matrix, []) == [
        "node1 device 0 (10.0.1.0) does not reach node2 device 0 (10.0.2.0) (3 of 3 packets lost);"
        " the way back was not tested."
    ]


@pytest.mark.parametrize("seed", range(20))
def test_every_failed_pair_is_explained_or_counted_and_no_reached_one_is(seed):
    chance = random.Random(seed)
    bad = {(one, other) for one in range(16) for other in range(16) if one != other and chance.random() < 0.1}
    dead = AMONG[chance.randrange(16)]
    matrix = failing(AMONG, lambda one, other: dead in (one, other) or (AMONG.index(one), AMONG.index(other)) in bad)
    found, left = explanations(matrix)
    assert sum(one.pairs for one in found) + left == np.count_nonzero(matrix.marks == "-")
    first = found[0]
    assert (first.level, first.kind, AMONG[first.one]) == ("device", "both", dead)


def test_a_thousand_devices_are_explained_in_seconds():
    among = devices(125, 8)
    matrix = failing(among, lambda one, other: between_nodes_of(one, other, "node7") or is_device(other, "node9", 3))
    began = time.monotonic()
    first, second = sentences(matrix, [])
    assert time.monotonic() - began < 30
    assert first.startswith("node7: none of its devices")
    assert second.startswith("node9 device 3 (10.0.9.3) is reached by no device")
