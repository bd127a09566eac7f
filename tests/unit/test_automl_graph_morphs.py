"""What morphs make of the layers of a network, and which kernels its convolutions have."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

import pytest
from rackmark.aiperf.flops import flops_per_image

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/automl"))
from graph import Graph
from morphs import OPERATIONS, Morph, morphed, propose
from start_graphs import start_graph

LAB = start_graph("lab")


def line(seed, start=LAB, morphs=20, operations=OPERATIONS, kernels=()):
    """The networks of a line of descent with what made them, the first one without."""
    rng = random.Random(seed)
    networks = [(None, start)]
    for _ in range(morphs):
        graph = networks[-1][1]
        morph = propose(graph, rng, operations)
        child = morphed(graph, morph)
        networks.append((morph, child.with_kernel(rng.choice(kernels)) if kernels else child))
    return networks


def governed(graph):
    """Kernels of the convolutions that have the trial's."""
    places = [place for place in graph.convolutions if place > min(graph.start_layers, 175)]
    return {graph.layer(place).kernel for place in places}


def test_a_thousand_morphs_make_networks_that_differ_and_only_grow():
    digests = set()
    for seed in range(50):
        networks = line(seed, kernels=[3] * 18 + [5, 7])
        for (_, father), (morph, child) in zip(networks, networks[1:]):
            assert child.flops.evaluation > father.flops.evaluation and child.parameters > father.parameters, morph
            assert child.kernel_size >= father.kernel_size and governed(child) <= {child.kernel_size}
            kinds = [(layer.kind, layer.settings[3:4]) for layer in father.listed]
            assert [(layer.kind, layer.settings[3:4]) for layer in child.listed[: father.layers]] == kinds
            features = child.features()
            assert len(features) == 17 and all(math.isfinite(number) for number in features)
            digests.add(child.digest())
    assert len(digests) > 950


def test_all_operations_are_drawn_and_no_other_than_those_asked_for():
    drawn = [morph.operation for seed in range(20) for morph, _ in line(seed)[1:]]
    assert all(drawn.count(operation) > 40 for operation in OPERATIONS)
    only = [morph.operation for morph, _ in line(1, operations=("deeper", "skip_add"))[1:]]
    assert set(only) == {"deeper", "skip_add"}


def test_a_seed_makes_the_same_networks_again():
    assert line(3) == line(3)
    assert line(3) != line(4)


def test_where_no_operation_fits_none_is_proposed():
    kernels = line(0, morphs=14, operations=["kernel"])  # 3, 3, 3, 1, 3, 3, 1 are 7 after so many
    assert len({graph.digest() for _, graph in kernels}) == 15
    last = kernels[-1][1]
    for _ in range(20):
        morph = propose(last, random.Random(1), ["kernel"])
        last = last if morph is None else morphed(last, morph)
    assert propose(last, random.Random(1), ["kernel"]) is None
    assert {last.layer(place).kernel for place in last.convolutions} == {7}
    assert propose(last, random.Random(1), ["kernel", "deeper"]).operation == "deeper"


@pytest.mark.parametrize("seed", range(3))
def test_morphs_come_back_from_a_record(seed):
    for morph, _ in line(seed)[1:]:
        assert Morph.from_json(json.loads(json.dumps(morph.to_json()))) == morph


@pytest.mark.parametrize(
    "record",
    [
        None,
        "deeper",
        {"operation": "thinner", "at": 3},
        {"operation": "deeper"},
        {"operation": "deeper", "at": 3, "amount": 1},
        {"operation": "deeper", "at": True},
        {"operation": "wider", "at": 1},
        {"operation": "skip_add", "at": 3, "source": "6"},
        {"operation": ["deeper"], "at": 3},
    ],
)
def test_what_is_no_morph_is_refused(record):
    with pytest.raises(ValueError, match=r"^(A|The) morph .*\.$"):
        Morph.from_json(record)


@pytest.mark.parametrize(
    ("morph", "reason"),
    [
        (Morph("deeper", 24), "no deeper at 24 in a network of 23 layers"),
        (Morph("deeper", 1), "no deeper at 1: that layer is a StubConv2d and not a StubReLU"),
        (Morph("wider", 3, amount=4), "that layer is a StubReLU and not a StubConv2d"),
        (Morph("wider", 1, amount=0), "the channels of that layer cannot grow"),
        (Morph("skip_add", 3, source=6), "no skip_add at 3 from 6: a skip leads from an activation to a later one"),
        (Morph("skip_concat", 12, source=5), "a skip leads from an activation"),
        (Morph("kernel", 1, amount=3), "the kernel of that layer is that of the trial, or as large already"),
    ],
)
def test_a_morph_of_another_network_is_refused(morph, reason):
    with pytest.raises(ValueError, match=reason):
        morphed(LAB, morph)


def test_a_sum_ties_the_channels_that_it_adds():
    wider = morphed(LAB, Morph("wider", 7, amount=8))  # the end of the first block, and its projection
    assert [wider.layer(place).settings[1] for place in (4, 7, 9, 13)] == [32, 40, 40, 64]
    assert [wider.layer(place).settings[0] for place in (8, 10, 13, 18)] == [40, 40, 40, 40]


def test_channels_grow_through_what_is_joined():
    joined = morphed(LAB, Morph("skip_concat", 12, source=3))
    assert [layer.kind for layer in joined.listed[23:]] == ["StubPooling2d", "StubConcatenate", "StubConv2d"]
    assert joined.layer(26).settings[:2] == (48, 32)
    wider = morphed(joined, Morph("wider", 1, amount=4))
    assert (wider.layer(26).settings[:2], wider.shapes[25]) == ((52, 32), (7, 7, 52))


def test_convolutions_of_morphs_have_the_kernel_of_the_trial():
    graph = morphed(LAB.with_kernel(5), Morph("deeper", 3))
    assert graph.layer(24).settings == (16, 16, 5, 1, 2)
    larger = graph.with_kernel(7)
    assert larger.layer(24).settings == (16, 16, 7, 1, 3) and larger.shapes == graph.shapes
    assert larger.listed[:23] == graph.listed[:23]
    assert larger.with_kernel(3) == larger  # never smaller again
    with pytest.raises(ValueError, match="The kernel size 4 is not an odd number"):
        graph.with_kernel(4)


def test_the_kernel_of_a_trial_is_no_part_of_the_structure_before_it_is_in_one():
    assert LAB.with_kernel(5).digest() == LAB.digest()
    deeper = Morph("deeper", 3)
    assert morphed(LAB.with_kernel(5), deeper).digest() != morphed(LAB, deeper).digest()
    assert morphed(LAB, deeper).with_kernel(5) == morphed(LAB.with_kernel(5), deeper)


def test_from_the_176th_layer_on_every_kernel_is_that_of_the_trial():
    resnet = start_graph("resnet50", (64, 64, 3), 10)
    networks = line(5, start=resnet, morphs=12, kernels=[3, 3, 3, 5])
    last = networks[-1][1]
    assert last.layers > 190 and last.kernel_size == 5 and governed(last) == {5}
    for _, graph in networks:
        model = graph.to_json()
        # With all convolutions among the first 175 layers, AIPerf counts the kernels that are written.
        convolutions_first = sorted(model["layer_list"], key=lambda layer: layer[1][0] != "StubConv2d")
        as_written = flops_per_image({**model, "layer_list": convolutions_first}, None)
        assert graph.flops == as_written == flops_per_image(model, graph.kernel_size)


def test_a_foreign_start_graph_of_many_layers_gets_one_kernel_behind_the_175th():
    resnet = start_graph("resnet50", (64, 64, 3), 10)
    long = line(2, start=resnet, morphs=10, operations=["deeper"])[-1][1]
    model = {name: value for name, value in long.to_json().items() if name not in ("kernel_size", "start_layers")}
    projection = next(number for number, layer in model["layer_list"] if number > 174 and layer[0] == "StubConv2d")
    model["layer_list"][projection][1][5:] = [5, 1, 2]
    graph = Graph.from_json(model)
    assert (graph.start_layers, graph.kernel_size, governed(graph)) == (long.layers, 5, {5})
