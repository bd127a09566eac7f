"""Networks as data: the start graphs, AIPerf's model.json, digests."""

from __future__ import annotations

import copy
import json
import random
import sys
from pathlib import Path

import pytest
from rackmark.aiperf.flops import flops_per_image
from shared_data import shared

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/automl"))
from graph import Graph
from layers import CONCATENATION, CONVOLUTION, DENSE, GLOBAL_POOL, SUM, Layer, activation, convolution
from morphs import morphed, propose
from start_graphs import start_graph

LAB = start_graph("lab").to_json()


def as_file(graph):
    """As it comes back from a file."""
    return json.loads(json.dumps(graph.to_json()))


def descendant(seed, morphs=12, name="lab"):
    graph, rng = start_graph(name), random.Random(seed)
    for _ in range(morphs):
        graph = morphed(graph, propose(graph, rng))
    return graph


def network(*layers, image=(8, 8, 3)):
    """These layers, and classes behind the last one of them."""
    last, channels = len(layers), next(layer.settings[1] for layer in reversed(layers) if layer.kind == CONVOLUTION)
    channels *= 2 if layers[-1].kind == CONCATENATION else 1
    return Graph.start([*layers, Layer(GLOBAL_POOL, (last,)), Layer(DENSE, (last + 1,), (channels, 10))], image)


def test_resnet50_is_aiperfs_to_the_digit():
    graph = start_graph("resnet50")
    assert (graph.flops.evaluation, graph.flops.training) == (7_806_583_495, 23_053_458_315)
    assert (graph.layers, graph.parameters, graph.classes) == (174, 25_557_032, 1000)


def test_resnet50_is_written_as_aiperf_writes_it():
    published = json.loads(shared("aiperf/resnet50_model.json").read_text())
    graph = start_graph("resnet50")
    ours = as_file(graph)
    assert {name: ours[name] for name in published} == published
    assert Graph.from_json(published) == graph


def test_the_lab_starts_with_23_layers():
    graph = start_graph("lab")
    assert (graph.layers, graph.flops.training, graph.input_shape) == (23, 10_070_385, (28, 28, 1))


def test_start_graphs_fit_the_images_and_classes_of_the_data():
    graph = start_graph("resnet50", (65, 65, 1), 7)
    assert (graph.shapes[4], graph.shapes[172], graph.classes) == ((17, 17, 64), (3, 3, 2048), 7)


def test_images_that_are_not_square_cannot_be_counted():
    with pytest.raises(ValueError, match=r"The input of layer 1 .StubConv2d. is 28x32: the count is for square images"):
        start_graph("lab", (28, 32, 1))


@pytest.mark.parametrize("seed", range(5))
def test_a_descendant_comes_back_from_its_file(seed):
    graph = descendant(seed)
    assert Graph.from_json(as_file(graph)) == graph
    assert graph.flops == flops_per_image(as_file(graph), graph.kernel_size)


def test_a_start_graph_of_ones_own(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(descendant(3).to_json()))
    assert start_graph(str(path), (28, 28, 1), 10) == descendant(3)
    with pytest.raises(ValueError, match="is for images of 28x28x1, the data's are 32x32x3"):
        start_graph(str(path), (32, 32, 3), 10)
    with pytest.raises(ValueError, match="tells 10 classes apart, the data has 100"):
        start_graph(str(path), (28, 28, 1), 100)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "is neither lab nor resnet50 nor a file that can be read: No such file"),
        (b"\xff\xfe", "is no model.json of a network: 'utf-8'"),
        (b"{", "is no model.json of a network: Expecting"),
        (b"[" * 100_000, "is no model.json: it is nested too deeply"),
        (b"[]", "The graph is not a JSON object"),
    ],
)
def test_a_start_graph_that_is_none(tmp_path, content, reason):
    path = tmp_path / "model.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        start_graph(str(path))


def changed(path, value):
    model = copy.deepcopy(LAB)
    at = model
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return model


BROKEN = {
    "no layers": (("layer_list",), [], "no layer_list of 1 to"),
    "a layer that is not known": (
        ("layer_list", 2, 1, 0),
        "StubGelu",
        "There is no count for layer 3 .StubGelu.: it is",
    ),
    "a kind that is counted and not made": (("layer_list", 2, 1, 0), "StubDropout2d", "are made of StubAdd, "),
    "a reader of nothing": (("layer_list", 2, 1, 1), 99, "has no input that is in node_list"),
    "a writer to nothing": (("layer_list", 2, 1, 2), 99, "Layer 3 writes to the node 99, which is not in node_list"),
    "two writers": (("layer_list", 2, 1, 2), 2, "Layers 2 and 3 both write to the node 2"),
    "a circle": (("layer_list", 0, 1, 1), 3, "Layer 1 .StubConv2d. reads what only comes from itself"),
    "an open end": (("layer_list", 2, 1, 1), 1, "A network ends in one StubDense, this one in layer 2 .StubBatch"),
    "channels that do not fit": (("layer_list", 3, 1, 3), 17, "is made for 17 channels and its input has 16"),
    "an even kernel": (("layer_list", 3, 1, 5), 2, "its kernel is 2 with a padding of 1: use an odd kernel"),
    "another padding": (("layer_list", 3, 1, 7), 0, "its kernel is 3 with a padding of 0: use an odd kernel"),
    "too many settings": (("layer_list", 1, 1), ["StubBatchNormalization2d", 1, 2, 16, 16], "not channels"),
    "a setting in words": (("layer_list", 1, 1, 3), "16", r"its settings are \['16'\] and not channels"),
    "a sum of three": (("layer_list", 10, 1, 1), [8, 10, 10], "is for two inputs, it has 3"),
    "a node of another size": (
        ("node_list", 5, 1),
        [7, 7, 33],
        r"Node 5 is written as \[7, 7, 33\], and the layers before",
    ),
    "a kernel that is even": (("kernel_size",), 4, "The kernel_size of the model is 4: it has to be odd"),
    "a kernel that is none": (("kernel_size",), True, "The kernel_size of the model is True: it has to be a whole"),
    "more first layers than layers": (("start_layers",), 24, "start_layers of the model is 24: .* from 0 to 23"),
}


@pytest.mark.parametrize(("path", "value", "reason"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_model_is_refused_with_a_sentence(path, value, reason):
    with pytest.raises(ValueError, match=reason) as refused:
        Graph.from_json(changed(path, value))
    assert str(refused.value).endswith(".")


def test_whatever_is_damaged_the_answer_is_a_network_or_a_sentence():
    rng = random.Random(7)
    model = descendant(1).to_json()
    refused = 0
    for _ in range(400):
        damaged = copy.deepcopy(model)
        place, value = (
            rng.choice(["layer_list", "node_list"]),
            rng.choice([None, -1, 0, 2, 10**30, 0.5, "x", [], [1, 2]]),
        )
        description = rng.choice(damaged[place])
        at = rng.choice([description, *[part for part in description if isinstance(part, list)]])
        at[rng.randrange(len(at))] = value
        try:
            Graph.from_json(damaged)
        except ValueError as sentence:
            refused += 1
            assert str(sentence).endswith(".")
    assert refused > 300


def listed_otherwise(graph, rng):
    """The same layers in another order, with other numbers of nodes, and sums the other way round."""
    model = as_file(graph)
    numbers = rng.sample(range(graph.layers + 1), graph.layers + 1)
    layers = []
    for _, (kind, inputs, output, *settings) in model["layer_list"]:
        nodes = [numbers[node] for node in (inputs if isinstance(inputs, list) else [inputs])]
        read = nodes[::-1] if kind == SUM else nodes
        layers.append([kind, read if len(read) > 1 else read[0], numbers[output], *settings])
    rng.shuffle(layers)
    sizes = {numbers[node]: shape for node, shape in model["node_list"]}
    model["layer_list"] = [[number, layer] for number, layer in enumerate(layers)]
    model["node_list"] = [[node, sizes[node]] for node in sorted(sizes)]
    return {**model, "start_layers": graph.layers}


@pytest.mark.parametrize("seed", range(10))
def test_a_digest_is_that_of_the_structure_and_not_of_its_numbering(seed):
    graph = descendant(seed)
    other = Graph.from_json(listed_otherwise(graph, random.Random(seed)))
    assert other.listed != graph.listed and other.digest() == graph.digest()


def test_networks_that_differ_have_different_digests():
    first = convolution(0, 3, 4, 3)
    pairs = [
        (network(first), network(convolution(0, 3, 4, 5))),  # kernel
        (network(first), network(convolution(0, 3, 5, 3))),  # filters
        (network(first), network(first, image=(16, 16, 3))),
        (network(first), network(first, activation(1))),
        (
            # One layer read twice, and two layers that read the same.
            network(first, Layer(SUM, (1, 1))),
            network(first, convolution(0, 3, 4, 3), Layer(SUM, (1, 2))),
        ),
        (
            network(first, activation(1), Layer(CONCATENATION, (1, 2))),
            network(first, activation(1), Layer(CONCATENATION, (2, 1))),
        ),
    ]
    for one, other in pairs:
        assert one.digest() != other.digest()
