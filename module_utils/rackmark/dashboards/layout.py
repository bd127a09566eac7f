"""Where panels stand: sections below each other, panels side by side on Grafana's grid of 24 columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from .panels import Panel

GRID_WIDTH = 24


@dataclass(frozen=True)
class Section:
    title: str
    panels: Sequence[Panel]


def placed(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Panels of the JSON in reading order, numbered from 1, each section under a row with its title."""
    return [entry for _, entry in _numbered(sections)]


def _numbered(sections: Sequence[Section]) -> Iterator[tuple[int, dict[str, Any]]]:
    number, top = 1, 0
    for section in sections:
        yield number, _row(section.title, number, top)
        left, line, bottom = 0, top + 1, top + 1
        for panel in section.panels:
            number += 1
            if left + panel.width > GRID_WIDTH:
                left, line = 0, bottom
            yield number, panel.json(number, {"x": left, "y": line, "w": panel.width, "h": panel.height})
            left, bottom = left + panel.width, max(bottom, line + panel.height)
        number, top = number + 1, bottom


def _row(title: str, number: int, top: int) -> dict[str, Any]:
    grid = {"x": 0, "y": top, "w": GRID_WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": grid, "panels": []}
