"""The curve of bench/automl.py: shares of a single node's, by the number of nodes."""

from __future__ import annotations

from typing import Mapping

from rackmark.report.canvas import ACCENT, FAINT, INK, blank, png

STYLES = ("-", "--", ":")


def curve(found: Mapping[str, Mapping[int, tuple[float, float]]]) -> bytes:
    figure, axes = blank("Share of time in training, of a single node's", grid="both")
    for style, (name, by_nodes) in zip(STYLES, found.items()):
        nodes = list(by_nodes)
        for whose, place, color in (("Rackmark", 0, ACCENT), ("AIPerf", 1, FAINT)):
            shares = [of_nodes[place] / by_nodes[nodes[0]][place] for of_nodes in by_nodes.values()]
            axes.plot(nodes, shares, style, color=color, linewidth=1.8, label=f"{whose}, trials of {name}")
    axes.set_xscale("log", base=2)
    axes.set_xticks(nodes, [str(number) for number in nodes])
    axes.minorticks_off()
    axes.set_xlabel("nodes", color=INK)
    axes.set_ylim(0, 1.05)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper right", bbox_to_anchor=(1.0, 0.94))
    return png(figure)
