"""What Grafana's schema says of a dashboard."""

import enum
import json
import typing
from functools import lru_cache

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import common, dashboard

register_default_plugins()


def complaints(document):
    """What Grafana's schema does not know of a dashboard, or knows as something else."""
    read = dashboard.Dashboard.from_json(document)
    wrong = []
    for panel in read.panels:
        if isinstance(panel, dashboard.RowPanel):
            continue
        for override in panel.field_config.overrides:
            for each in override.properties:
                wrong += misfits(each.id_val, *property_of_a_field(panel.type_val, each))
        panel.transformations = [dashboard.DataTransformerConfig.from_json(each) for each in panel.transformations]
        if panel.type_val == "table":
            panel.field_config.defaults.custom = common.TableFieldOptions.from_json(panel.field_config.defaults.custom)
    written = json.loads(json.dumps(read, cls=JSONEncoder))
    return [*wrong, *lost("", document, written), *misfits("", read, dashboard.Dashboard)]


def property_of_a_field(panel_type, each):
    """What an override sets, as its class reads it; put back as that class writes it: None if it does not know it."""
    name = each.id_val.partition("custom.")[2] or each.id_val
    assert name == each.id_val or panel_type == "table", f"say which class has the custom fields of {panel_type}"
    kind = dashboard.FieldConfig if name == each.id_val else common.TableFieldOptions
    read = kind.from_json({name: each.value})
    each.value = json.loads(json.dumps(read, cls=JSONEncoder)).get(name)
    return read, kind


def lost(path, ours, theirs):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        gone = [f"{path}.{key} is unknown" for key in ours if key not in theirs]
        return gone + [each for key in ours if key in theirs for each in lost(f"{path}.{key}", ours[key], theirs[key])]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [each for place, pair in enumerate(zip(ours, theirs)) for each in lost(f"{path}[{place}]", *pair)]
    return [] if ours == theirs else [f"{path} is {ours!r}, and {theirs!r} after Grafana read it"]


@lru_cache(maxsize=None)
def hints_of(kind):
    return typing.get_type_hints(kind)


def misfits(path, value, hint):
    """Where a value is not what the schema's type says: its classes take any value as it comes."""
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        every = [misfits(path, value, choice) for choice in choices]
        return [] if not all(every) else min(every, key=len)
    if origin is typing.Literal:
        return [] if value in choices else [f"{path} is {value!r}, none of {choices}"]
    if origin is list and isinstance(value, list):
        return [each for place, item in enumerate(value) for each in misfits(f"{path}[{place}]", item, choices[0])]
    if origin is dict and isinstance(value, dict):
        return [each for key, item in value.items() for each in misfits(f"{path}.{key}", item, choices[1])]
    if hint in (object, typing.Any):
        return misfits(path, value, type(value)) if hasattr(value, "from_json") else []
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        named = isinstance(value, hint) or any(type(value) is type(each.value) and value == each for each in hint)
        return [] if named else [f"{path} is {value!r}, none of {list(hint)}"]
    fits = isinstance(value, (int, float) if hint is float else origin or hint)
    if not fits or (isinstance(value, bool) and hint in (int, float)):
        return [f"{path} is {value!r}, which is no {hint}"]
    if not hasattr(value, "from_json"):
        return []
    known = hints_of(type(value))
    return [each for name, item in vars(value).items() for each in misfits(f"{path}.{name}", item, known[name])]
