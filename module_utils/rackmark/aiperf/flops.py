"""How many floating point operations AIPerf counts for one image, by the graph of a network (`model.json`).

The count is AIPerf's, so that scores can be compared with published ones. What is odd about it is kept:

- the backward pass of a batch normalization is 36 operations, however large its input is;
- the first convolution has no gradient for its input; activations, pools, sums and softmax have no backward pass;
- softmax belongs to the dense layer; divisions and roots count as 4 operations, an exponential as 8;
- from the 176th layer on, convolutions have the kernel size of the hyperparameters, with unchanged padding;
- a sum of two inputs with different shapes counts nothing;
- sizes are those that the graph gives for its nodes, which need not fit the channels that a layer gives.

Whatever the count does not know is refused: a layer that is passed over would make a score too low.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence, Tuple

LAYERS_WITH_OWN_KERNEL = 175
_LARGEST_SIZE = 100_000
_MOST_LAYERS = 20_000

_Shape = Sequence[int]
_Count = Tuple[float, float]  # operations of the forward and of the backward pass


@dataclass(frozen=True)
class Flops:
    """Of one image: to evaluate it, and to train with it (forward and backward)."""

    evaluation: float
    training: float


@dataclass(frozen=True)
class _Layer:
    """`settings` are the numbers behind kind, input and output in the list of layers."""

    place: int
    kind: str
    inputs: Sequence[_Shape]
    settings: Sequence[Any]
    is_first_convolution: bool
    kernel_size: int | None  # of the hyperparameters

    def setting(self, number: int, name: str, least: int = 1) -> int:
        value = self.settings[number] if number < len(self.settings) else None
        return _size(value, f"{name} of {self}", least)

    def __str__(self) -> str:
        return f"layer {self.place} ({self.kind})"


def flops_per_image(graph: object, kernel_size: int | None) -> Flops:
    """`kernel_size` is that of the hyperparameters; None is one that is not known."""
    if not isinstance(graph, dict):
        raise ValueError("The graph is not a JSON object.")
    forward = backward = 0.0
    for layer in _layers(graph, kernel_size):
        if layer.kind not in _COUNTS:
            raise ValueError(
                f"There is no count for {layer}: it is none of the known kinds {', '.join(sorted(_COUNTS))}."
            )
        one_way, back = _COUNTS[layer.kind](layer)
        forward += one_way
        backward += back
    return Flops(forward, forward + backward)


def _convolution(layer: _Layer) -> _Count:
    height, width, _ = _volume(layer)
    if height != width:
        raise ValueError(f"The input of {layer} is {height}x{width}: the count is for square images.")
    names = ("number of input channels", "number of filters", "kernel size", "stride")
    channels, filters, kernel, stride = (layer.setting(number, name) for number, name in enumerate(names))
    padding = layer.setting(4, "padding", least=0)
    if layer.place > LAYERS_WITH_OWN_KERNEL:
        kernel = _size(layer.kernel_size, f"kernel size of the hyperparameters, for {layer},")
    out = (height + 2 * padding - kernel) // stride + 1
    if out < 1:
        raise ValueError(f"The kernel of {layer}, {kernel}, is larger than its input of {height}x{width}.")
    weights = kernel**2 * channels * filters
    gradients = 1 if layer.is_first_convolution else 2
    return 2.0 * out**2 * weights, weights * (gradients * 2.0 * out**2 + 2)


def _dense(layer: _Layer) -> _Count:
    inputs, outputs = layer.setting(0, "number of inputs"), layer.setting(1, "number of outputs")
    softmax = 8 * outputs + (outputs - 1) + 4 * outputs
    return 2.0 * inputs * outputs + softmax, 4.0 * inputs * outputs + 2.0 * (inputs + 1) * outputs


def _batch_normalization(layer: _Layer) -> _Count:
    return 7.0 * _elements(layer), 36.0


def _activation(layer: _Layer) -> _Count:
    return float(_elements(layer)), 0.0


def _sum(layer: _Layer) -> _Count:
    if len(layer.inputs) != 2:
        raise ValueError(f"The count of {layer} is for two inputs, it has {len(layer.inputs)}.")
    same = list(layer.inputs[0]) == list(layer.inputs[1])
    return (float(_elements(layer)) if same else 0.0), 0.0


def _max_pool(layer: _Layer) -> _Count:
    kernel, stride = layer.setting(0, "kernel size"), layer.setting(1, "stride")
    return _elements(layer) * kernel**2 / stride**2, 0.0


def _global_average_pool(layer: _Layer) -> _Count:
    height, width, channels = _volume(layer)
    return (height * width - 1.0) * channels + 4 * channels, 0.0


def _nothing(_: _Layer) -> _Count:
    return 0.0, 0.0


_COUNTS: Mapping[str, Callable[[_Layer], _Count]] = {
    "StubConv2d": _convolution,
    "StubDense": _dense,
    "StubBatchNormalization2d": _batch_normalization,
    "StubReLU": _activation,
    "StubAdd": _sum,
    "StubPooling2d": _max_pool,
    "StubGlobalPooling2d": _global_average_pool,
    "StubConcatenate": _nothing,
    "StubDropout1d": _nothing,
    "StubDropout2d": _nothing,
    "StubFlatten": _nothing,
    "StubInput": _nothing,
}


def _layers(graph: Mapping[str, Any], kernel_size: int | None) -> list[_Layer]:
    shapes = _shapes(graph)
    listed = graph.get("layer_list")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_LAYERS:
        raise ValueError(f"The graph has no layer_list of 1 to {_MOST_LAYERS} layers.")
    layers = []
    seen_convolution = False
    for place, entry in enumerate(listed, start=1):
        kind, inputs, settings = _entry(entry, place)
        missing = [node for node in inputs if node not in shapes]
        if missing or not inputs:
            raise ValueError(f"Layer {place} ({kind}) has no input that is in node_list: {inputs!r:.80}.")
        first = kind == "StubConv2d" and not seen_convolution
        seen_convolution = seen_convolution or first
        layers.append(_Layer(place, kind, [shapes[node] for node in inputs], settings, first, kernel_size))
    return layers


def _entry(entry: object, place: int) -> tuple[str, list[int], list[Any]]:
    """[number, [kind, input or inputs, output, settings ...]]"""
    description = entry[1] if isinstance(entry, list) and len(entry) == 2 else None
    if not isinstance(description, list) or len(description) < 3 or not isinstance(description[0], str):
        raise ValueError(f"Layer {place} is not written as [number, [kind, input, output ...]].")
    kind, inputs = description[0][:80], description[1]
    nodes = inputs if isinstance(inputs, list) else [inputs]
    if not all(type(node) is int for node in nodes):
        raise ValueError(f"Layer {place} ({kind}) has the input {inputs!r:.80}, which is not the number of a node.")
    return kind, nodes, description[3:]


def _shapes(graph: Mapping[str, Any]) -> Mapping[int, _Shape]:
    listed = graph.get("node_list")
    if not isinstance(listed, list):
        raise ValueError("The graph has no node_list.")
    shapes = {}
    for place, entry in enumerate(listed):
        shape = entry[1] if isinstance(entry, list) and len(entry) == 2 and entry[0] == place else None
        if not isinstance(shape, list) or not 1 <= len(shape) <= 3:
            raise ValueError(f"Node {place} is not written as [number, [height, width, channels]].")
        shapes[place] = [_size(size, f"size of node {place}") for size in shape]
    return shapes


def _size(value: object, what: str, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= _LARGEST_SIZE:
        raise ValueError(f"The {what} is {value!r:.40}: it has to be a whole number from {least} to {_LARGEST_SIZE}.")
    return value


def _volume(layer: _Layer) -> _Shape:
    shape = layer.inputs[0]
    if len(shape) != 3:
        raise ValueError(f"The input of {layer} has the shape {list(shape)}, not height, width and channels.")
    return shape


def _elements(layer: _Layer) -> int:
    height, width, channels = _volume(layer)
    return height * width * channels
