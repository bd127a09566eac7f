"""The kinds of layers that searched networks are made of, and the shape that each gives.

Names and settings are those of AIPerf's model.json. Convolutions keep the size of their input up to the stride: the
kernel is odd and the padding half of it, so that a kernel can grow without anything else changing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Mapping, Sequence, Tuple

CONVOLUTION = "StubConv2d"
NORMALIZATION = "StubBatchNormalization2d"
ACTIVATION = "StubReLU"
SUM = "StubAdd"
CONCATENATION = "StubConcatenate"
POOL = "StubPooling2d"
GLOBAL_POOL = "StubGlobalPooling2d"
DENSE = "StubDense"

Shape = Tuple[int, ...]  # height, width, channels; behind the global pool one number
LARGEST_SIZE = 100_000


@dataclass(frozen=True)
class Layer:
    """`inputs` are nodes: 0 is the image, n what the n-th layer gives."""

    kind: str
    inputs: tuple[int, ...]
    settings: tuple[int, ...] = ()

    @property
    def kernel(self) -> int:
        return self.settings[2]

    def with_kernel(self, size: int) -> Layer:
        channels, filters, _, stride, _ = self.settings
        return convolution(self.inputs[0], channels, filters, size, stride)

    def reading(self, instead_of: int, node: int) -> Layer:
        return replace(self, inputs=tuple(node if given == instead_of else given for given in self.inputs))


def convolution(node: int, channels: int, filters: int, kernel: int, stride: int = 1) -> Layer:
    return Layer(CONVOLUTION, (node,), (channels, filters, kernel, stride, kernel // 2))


def normalization(node: int, channels: int) -> Layer:
    return Layer(NORMALIZATION, (node,), (channels,))


def activation(node: int) -> Layer:
    return Layer(ACTIVATION, (node,))


def pool(node: int, kernel: int, stride: int) -> Layer:
    """Padded as far as a window needs it, so that the setting is 0 as in AIPerf's start graph."""
    return Layer(POOL, (node,), (kernel, stride, 0))


def strided(size: int, stride: int) -> int:
    return -(-size // stride)


def output_shape(layer: Layer, inputs: Sequence[Shape]) -> Shape:
    """ValueError says what does not fit."""
    expected = _SETTINGS.get(layer.kind)
    if expected is None:
        raise ValueError(f"networks are made of {', '.join(sorted(_SETTINGS))}")
    wrong = [value for value in layer.settings if type(value) is not int or not 0 <= value <= LARGEST_SIZE]
    if len(layer.settings) != len(expected) or wrong:
        raise ValueError(f"its settings are {list(layer.settings)!r:.80} and not {', '.join(expected) or 'none'}")
    pair = layer.kind in (SUM, CONCATENATION)
    if len(inputs) != (2 if pair else 1):
        raise ValueError(f"it has {len(inputs)} inputs and not {2 if pair else 1}")
    dimensions = 1 if layer.kind == DENSE else 3
    if any(len(shape) != dimensions for shape in inputs):
        raise ValueError(f"its input has the shape {list(inputs[0])} and not one of {dimensions} sizes")
    return _SHAPES[layer.kind](layer.settings, inputs)


def _convolution_shape(settings: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    height, width, channels = inputs[0]
    expected, filters, kernel, stride, padding = settings
    _same_channels(expected, channels)
    if kernel % 2 == 0 or padding != kernel // 2:
        raise ValueError(f"its kernel is {kernel} with a padding of {padding}: use an odd kernel, padded by half of it")
    return strided(height, _positive(stride, "stride")), strided(width, stride), _positive(filters, "filters")


def _normalization_shape(settings: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    _same_channels(settings[0], inputs[0][2])
    return inputs[0]


def _activation_shape(_: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    return inputs[0]


def _sum_shape(_: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    if inputs[0] != inputs[1]:
        raise ValueError(f"it adds {list(inputs[0])} and {list(inputs[1])}")
    return inputs[0]


def _concatenation_shape(_: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    first, second = inputs
    if first[:2] != second[:2]:
        raise ValueError(f"it joins the channels of {list(first)} and {list(second)}")
    return (*first[:2], first[2] + second[2])


def _pool_shape(settings: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    height, width, channels = inputs[0]
    kernel, stride, padding = settings
    if padding:
        raise ValueError(f"its padding is {padding}: pools are padded by themselves, write 0")
    _positive(kernel, "kernel")
    return strided(height, _positive(stride, "stride")), strided(width, stride), channels


def _global_pool_shape(_: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    return (inputs[0][2],)


def _dense_shape(settings: Sequence[int], inputs: Sequence[Shape]) -> Shape:
    _same_channels(settings[0], inputs[0][0])
    return (_positive(settings[1], "outputs"),)


def _same_channels(expected: int, channels: int) -> None:
    if expected != channels:
        raise ValueError(f"it is made for {expected} channels and its input has {channels}")


def _positive(value: int, name: str) -> int:
    if value < 1:
        raise ValueError(f"its {name} is {value}: it has to be at least 1")
    return value


_SETTINGS: Mapping[str, Sequence[str]] = {
    CONVOLUTION: ("input channels", "filters", "kernel", "stride", "padding"),
    NORMALIZATION: ("channels",),
    ACTIVATION: (),
    SUM: (),
    CONCATENATION: (),
    POOL: ("kernel", "stride", "padding"),
    GLOBAL_POOL: (),
    DENSE: ("inputs", "outputs"),
}

_SHAPES: Mapping[str, Callable[[Sequence[int], Sequence[Shape]], Shape]] = {
    CONVOLUTION: _convolution_shape,
    NORMALIZATION: _normalization_shape,
    ACTIVATION: _activation_shape,
    SUM: _sum_shape,
    CONCATENATION: _concatenation_shape,
    POOL: _pool_shape,
    GLOBAL_POOL: _global_pool_shape,
    DENSE: _dense_shape,
}
