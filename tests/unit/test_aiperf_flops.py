from __future__ import annotations

import copy
import json

import pytest
from rackmark.aiperf.flops import flops_per_image
from shared_data import shared

# A network of one layer of each kind, on an image of 8x8 pixels with 3 channels.
GRAPH = {
    "node_list": [
        [0, [8, 8, 3]],
        [1, [8, 8, 4]],
        [2, [8, 8, 4]],
        [3, [8, 8, 4]],
        [4, [4, 4, 4]],
        [5, [4, 4, 4]],
        [6, [4, 4, 4]],
        [7, [4, 4, 8]],
        [8, [8]],
        [9, [10]],
    ],
    "layer_list": [
        [0, ["StubConv2d", 0, 1, 3, 4, 3, 1, 1]],
        [1, ["StubBatchNormalization2d", 1, 2, 4]],
        [2, ["StubReLU", 2, 3]],
        [3, ["StubPooling2d", 3, 4, 2, 2, 0]],
        [4, ["StubConv2d", 4, 5, 4, 4, 3, 1, 1]],
        [5, ["StubAdd", [5, 4], 6]],
        [6, ["StubConcatenate", [6, 4], 7]],
        [7, ["StubGlobalPooling2d", 7, 8]],
        [8, ["StubDense", 8, 9, 8, 10]],
    ],
}

# Forward and backward by hand, layer by layer.
FORWARD = (
    2 * (8 * 8 * 9 * 3) * 4,  # convolution: 13,824
    7 * (8 * 8 * 4),  # batch normalization: 1,792
    8 * 8 * 4,  # activation: 256
    8 * 8 * 4 * 4 // 4,  # pool: 256
    2 * (4 * 4 * 9 * 4) * 4,  # convolution: 4,608
    4 * 4 * 4,  # sum: 64
    0,
    (4 * 4 - 1) * 8 + 4 * 8,  # global pool: 152
    2 * 8 * 10 + (8 * 10 + 9 + 4 * 10),  # dense and softmax: 289
)
BACKWARD = (
    9 * 3 * 4 * (2 * 64 + 2),  # the first convolution has no gradient for its input
    36,
    9 * 4 * 4 * (4 * 16 + 2),
    4 * 8 * 10 + 2 * 9 * 10,
)


def changed(number, *description, nodes=()):
    """The graph with another layer of that number, and other shapes of nodes."""
    graph = copy.deepcopy(GRAPH)
    graph["layer_list"][number][1] = list(description)
    for node, shape in nodes:
        graph["node_list"][node][1] = shape
    return graph


def longer(layers):
    """The graph behind so many further activations."""
    graph = copy.deepcopy(GRAPH)
    activations = [[number, ["StubReLU", 0, 0]] for number in range(layers)]
    graph["layer_list"] = activations + graph["layer_list"]
    return graph, layers * 8 * 8 * 3


def test_a_network_counted_by_hand():
    flops = flops_per_image(GRAPH, None)
    assert sum(FORWARD) == 21241
    assert (flops.evaluation, flops.training) == (sum(FORWARD), sum(FORWARD) + sum(BACKWARD))


def test_resnet_50():
    flops = flops_per_image(json.loads(shared("aiperf/resnet50_model.json").read_text()), 3)
    assert (flops.evaluation, flops.training) == (7_806_583_495, 23_053_458_315)
    assert flops.evaluation * 50_000 + flops.training * 1_280_000 == 2.989875581795e16


def test_a_sum_of_different_shapes_counts_nothing():
    same, different = flops_per_image(GRAPH, None), flops_per_image(changed(5, "StubAdd", [3, 4], 6), None)
    assert same.evaluation - different.evaluation == 4 * 4 * 4


def test_the_kernel_size_of_the_hyperparameters_is_that_of_late_layers():
    """Layer 175 has its own kernel, the ones behind it that of the hyperparameters."""
    early, more = longer(170)  # the second convolution is layer 175
    assert flops_per_image(early, 5).evaluation == sum(FORWARD) + more
    late, more = longer(171)
    smaller = 2 * (2 * 2 * 25 * 4) * 4  # a kernel of 5 with the padding of 3
    assert flops_per_image(late, 5).evaluation == sum(FORWARD) + more - 4608 + smaller
    with pytest.raises(ValueError, match=r"kernel size of the hyperparameters, for layer 176 \(StubConv2d\), is None"):
        flops_per_image(late, None)


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (changed(2, "StubSwish", 2, 3), r"There is no count for layer 3 \(StubSwish\): it is none of the known kinds"),
        (changed(4, "StubConv2d", 4, 5, 4, 4, 3, 0, 1), r"stride of layer 5 \(StubConv2d\) is 0"),
        (changed(4, "StubConv2d", 4, 5, 4, 4), r"kernel size of layer 5 \(StubConv2d\) is None"),
        (changed(4, "StubConv2d", 4, 5, 4, "4", 3, 1, 1), r"filters of layer 5 \(StubConv2d\) is '4'"),
        (changed(4, "StubConv2d", 4, 5, 4, 4, 3, 1, -1), r"padding of layer 5 \(StubConv2d\) is -1"),
        (changed(4, "StubConv2d", 4, 5, 4, 1e300, 3, 1, 1), r"filters of layer 5 \(StubConv2d\) is 1e\+300"),
        (changed(4, "StubConv2d", 4, 5, 4, 4, 7, 1, 0), r"kernel of layer 5 \(StubConv2d\), 7, is larger than"),
        (changed(4, "StubConv2d", 4, 5, 4, 4, 3, 1, 1, nodes=[(4, [4, 5, 4])]), r"layer 5 \(StubConv2d\) is 4x5"),
        (changed(4, "StubConv2d", 99, 5, 4, 4, 3, 1, 1), r"Layer 5 \(StubConv2d\) has no input"),
        (changed(5, "StubAdd", [5], 6), r"layer 6 \(StubAdd\) is for two inputs, it has 1"),
        (changed(5, "StubAdd", [], 6), r"Layer 6 \(StubAdd\) has no input"),
        (changed(2, "StubReLU", "2", 3), r"Layer 3 \(StubReLU\) has the input '2'"),
        (changed(7, "StubGlobalPooling2d", 8, 8), r"input of layer 8 \(StubGlobalPooling2d\) has the shape \[8\]"),
        (changed(2, {"kind": "StubReLU"}), "Layer 3 is not written as"),
        (changed(2, "StubReLU", 2, 3, nodes=[(2, [8, 8, 0])]), "size of node 2 is 0"),
        (changed(2, "StubReLU", 2, 3, nodes=[(2, None)]), "Node 2 is not written as"),
        ({**GRAPH, "layer_list": []}, "no layer_list"),
        ({**GRAPH, "node_list": None}, "no node_list"),
        ([], "not a JSON object"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_its_layer(graph, sentence):
    with pytest.raises(ValueError, match=sentence):
        flops_per_image(graph, 3)
