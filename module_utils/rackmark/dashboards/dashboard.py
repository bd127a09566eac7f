"""A dashboard as a declaration, its JSON, and its queries as a test can send them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, Sequence

from .layout import Section, placed
from .panels import DATASOURCE

# What Grafana 10.0 writes; later ones read it and bring it up to date in memory.
_SCHEMA_VERSION = 38
_TAG = "rackmark"
_ON_TIME_RANGE_CHANGE = 2
_NATURAL_ORDER = 3


@dataclass(frozen=True)
class Variable:
    """A choice on top of a dashboard: any values of a label of the series selected; all of them at first."""

    name: str
    title: str
    series: str
    label: str

    def json(self) -> dict[str, Any]:
        return {
            "type": "query",
            "name": self.name,
            "label": self.title,
            "datasource": DATASOURCE,
            "query": {"query": f"label_values({self.series}, {self.label})", "refId": "StandardVariableQuery"},
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "refresh": _ON_TIME_RANGE_CHANGE,
            "sort": _NATURAL_ORDER,
        }


@dataclass(frozen=True)
class Dashboard:
    uid: str
    title: str
    description: str
    sections: Sequence[Section]
    variables: Sequence[Variable] = ()
    time_from: str = "now-3h"
    refresh: str = "30s"


class Query(NamedTuple):
    panel: str
    expr: str
    may_be_empty: bool


def text(dashboard: Dashboard) -> str:
    return json.dumps(_document(dashboard), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def queries(dashboard: Dashboard) -> list[Query]:
    """Every query as Prometheus gets it with all values of the variables chosen, over the last hour."""
    panels = [panel for section in dashboard.sections for panel in section.panels]
    of_panels = [
        Query(panel.title, _filled_in(target.expr, dashboard), bool(target.may_be_empty))
        for panel in panels
        for target in panel.targets
    ]
    of_variables = [
        Query(f"variable {each.name}", _filled_in(each.series, dashboard), False) for each in dashboard.variables
    ]
    return of_variables + of_panels


def _filled_in(expr: str, dashboard: Dashboard) -> str:
    known = {"__rate_interval": "1m", "__range": "1h", **{each.name: ".*" for each in dashboard.variables}}
    for name, value in known.items():
        expr = expr.replace(f"${name}", value)
    return expr


def _document(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": [_TAG],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": False,
        "graphTooltip": 1,
        "timezone": "browser",
        "time": {"from": dashboard.time_from, "to": "now"},
        "refresh": dashboard.refresh,
        "links": [_links_to_all()],
        "templating": {"list": [variable.json() for variable in dashboard.variables]},
        "annotations": {"list": []},
        "panels": placed(dashboard.sections),
    }


def _links_to_all() -> dict[str, Any]:
    """Links to the other dashboards, which get the time range and the variables that they know."""
    return {
        "type": "dashboards",
        "tags": [_TAG],
        "title": "Rackmark",
        "icon": "external link",
        "tooltip": "",
        "url": "",
        "asDropdown": False,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
    }
