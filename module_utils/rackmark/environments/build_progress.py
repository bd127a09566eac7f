"""How far pip is, by the log that it writes while it works."""

from __future__ import annotations

import re
from pathlib import Path

_STAGE = re.compile(
    r"^ *(?:Collecting (?P<looking_for>\S+)"
    r"|(?:Downloading|Using cached|Processing) (?:\S*/)?(?P<fetching>[^-/\s]+-[^-\s]+)"
    r"|(?:Running command )?Building wheel for (?P<compiling>\S+)"
    r"|Installing collected packages: (?P<installing>\S.*))",
    re.MULTILINE,
)
_COMPILED = re.compile(r"^ *\[ *(\d+)%\] ", re.MULTILINE)
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:,]+ ", re.MULTILINE)


def log_of(environment: Path) -> Path:
    """What pip says while it builds this environment; gone with the end of the build."""
    return environment.with_name(f".{environment.name}.log")


def stage(end_of_log: str) -> str | None:
    """What pip is doing; None where the end of its log does not tell."""
    text = _TIME.sub("", end_of_log)
    stages = list(_STAGE.finditer(text))
    if not stages:
        return None
    last = stages[-1]
    doing, what = next((name, what) for name, what in last.groupdict().items() if what is not None)
    if doing == "installing" and ", " in what:
        return f"installing {len(what.split(', '))} packages"
    percents = _COMPILED.findall(text, last.end()) if doing == "compiling" else []
    return f"{doing.replace('_', ' ')} {what}" + (f", {percents[-1]} %" if percents else "")
