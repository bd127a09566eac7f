"""pip's settings, as `pip config list` prints them or as they stand in its files."""

from __future__ import annotations

import ast
import configparser
import os
import re
from pathlib import Path
from typing import Mapping

_KEYS = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "timeout", "cert")


def parse(config_list: str) -> dict[str, str]:
    """Settings that say where packages come from. The environment's win over the files', as in pip."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in config_list.splitlines():
        match = re.match(r"(global|install|:env:)\.([\w-]+)=(.+)", line)
        if match and match[2] in _KEYS:
            found[match[1]][match[2]] = " ".join(str(ast.literal_eval(match[3])).split())
    return {**found["global"], **found["install"], **found[":env:"]}


def read(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """The same settings without asking pip: it takes a moment to start, and not every interpreter has it."""
    config = configparser.RawConfigParser()
    found: dict[str, str] = {}
    try:
        config.read(_files(environ, home), encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ValueError(f"pip's settings cannot be read: {' '.join(str(error).split())}.") from None
    for section in ("global", "install"):
        if config.has_section(section):
            found.update(config.items(section))
    found.update({key: environ[name] for key in _KEYS if (name := f"PIP_{key.upper().replace('-', '_')}") in environ})
    return {key: " ".join(found[key].split()) for key in _KEYS if key in found}


def _files(environ: Mapping[str, str], home: Path) -> list[Path]:
    """From the weakest to the strongest, as pip has them on Linux. A file that is named replaces the user's own."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    systems = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    of_all = [*(Path(folder) / "pip/pip.conf" for folder in systems), Path("/etc/pip.conf")]
    if named and Path(named).exists():
        return [*of_all, Path(named)]
    of_user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [*of_all, home / ".pip/pip.conf", of_user / "pip/pip.conf"]


def wheel_folders(settings: dict[str, str]) -> list[Path]:
    return [Path(place) for place in _local_places(settings.get("find-links", ""))]


def local_folders(settings: dict[str, str]) -> list[Path]:
    """Every local folder the settings lead to; of an index its parent, since its pages link to files beside it."""
    indexes = [place for key in ("index-url", "extra-index-url") for place in _local_places(settings.get(key, ""))]
    return sorted({*wheel_folders(settings), *(Path(place).parent for place in indexes)})


def _local_places(value: str) -> list[str]:
    places = [place[len("file://") :] if place.startswith("file:///") else place for place in value.split()]
    return [place for place in places if place.startswith("/")]
