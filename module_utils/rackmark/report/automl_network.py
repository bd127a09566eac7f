"""A drawing of a network: a bar for each layer that computes, as high as it has channels, and arcs for skips."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Patch, Rectangle

from .canvas import ACCENT, FAINT, INK, LIGHT, PALE, blank, png

MOST_COLUMNS = 600
_OF_MORPHS = "#c4622d"
_CONVOLUTION, _DENSE = "StubConv2d", "StubDense"
_JUNCTIONS = ("StubAdd", "StubConcatenate")
_POOLS = ("StubPooling2d", "StubGlobalPooling2d")
_SHOWN = (_CONVOLUTION, _DENSE, *_JUNCTIONS, *_POOLS)
_ALONG = [step / 24 for step in range(25)]  # an arc
_WIDE, _JUNCTION_WIDE = 0.8, 0.3
_KERNELS = {1: LIGHT, 3: ACCENT, 5: "#7a5aa6", 7: "#a8862b"}


@dataclass(frozen=True)
class Column:
    """A layer that is shown. `sources` are places of columns that it reads from, through layers that are not."""

    kind: str
    channels: int
    size: int
    kernel: int
    is_new: bool
    sources: Sequence[int]


def network(graph: Mapping[str, Any], title: str) -> bytes | None:
    """None is a network with more layers than can be drawn. The graph is one that AIPerf's count has accepted."""
    columns = columns_of(graph)
    if not 0 < len(columns) <= MOST_COLUMNS:
        return None
    figure, axes = blank(title, grid="x", height=2.9)
    axes.grid(visible=False)
    heights = [math.log2(max(2, column.channels)) for column in columns]
    widths = [_JUNCTION_WIDE if column.kind in _JUNCTIONS else _WIDE for column in columns]
    bars = [Rectangle((place - wide / 2, 0), wide, high) for place, (wide, high) in enumerate(zip(widths, heights))]
    axes.add_collection(PatchCollection(bars, facecolors=list(map(_color, columns)), edgecolors="none"))
    _skips(axes, columns, heights)
    _sizes(axes, columns)
    axes.set_xlim(-1, len(columns))
    axes.set_xticks([])
    axes.set_ylim(0, None)
    axes.set_yticks([math.log2(channels) for channels in _ticks(columns)], [f"{n}" for n in _ticks(columns)])
    axes.set_ylabel("channels", color=FAINT, fontsize=9)
    axes.autoscale_view(scalex=False)
    look: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK, "handlelength": 1, "columnspacing": 1.2}
    figure.legend(handles=_legend(columns), loc="outside lower center", ncols=4, **look)
    return png(figure)


def columns_of(graph: Mapping[str, Any]) -> list[Column]:
    """In an order in which every layer comes behind those that it reads from."""
    layers = [entry[1] for entry in graph["layer_list"]]
    shapes = dict(graph["node_list"])
    start = graph.get("start_layers")
    start = start if type(start) is int else len(layers)
    columns: list[Column] = []
    shown_at: dict[int, int] = {}  # by node, the column that its content comes from
    for place in _in_order(layers):
        kind, inputs, output, *settings = layers[place]
        nodes = inputs if isinstance(inputs, list) else [inputs]
        sources = [shown_at[node] for node in nodes if node in shown_at]
        if kind in _SHOWN:
            shape = shapes.get(output) or shapes[nodes[0]]
            channels = settings[1] if kind in (_CONVOLUTION, _DENSE) else shape[-1]
            size = shape[0] if len(shape) == 3 else 1
            kernel = settings[2] if kind == _CONVOLUTION else 0
            columns.append(Column(kind, channels, size, kernel, place >= start, sources))
            sources = [len(columns) - 1]
        if sources:
            shown_at[output] = sources[0]
    return columns


def _in_order(layers: Sequence[Sequence[Any]]) -> Iterator[int]:
    """Depth first, so that what belongs together stays together."""
    writers = {layer[2]: place for place, layer in enumerate(layers) if type(layer[2]) is int}
    done: set[int] = set()
    for last in range(len(layers)):
        waiting = [last]
        while waiting:
            place = waiting[-1]
            inputs = layers[place][1]
            nodes = inputs if isinstance(inputs, list) else [inputs]
            before = [writers[node] for node in nodes if node in writers and writers[node] not in done]
            if place not in done and before and not set(before) & set(waiting):
                waiting += before
                continue
            waiting.pop()
            if place not in done:
                done.add(place)
                yield place


def _color(column: Column) -> str:
    if column.kind in _JUNCTIONS:
        return FAINT
    if column.kind in _POOLS:
        return PALE
    if column.is_new:
        return _OF_MORPHS
    return INK if column.kind == _DENSE else _KERNELS.get(column.kernel, FAINT)


def _skips(axes: Axes, columns: Sequence[Column], heights: Sequence[float]) -> None:
    """An arc from every source that is not the column before."""
    arcs = []
    top = max(heights)
    for place, column in enumerate(columns):
        for source in column.sources:
            if place - source > 1:
                over = top * (1.04 + 0.05 * math.log2(place - source))
                ends = heights[source], heights[place]
                arcs.append([(source + (place - source) * at, _arc(*ends, over, at)) for at in _ALONG])
    if arcs:
        many = len(arcs) > 60
        axes.add_collection(LineCollection(arcs, colors=FAINT, linewidths=0.5 if many else 0.8, alpha=0.7))
        axes.update_datalim([point for arc in arcs for point in arc])
    axes.update_datalim([(0, 0), (len(columns), top)])


def _arc(begin: float, end: float, over: float, at: float) -> float:
    return (1 - at) ** 3 * begin + at**3 * end + 3 * at * (1 - at) * over * 1.15


def _sizes(axes: Axes, columns: Sequence[Column]) -> None:
    """Below the bars, where the images get another size."""
    last, free_from = None, -math.inf
    for place, column in enumerate(columns):
        if column.size != last and place >= free_from and column.size > 1:
            axes.annotate(
                *(f"{column.size}", (place - 0.4, 0), (0, -4)), textcoords="offset points",
                color=FAINT, va="top", fontsize=8.5, annotation_clip=False,
            )  # fmt: skip
            free_from = place + len(columns) / 18
        last = column.size
    axes.set_xlabel("below the bars: height and width of the images, in pixels", color=FAINT, fontsize=8.5, labelpad=14)


def _ticks(columns: Sequence[Column]) -> list[int]:
    most = max(column.channels for column in columns)
    every = 1 if most <= 256 else 2
    return [2**power for power in range(2, int(math.log2(max(4, most))) + 1, every)]


def _legend(columns: Sequence[Column]) -> list[Patch]:
    kernels = sorted({column.kernel for column in columns if column.kind == _CONVOLUTION and not column.is_new})
    known = [Patch(color=_KERNELS.get(kernel, FAINT), label=f"convolution {kernel}x{kernel}") for kernel in kernels[:4]]
    if any(column.is_new and column.kind not in _JUNCTIONS for column in columns):
        known.append(Patch(color=_OF_MORPHS, label="made by the search"))
    if any(column.kind in _JUNCTIONS for column in columns):
        known.append(Patch(color=FAINT, label="sum or concatenation"))
    if any(column.kind in _POOLS for column in columns):
        known.append(Patch(color=PALE, label="pool"))
    if any(column.kind == _DENSE for column in columns):
        known.append(Patch(color=INK, label="dense"))
    return known
