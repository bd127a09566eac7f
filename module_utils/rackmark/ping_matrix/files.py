"""The files that hold a ping matrix: all of it as CSV, what it comes to as JSON, and a page."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, Mapping

import numpy as np
import numpy.typing as npt

from ..formats.summary_files import json_bytes
from ..node.device_pings import LOST, REACHED, UNKNOWN
from ..report import pages
from .matrix import ITSELF, WORDS, Matrix
from .verdict import conclusion, summary

Places = npt.NDArray[np.intp]

DRAWN = 64  # devices; of more of them the page shows nodes


def files(matrix: Matrix, result: Mapping[str, Any], templates: Path) -> dict[str, bytes]:
    return {
        "matrix.csv": _csv(matrix),
        "network.json": json_bytes(result),
        "network.html": _page(matrix, result, templates),
    }


def _csv(matrix: Matrix) -> bytes:
    """A row for each device that pings. Cells are milliseconds, or the word for what came of it."""
    names = [matrix.short_name(place) for place in range(len(matrix.devices))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["from / to", *names])
    for place, name in enumerate(names):
        writer.writerow([name, *(_cell(matrix, place, other) for other in range(len(names)))])
    return text.getvalue().encode()


def _cell(matrix: Matrix, place: int, other: int) -> str:
    mark, time = str(matrix.marks[place, other]), matrix.milliseconds[place, other]
    if mark == REACHED and not np.isnan(time):
        return f"{time:g}"
    return "" if mark == ITSELF else WORDS[mark]


def _page(matrix: Matrix, result: Mapping[str, Any], templates: Path) -> bytes:
    drawn = len(matrix.devices) <= DRAWN
    headings, rows = _of_devices(matrix) if drawn else _of_nodes(matrix)
    content = {
        "title": "Network of the Ascend devices",
        "result": result,
        "headline": conclusion(result),
        "lines": summary(result),
        "of": "devices" if drawn else "nodes",
        "headings": headings,
        "rows": rows,
    }
    return pages.html(templates, "device_network.html.j2", content)


def _of_devices(matrix: Matrix) -> tuple[list[str], list[tuple[str, list[dict[str, str]]]]]:
    places = range(len(matrix.devices))
    names = [matrix.short_name(place) for place in places]
    short = [f"{device.node}:{device.number}" for device in matrix.devices]
    rows = [(names[place], [_drawn(matrix, names, place, other) for other in places]) for place in places]
    return short, rows


def _drawn(matrix: Matrix, names: list[str], place: int, other: int) -> dict[str, str]:
    mark = str(matrix.marks[place, other])
    if mark == ITSELF:
        return {"kind": "itself", "text": "", "shows": names[place]}
    said = matrix.said.get((place, other)) or _cell(matrix, place, other)
    unit = " ms" if mark == REACHED and said != WORDS[REACHED] else ""
    return {
        "kind": WORDS[mark],
        "text": "" if mark == REACHED else mark,
        "shows": f"{names[place]} to {names[other]}: {said.replace('_', ' ')}{unit}",
    }


def _of_nodes(matrix: Matrix) -> tuple[list[str], list[tuple[str, list[dict[str, str]]]]]:
    names, groups = matrix.names_of("node"), matrix.groups("node")
    inside = [np.flatnonzero(groups == number) for number in range(len(names))]
    return names, [
        (name, [_drawn_nodes(matrix, name, names[other], inside[number], inside[other]) for other in range(len(names))])
        for number, name in enumerate(names)
    ]


def _drawn_nodes(matrix: Matrix, one: str, other: str, rows: Places, columns: Places) -> dict[str, str]:
    """The worst that happened between the devices of two nodes."""
    marks = matrix.marks[np.ix_(rows, columns)]
    tested = int(np.isin(marks, [REACHED, LOST, UNKNOWN]).sum())
    reached = int((marks == REACHED).sum())
    kind = "not_tested" if not tested else "reached" if reached == tested else "lost"
    return {
        "kind": kind,
        "text": f"{tested - reached}" if kind == "lost" else "",
        "shows": f"{one} to {other}: {reached} of {tested} tested pairs reached",
    }
