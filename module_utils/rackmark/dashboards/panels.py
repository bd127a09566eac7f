"""The kinds of panels that the dashboards are made of, as the parts of Grafana's JSON that make them up."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Sequence

from .meanings import PLAIN, Json

DATASOURCE: Json = {"type": "prometheus", "uid": "rackmark-prometheus"}


@dataclass(frozen=True)
class Target:
    """One query; `may_be_empty` says why a healthy cluster can have no data for it."""

    expr: str
    legend: str = ""
    may_be_empty: str = ""


@dataclass(frozen=True)
class Link:
    """Where a click on a value leads."""

    title: str
    url: str

    def json(self) -> Json:
        return {"title": self.title, "url": self.url, "targetBlank": False}


@dataclass(frozen=True)
class Panel:
    kind: str
    title: str
    description: str
    targets: Sequence[Target]
    width: int
    height: int
    options: Json
    defaults: Json
    overrides: Sequence[Json] = ()
    transformations: Sequence[Json] = ()

    def json(self, number: int, grid: Json) -> dict[str, Any]:
        instant = self.kind == "table"
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": grid,
            "targets": [_target(target, letter, instant) for letter, target in zip(ascii_uppercase, self.targets)],
            "options": self.options,
            "fieldConfig": {"defaults": self.defaults, "overrides": list(self.overrides)},
            "transformations": list(self.transformations),
        }


def timeseries(
    title: str,
    description: str,
    unit: str,
    *targets: Target,
    width: int = 12,
    height: int = 8,
    minimum: float | None = 0,
    maximum: float | None = None,
    stacked: bool = False,
    steps: bool = False,
    links: Sequence[Link] = (),
) -> Panel:
    custom = {
        "drawStyle": "line",
        "lineInterpolation": "stepAfter" if steps else "linear",
        "lineWidth": 1,
        "fillOpacity": 25 if stacked else 0,
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }
    legend = {
        "displayMode": "table",
        "placement": "right" if width > 12 else "bottom",
        "showLegend": True,
        "calcs": ["mean", "max", "lastNotNull"],
        "sortBy": "Max",
        "sortDesc": True,
    }
    defaults = {
        **defaults_of(unit, links=links),
        "custom": custom,
        "color": {"mode": "palette-classic"},
        **({} if minimum is None else {"min": minimum}),
        **({} if maximum is None else {"max": maximum}),
    }
    options = {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
    return Panel("timeseries", title, description, targets, width, height, options, defaults)


def stat(
    title: str,
    description: str,
    unit: str,
    *targets: Target,
    levels: Json = PLAIN,
    mappings: Sequence[Json] = (),
    width: int = 3,
    height: int = 4,
    no_value: str = "no data",
    links: Sequence[Link] = (),
) -> Panel:
    named = any(target.legend for target in targets)
    options = {
        "graphMode": "area",
        "colorMode": "value",
        "justifyMode": "auto",
        "textMode": "value_and_name" if named else "value",
        "orientation": "auto",
        "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
    }
    defaults = {**defaults_of(unit, levels, mappings, links), "color": {"mode": "thresholds"}, "noValue": no_value}
    return Panel("stat", title, description, targets, width, height, options, defaults)


def gauge(
    title: str, description: str, unit: str, *targets: Target, levels: Json, width: int = 6, height: int = 8
) -> Panel:
    """A share of something whole: 0 to 1."""
    options = {
        "orientation": "auto",
        "showThresholdLabels": False,
        "showThresholdMarkers": True,
        "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
    }
    defaults = {**defaults_of(unit, levels), "color": {"mode": "thresholds"}, "min": 0, "max": 1, "noValue": "no data"}
    return Panel("gauge", title, description, targets, width, height, options, defaults)


def timeline(
    title: str,
    description: str,
    mapping: Json,
    *targets: Target,
    width: int = 12,
    height: int = 8,
    links: Sequence[Link] = (),
) -> Panel:
    """States over time, a bar for each series; a gap is a time without an answer."""
    options = {
        "showValue": "never",
        "rowHeight": 0.8,
        "mergeValues": True,
        "alignValue": "left",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"},
    }
    defaults = {
        **defaults_of("none", mappings=[mapping], links=links),
        "custom": {"lineWidth": 0, "fillOpacity": 80},
        "color": {"mode": "thresholds"},
    }
    return Panel("state-timeline", title, description, targets, width, height, options, defaults)


def heatmap(title: str, description: str, unit: str, target: Target, width: int = 12, height: int = 8) -> Panel:
    """A row for each series, coloured by its value between 0 and 1."""
    options = {
        "calculate": False,
        "rowsFrame": {"layout": "auto"},
        "color": {
            "mode": "scheme",
            "scheme": "Oranges",
            "fill": "dark-orange",
            "scale": "linear",
            "exponent": 1,
            "steps": 64,
            "reverse": False,
            "min": 0,
            "max": 1,
        },
        # Grafana hides small values otherwise, and an idle row would look like a missing one.
        "filterValues": {"le": -1},
        "cellGap": 1,
        "cellValues": {"unit": unit},
        "showValue": "never",
        "yAxis": {"axisPlacement": "left", "reverse": True},
        "legend": {"show": True},
    }
    defaults = {**defaults_of(unit), "custom": {"hideFrom": {"legend": False, "tooltip": False, "viz": False}}}
    return Panel("heatmap", title, description, [target], width, height, options, defaults)


def defaults_of(
    unit: str, levels: Json = PLAIN, mappings: Sequence[Json] = (), links: Sequence[Link] = ()
) -> dict[str, Any]:
    return {"unit": unit, "thresholds": levels, "mappings": list(mappings), "links": [link.json() for link in links]}


def _target(target: Target, letter: str, instant: bool) -> Json:
    return {
        "refId": letter,
        "datasource": DATASOURCE,
        "expr": target.expr,
        "legendFormat": target.legend or "__auto",
        "editorMode": "code",
        "format": "table" if instant else "time_series",
        "instant": instant,
        "range": not instant,
    }
