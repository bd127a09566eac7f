"""Pictures of what samplers saw: a line per node over the time of a job, with the measured window marked."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import float64
from numpy.typing import NDArray

from ..telemetry.metered_energy import GAP
from ..telemetry.repeats import RepeatTelemetry
from ..telemetry.sampler_file import NodeTelemetry
from .canvas import ACCENT, FAINT, GRID, INK, LIGHT, PALE, png

NAMED = 6  # more nodes than this are light lines around that of the median
_COLORS = (ACCENT, "#c4622d", "#5b7f3b", "#7a5aa6", "#a8862b", "#4d5b68")
_PANEL_INCHES = 1.75
_SMALLEST_TOP = 1.0  # noise must not fill a panel


class _Panel(NamedTuple):
    title: str
    read: Callable[[NodeTelemetry], NDArray[float64]]
    top: float | None = None


def hosts(seen: RepeatTelemetry) -> bytes:
    return _drawn(seen, _HOSTS)


def devices(seen: RepeatTelemetry) -> bytes:
    return _drawn(seen, _DEVICES)


def has_devices(seen: RepeatTelemetry) -> bool:
    return any(_has_values(panel, seen) for panel in _DEVICES)


def _has_values(panel: _Panel, seen: RepeatTelemetry) -> bool:
    return any(not np.isnan(panel.read(node)).all() for node in seen.nodes.values())


def _drawn(seen: RepeatTelemetry, all_panels: Sequence[_Panel]) -> bytes:
    """Without the panels that no node has anything for."""
    panels = [panel for panel in all_panels if _has_values(panel, seen)] or all_panels[:1]
    times = {name: np.asarray(node.series.times) - seen.offsets.get(name, 0.0) for name, node in seen.nodes.items()}
    begin = min((float(own[0]) for own in times.values() if len(own)), default=0.0)
    figure = Figure(figsize=(5.0, 0.45 + _PANEL_INCHES * len(panels)), dpi=190, layout="constrained", facecolor="white")
    for axes, panel in zip(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0], panels):
        _style(axes, panel)
        if seen.window is not None:
            axes.axvspan(seen.window[0] - begin, seen.window[1] - begin, color=PALE, linewidth=0)
        lines = {
            name: _with_gaps(own - begin, panel.read(seen.nodes[name]), GAP * seen.nodes[name].seconds)
            for name, own in times.items()
        }
        _lines(axes, lines)
        axes.set_ylim(0, panel.top or max(_SMALLEST_TOP, 1.1 * _highest(lines)))
    axes.set_xlabel("seconds; shaded: measured", color=FAINT, fontsize=9)
    if 1 < len(lines) <= NAMED:
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(),
            loc="outside upper right",
            ncols=4,
            handlelength=1.2,
            frameon=False,
            fontsize=8.5,
            labelcolor=INK,
        )
    return png(figure)


def _style(axes: Axes, panel: _Panel) -> None:
    axes.set_title(panel.title, loc="left", color=INK, fontsize=10, fontweight="bold")
    axes.tick_params(colors=INK, length=0, labelsize=9)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def _lines(axes: Axes, lines: Mapping[str, tuple[NDArray[float64], NDArray[float64]]]) -> None:
    few = len(lines) <= NAMED
    for place, (name, (across, values)) in enumerate(lines.items()):
        color = _COLORS[place] if few else LIGHT
        axes.plot(across, values, color=color, linewidth=1.2 if few else 0.7, label=name, clip_on=False)
        alone = ~np.isnan(values) & np.isnan(np.r_[np.nan, values[:-1]]) & np.isnan(np.r_[values[1:], np.nan])
        axes.plot(across[alone], values[alone], ".", color=color, markersize=4)
    if not few:
        _median_line(axes, lines)


def _highest(lines: Mapping[str, tuple[NDArray[float64], NDArray[float64]]]) -> float:
    return max((float(np.nanmax(values)) for _, values in lines.values() if not np.isnan(values).all()), default=0.0)


def _median_line(axes: Axes, lines: Mapping[str, tuple[NDArray[float64], NDArray[float64]]]) -> None:
    longest = max((across for across, _ in lines.values()), key=len)
    aligned = np.array([np.interp(longest, across, values) for across, values in lines.values() if len(across)])
    known = ~np.isnan(aligned).all(axis=0)
    axes.plot(longest[known], np.nanmedian(aligned[:, known], axis=0), color=ACCENT, linewidth=1.4)


def _with_gaps(
    across: NDArray[float64], values: NDArray[float64], longest: float
) -> tuple[NDArray[float64], NDArray[float64]]:
    """A line must not lead over a time in which nobody looked."""
    steps = np.diff(across)
    allowed = max(longest, GAP * float(np.median(steps))) if len(steps) else longest  # rows may have been halved
    gaps = np.flatnonzero(steps > allowed) + 1
    return np.insert(across, gaps, across[gaps - 1]), np.insert(values, gaps, np.nan)


def _column(name: str, scale: float = 1.0) -> Callable[[NodeTelemetry], NDArray[float64]]:
    def read(node: NodeTelemetry) -> NDArray[float64]:
        return np.asarray(node.series.columns.get(name, _nothing(node))) * scale

    return read


def _sum_of(*names: str) -> Callable[[NodeTelemetry], NDArray[float64]]:
    def read(node: NodeTelemetry) -> NDArray[float64]:
        """What a node has nothing of at all, such as RDMA, is no part of the sum."""
        columns = [_column(name)(node) for name in names]
        known = [column for column in columns if not np.isnan(column).all()]
        return np.asarray(np.sum(known, axis=0)) if known else _nothing(node)

    return read


def _of_devices(name: str, join: Callable[..., Any]) -> Callable[[NodeTelemetry], NDArray[float64]]:
    def read(node: NodeTelemetry) -> NDArray[float64]:
        """Without one of the devices there is no value."""
        columns = [_column(device.columns.get(name, ""))(node) for device in node.devices]
        if not columns:
            return _nothing(node)
        return np.asarray(join(columns, axis=0))

    return read


def _nothing(node: NodeTelemetry) -> NDArray[float64]:
    return np.full(len(node.series.times), np.nan)


_HOSTS = (
    _Panel("Processors, %", _column("cpu"), 100),
    _Panel("Memory used, GiB", _column("memory_mb", 1 / 1024)),
    _Panel("Network, received and sent, MiB/s", _sum_of("received", "sent", "rdma_received", "rdma_sent")),
    _Panel("Disks, read and written, MiB/s", _sum_of("read", "written")),
)
_DEVICES = (
    _Panel("Devices, mean utilisation, %", _of_devices("utilisation", np.mean), 100),
    _Panel("Devices, power of all of a node, W", _of_devices("power", np.sum)),
    _Panel("Devices, the hottest of a node, \N{DEGREE SIGN}C", _of_devices("temperature", np.max)),
    _Panel("Devices, the lowest clock of a node, MHz", _of_devices("clock", np.min)),
)
