"""The weights that a network begins with: a father's, or those of a file.

A child computes what its father did, and can learn more. `deeper` puts in the identity, with a normalization set by
what a batch looks like in training; `wider` copies filters, which are read with zeros; a skip is scaled by zero or
joined with zeros; a kernel grows by zeros. Every new weight has a gradient, or the factor behind it has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Iterator, Mapping, Sequence

import torch
from channels import channels_of
from graph import Graph
from layers import CONVOLUTION, DENSE, NORMALIZATION
from morphs import DEEPER, KERNEL, SKIP_ADD, SKIP_CONCAT, WIDER, Morph, morphed
from network import EPSILON, Network
from torch import Generator, Tensor, nn
from torch.nn import functional

Weights = Dict[str, Tensor]

_NOISE = 0.01  # of the spread of a layer's weights, so that copies of a filter go different ways
_PER_CHANNEL = ("weight", "bias", "running_mean", "running_var")
_KEPT = {CONVOLUTION: ("weight",), NORMALIZATION: _PER_CHANNEL, DENSE: ("weight", "bias")}


@dataclass(frozen=True)
class _Step:
    """From a network to the one that a morph makes of it."""

    father: Graph
    child: Graph
    morph: Morph
    weights: Weights
    batch: Tensor
    random: Generator

    def added(self, kind: str) -> int:
        """The place of the one new layer of that kind."""
        new = range(self.father.layers + 1, self.child.layers + 1)
        [place] = [place for place in new if self.child.layer(place).kind == kind]
        return place

    def zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=self.batch.dtype, device=self.batch.device)

    def noise(self, like: Tensor) -> Tensor:
        """The same on every device."""
        return torch.randn(like.shape, generator=self.random).to(like)


def inherited(
    father: Graph,
    weights: Mapping[str, Tensor],
    morphs: Sequence[Morph],
    batch: Tensor,
    seed: int,
    kernel_size: int | None = None,
) -> tuple[Graph, Weights]:
    """The child for a trial of this kernel size, and its weights.

    `batch` are images as training sees them, on the device of the weights.
    """
    graph, carried = father, dict(weights)
    random = Generator().manual_seed(seed)
    for morph in morphs:
        child = morphed(graph, morph)
        carried = _CARRIED[morph.operation](_Step(graph, child, morph, carried, batch, random))
        graph = child
    if kernel_size is not None:
        graph = graph.with_kernel(kernel_size)
    return graph, _with_kernels_of(graph, carried)


def fits_weights(graph: Graph, given: Mapping[str, Tensor]) -> tuple[Weights, list[str]]:
    """Those of a file of weights that fit, and what does not, in words.

    Weights are taken by the order of convolutions, normalizations and dense layers, so that their names do not matter.
    """
    found = _layers_by_kind(given)
    expected = Network(graph).state_dict()
    fitting: Weights = {}
    skipped = []
    for place, layer in enumerate(graph.listed, start=1):
        own = {kept: expected[f"layers.{place}.{kept}"] for kept in _KEPT.get(layer.kind, ())}
        other = next(found.get(layer.kind, iter(())), {})
        sizes = [[list(weights[kept].shape) for kept in own if kept in weights] for weights in (own, other)]
        if sizes[0] == sizes[1]:
            fitting.update((f"layers.{place}.{kept}", other[kept]) for kept in own)
        else:
            skipped.append(f"layer {place} ({layer.kind}) of {sizes[0][0]}: the file has {(sizes[1] or ['none'])[0]}")
    return fitting, skipped


def _layers_by_kind(given: Mapping[str, Tensor]) -> Mapping[str, Iterator[Weights]]:
    layers: dict[str, Weights] = {}
    for name, weight in given.items():
        layer, _, kept = name.rpartition(".")
        layers.setdefault(layer, {})[kept] = weight
    kinds: dict[str, list[Weights]] = {kind: [] for kind in _KEPT}
    for weights in layers.values():
        dimensions = weights["weight"].dim() if "weight" in weights else 0
        kind = {1: NORMALIZATION, 2: DENSE, 4: CONVOLUTION}.get(dimensions)
        if kind is not None:
            kinds[kind].append(weights)
    return {kind: iter(of_kind) for kind, of_kind in kinds.items()}


def _deeper(step: _Step) -> Weights:
    """In training a normalization takes off what it sees of a batch; its scale and shift put that back."""
    variance, mean = torch.var_mean(_seen_in_training(step), dim=(0, 2, 3), unbiased=False)
    scale = torch.sqrt(variance + EPSILON)
    return {**step.weights, **_identity(step), **_normalization(step, scale, mean, mean, variance)}


def _seen_in_training(step: _Step) -> Tensor:
    """What the activation behind which layers are put gives for the batch."""
    network = Network(step.father).to(step.batch)
    network.load_state_dict(step.weights)  # copies, for a normalization writes into what it keeps
    with torch.no_grad():
        return network.train().at(step.morph.at, step.batch)


def _wider(step: _Step) -> Weights:
    """New channels are copies of others of the group, slightly changed; what reads them does so with zeros."""
    channels = channels_of(step.father)
    group = channels.group_of(step.morph.at)
    assert step.morph.amount is not None
    copied = torch.randint(channels.sizes[group], (step.morph.amount,), generator=step.random).tolist()
    weights = dict(step.weights)
    for place, layer in enumerate(step.father.listed, start=1):
        made, read = (channels.sources(node, group, copied) for node in (place, layer.inputs[0]))
        name = f"layers.{place}"
        if layer.kind == NORMALIZATION:
            for kept in _PER_CHANNEL:
                weights[f"{name}.{kept}"] = weights[f"{name}.{kept}"][[source for source, _ in made]]
        elif layer.kind in (CONVOLUTION, DENSE):
            weight = weights[f"{name}.weight"]
            grown = weight[[source for source, _ in made]][:, [source for source, _ in read]]
            new_filters = [number for number, (_, new) in enumerate(made) if new]
            grown[new_filters] += _NOISE * weight.std() * step.noise(grown[new_filters])
            grown[:, [number for number, (_, new) in enumerate(read) if new]] = 0
            weights[f"{name}.weight"] = grown
    return weights


def _skip_add(step: _Step) -> Weights:
    place = step.added(CONVOLUTION)
    channels, filters, kernel, _, _ = step.child.layer(place).settings
    weight = step.zeros(filters, channels, kernel, kernel)
    drawn = {f"layers.{place}.weight": step.noise(weight) * (2 / (filters * kernel**2)) ** 0.5}
    zeros = step.zeros(filters)
    return {**step.weights, **drawn, **_normalization(step, zeros, zeros, zeros, torch.ones_like(zeros))}


def _skip_concat(step: _Step) -> Weights:
    return {**step.weights, **_identity(step)}


def _identity(step: _Step) -> Weights:
    """Of the new convolution: it gives the first of its channels as they are, and the others have no part in that."""
    place = step.added(CONVOLUTION)
    channels, filters, kernel, _, _ = step.child.layer(place).settings
    return {f"layers.{place}.weight": nn.init.dirac_(step.zeros(filters, channels, kernel, kernel))}


def _normalization(step: _Step, *per_channel: Tensor) -> Weights:
    name = f"layers.{step.added(NORMALIZATION)}"
    values = {f"{name}.{kept}": value.clone() for kept, value in zip(_PER_CHANNEL, per_channel)}
    return {**values, f"{name}.num_batches_tracked": torch.zeros((), dtype=torch.long, device=step.batch.device)}


def _kernel(step: _Step) -> Weights:
    return _with_kernels_of(step.child, step.weights)


def _with_kernels_of(graph: Graph, weights: Weights) -> Weights:
    """Zeros around the kernels that have grown."""
    grown = dict(weights)
    for place in graph.convolutions:
        weight = weights[f"layers.{place}.weight"]
        around = (graph.layer(place).kernel - weight.shape[-1]) // 2
        if around:
            grown[f"layers.{place}.weight"] = functional.pad(weight, [around] * 4)
    return grown


_CARRIED: Mapping[str, Callable[[_Step], Weights]] = {
    DEEPER: _deeper,
    WIDER: _wider,
    SKIP_ADD: _skip_add,
    SKIP_CONCAT: _skip_concat,
    KERNEL: _kernel,
}
