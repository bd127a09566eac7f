"""Kinds of mappings whose keys are the operator's own, such as the parameters of slurm.conf."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Mapping

from . import slurm_options
from .kinds import KINDS, is_one_line
from .settings import Entry, plain_settings


def pip_options(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings of pip.conf."""
    yield from plain_settings(given)
    for key, value in given.items():
        if value is None or isinstance(value, (dict, list)):
            continue
        if key in ("index-url", "proxy") and not KINDS["url"].accepts(str(value)):
            yield Entry(str(key), value, f"use {KINDS['url'].words}.")
        elif key in ("timeout", "retries") and not str(value).isdecimal():
            yield Entry(str(key), value, "use a whole number.")


def sections(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings by section, as in grafana.ini."""
    for name, part in given.items():
        if not str(name) or not is_one_line(str(name)) or "]" in str(name):
            yield Entry(str(name), part, "name sections with letters, digits, - _ and . alone.")
        elif not isinstance(part, dict):
            yield Entry(str(name), part, "use a mapping of the section's settings.")
        else:
            yield from (Entry(f"{name}.{key}", value, fix) for key, value, fix in plain_settings(part))


def labels(given: Mapping[str, Any]) -> Iterator[Entry]:
    for key, value in given.items():
        if not re.fullmatch(r"(?!__)[A-Za-z_]\w*", str(key), re.ASCII):
            yield Entry(str(key), value, "name labels with letters, digits and _ alone.")
        elif isinstance(value, (dict, list)) or value is None:
            yield Entry(str(key), value, "use text.")
        elif not is_one_line(str(value)):
            yield Entry(str(key), value, "write it in one line.")


def named(given: Mapping[str, Any]) -> Iterator[Entry]:
    """What a service tells apart by its name."""
    yield from _with_text("name", given)


def scrape_config(given: Mapping[str, Any]) -> Iterator[Entry]:
    yield from _with_text("job_name", given)


def _with_text(key: str, given: Mapping[str, Any]) -> Iterator[Entry]:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip() or not is_one_line(value):
        yield Entry(key, value, "give it a name.")


def accounts(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Users by account, for sacctmgr."""
    for key, value in given.items():
        if not isinstance(value, list):
            yield Entry(str(key), value, "use the list of the account's users, as in [rackmark].")
        elif not re.fullmatch(r"[a-z0-9_.@-]+", str(key)):
            yield Entry(str(key), value, "name accounts with small letters, digits, - _ . and @ alone.")
        elif not all(isinstance(name, str) and re.fullmatch(r"[\w.@-]+", name, re.ASCII) for name in value):
            yield Entry(str(key), value, "name users with letters, digits, - _ . and @ alone.")


def fingerprints(given: Mapping[str, Any]) -> Iterator[Entry]:
    for key, value in given.items():
        if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", str(value)):
            yield Entry(str(key), value, "use what ssh-keygen -l prints: SHA256: and 43 characters.")


MAPPINGS: dict[str, Callable[[Mapping[str, Any]], Iterator[Entry]]] = {
    "pip_options": pip_options,
    "slurm_configuration": slurm_options.configuration,
    "slurm_partition": slurm_options.partition,
    "slurm_node": slurm_options.node,
    "slurm_database": slurm_options.database,
    "sections": sections,
    "labels": labels,
    "named": named,
    "scrape_config": scrape_config,
    "accounts": accounts,
    "fingerprints": fingerprints,
}
# Their keys are hosts of the inventory.
BY_HOST = ("fingerprints",)
