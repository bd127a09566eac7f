"""pip's settings, as `pip config list` prints them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_KEYS = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "timeout", "cert")


def parse(config_list: str) -> dict[str, str]:
    """Settings that say where packages come from. The environment's win over the files', as in pip."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in config_list.splitlines():
        match = re.match(r"(global|install|:env:)\.([\w-]+)=(.+)", line)
        if match and match[2] in _KEYS:
            found[match[1]][match[2]] = " ".join(str(ast.literal_eval(match[3])).split())
    return {**found["global"], **found["install"], **found[":env:"]}


def wheel_folders(settings: dict[str, str]) -> list[Path]:
    return [Path(place) for place in _local_places(settings.get("find-links", ""))]


def local_folders(settings: dict[str, str]) -> list[Path]:
    """Every local folder the settings lead to; of an index its parent, since its pages link to files beside it."""
    indexes = [place for key in ("index-url", "extra-index-url") for place in _local_places(settings.get(key, ""))]
    return sorted({*wheel_folders(settings), *(Path(place).parent for place in indexes)})


def _local_places(value: str) -> list[str]:
    places = [place[len("file://") :] if place.startswith("file:///") else place for place in value.split()]
    return [place for place in places if place.startswith("/")]
