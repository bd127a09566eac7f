"""Tables: the columns that are named, a row for each set of labels."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Sequence

from .meanings import Json
from .panels import Link, Panel, Target, defaults_of


@dataclass(frozen=True)
class Column:
    """A column of a table: a label by its name, or the value of a query by its number, counted from 0."""

    title: str
    of: str | int
    unit: str = ""
    thresholds: Json | None = None
    mappings: Sequence[Json] = ()
    links: Sequence[Link] = ()
    width: int = 0


def table(
    title: str,
    description: str,
    targets: Sequence[Target],
    columns: Sequence[Column],
    sort_by: str,
    descending: bool = False,
    width: int = 12,
    height: int = 8,
    no_value: str = "",
) -> Panel:
    """The columns named and no others, a row for each set of labels that the queries share."""
    fields = [_field(column.of, len(targets)) for column in columns]
    transformations = [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"names": fields}}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {},
                "indexByName": {name: place for place, name in enumerate(fields)},
                "renameByName": {name: column.title for name, column in zip(fields, columns)},
            },
        },
    ]
    options = {
        "showHeader": True,
        "cellHeight": "sm",
        "sortBy": [{"displayName": sort_by, "desc": descending}],
        "footer": {"show": False, "reducer": ["sum"], "countRows": False, "enablePagination": False},
    }
    defaults = {
        **defaults_of("none"),
        "custom": {"align": "auto", "inspect": False, "filterable": True},
        **({"noValue": no_value} if no_value else {}),
    }
    overrides = [_override(column) for column in columns]
    return Panel("table", title, description, targets, width, height, options, defaults, overrides, transformations)


def _field(of: str | int, queries: int) -> str:
    """Grafana calls the value of the only query of a panel "Value", those of several "Value #A", "Value #B" ..."""
    if isinstance(of, str):
        return of
    return "Value" if queries == 1 else f"Value #{ascii_uppercase[of]}"


def _override(column: Column) -> Json:
    colored = {"custom.cellOptions": {"type": "color-text"}, "color": {"mode": "thresholds"}}
    properties = {
        **({"unit": column.unit} if column.unit else {}),
        **({"custom.width": column.width} if column.width else {}),
        **({"thresholds": column.thresholds, **colored} if column.thresholds else {}),
        **({"mappings": list(column.mappings), **colored} if column.mappings else {}),
        **({"links": [link.json() for link in column.links]} if column.links else {}),
    }
    return {
        "matcher": {"id": "byName", "options": column.title},
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }
