"""Lines of descent of networks, measured: what children compute, what of them can learn, what they count as.

Runs where PyTorch is, with the folders of the workload and of `rackmark`, and the lines to go as JSON; prints JSON.
"""

from __future__ import annotations

import functools
import json
import random
import sys

sys.path.insert(0, sys.argv[1])
sys.path.insert(0, sys.argv[2])
import torch
from inheritance import inherited
from morphs import morphed, propose
from network import Network
from start_graphs import start_graph
from torch import nn

RATE = 0.05


def network_of(graph, weights):
    network = Network(graph)
    network.load_state_dict(weights)
    return network


class Counts:
    """Operations of one image, from the sizes of what the layers were given and gave the first time."""

    def __init__(self, network):
        self.network, self.hooks = network, []
        self.forward, self.backward = {}, {}

    def __enter__(self):
        for place, layer in self.network.layers.items():
            self.hooks.append(layer.register_forward_hook(functools.partial(self.add, int(place))))
        return self

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()

    @property
    def seen(self):
        forward = sum(self.forward.values())
        return [forward, forward + sum(self.backward.values())]

    def add(self, place, layer, given, made):
        kind = self.network.graph.layer(place).kind
        image, elements = given[0][0], made[0].numel()
        forward = backward = 0
        if kind == "StubConv2d":
            weights = layer.weight.numel()
            forward = 2 * weights * made.shape[2] * made.shape[3]
            backward = forward * (2 if self.network.graph.layer(place).inputs != (0,) else 1) + 2 * weights
        elif kind == "StubDense":
            softmax = 8 * elements + elements - 1 + 4 * elements
            forward = 2 * layer.weight.numel() + softmax
            backward = 4 * layer.weight.numel() + 2 * (layer.weight.numel() + elements)
        elif kind == "StubBatchNormalization2d":
            forward, backward = 7 * elements, 36
        elif kind in ("StubReLU", "StubAdd"):
            forward = elements
        elif kind == "StubGlobalPooling2d":
            forward = image.numel() - elements + 4 * elements
        elif kind == "StubPooling2d":
            forward = image.numel() * layer.kernel**2 / layer.stride**2
        self.forward[place], self.backward[place] = forward, backward


def outputs(network, images):
    """In evaluation and in training, without a trace in the network."""
    kept = {name: value.clone() for name, value in network.named_buffers()}
    with torch.no_grad():
        made = [network.train(mode)(images) for mode in (False, True)]
        for name, value in network.named_buffers():
            value.copy_(kept[name])
    return made


def difference(one, other):
    return [((a - b).abs().max() / a.abs().max()).item() for a, b in zip(one, other)]


def learned(network, images, known):
    """Two steps of an optimizer; how many of the weights that are new moved, and how many there are.

    In the first one a weight moves, or the factor behind it that was zero; then it moves in the second.
    """
    moved = {name: torch.zeros_like(weight, dtype=torch.bool) for name, weight in network.named_parameters()}
    network.train()
    for _ in range(2):
        network.zero_grad()
        nn.functional.cross_entropy(network(images), torch.arange(len(images)) % 10).backward()
        with torch.no_grad():
            for name, weight in network.named_parameters():
                moved[name] |= weight.grad != 0
                weight -= RATE * weight.grad
    new = [mask for name, mask in moved.items() if name not in known or known[name] != mask.shape]
    return sum(int(mask.sum()) for mask in new), sum(mask.numel() for mask in new)


def fitting(graph, rng, most):
    """A morph that keeps the network small enough for a test, where one of three is so."""
    morphs = [propose(graph, rng) for _ in range(3)]
    return next((morph for morph in morphs if morphed(graph, morph).flops.training < most), morphs[0])


def descend(seed, start, morphs, size, channels, batch, kernels, learns, dtype):
    torch.set_default_dtype(getattr(torch, dtype))
    rng = random.Random(seed)
    torch.manual_seed(seed)
    graph = start_graph(start, (size, size, channels), 10)
    most = 3 * graph.flops.training
    father = Network(graph)
    for _ in range(morphs):
        images = torch.rand(batch, channels, size, size)
        morph = fitting(graph, rng, most)
        kernel = rng.choice(kernels)
        weights = father.state_dict()
        child, inherits = inherited(graph, weights, [morph], images, seed, kernel)
        network = network_of(child, inherits)
        known = {name: weight.shape for name, weight in weights.items()}
        before = outputs(father, images)
        with Counts(network) as counts:
            unlike = difference(before, outputs(network, images))
        moved, new = learned(network, images, known) if learns else (None, None)
        yield {
            "operation": morph.operation,
            "unlike": unlike,
            "moved": moved,
            "new": new,
            "layers": child.layers,
            "grown": child.kernel_size - graph.kernel_size,
            "counted": [child.flops.evaluation, child.flops.training],
            "seen": counts.seen,
            "parameters": [child.parameters, sum(weight.numel() for weight in network.parameters())],
            "digest": child.digest(),
            "as planned": child == (morphed(graph, morph).with_kernel(kernel) if kernel else morphed(graph, morph)),
        }
        graph, father = child, network


torch.set_num_threads(1)
for line in json.loads(sys.argv[3]):
    for record in descend(**line):
        print(json.dumps({"line": line["seed"], **record}))
