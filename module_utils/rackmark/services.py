"""What a service of systemd needs so that it runs with the files that are there now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "UnitFileState",
    "NeedDaemonReload",
    "ExecMainStartTimestampMonotonic",
    "StateChangeTimestampMonotonic",
)


@dataclass(frozen=True)
class Service:
    """As systemd knows it. Times are in seconds since 1970, None for what never was."""

    exists: bool
    active: bool
    enabled: bool
    unit_is_stale: bool
    started: float | None
    changed: float | None
    """When it last started, or was last reloaded."""


def parse(shown: str, now: float, monotonic: float) -> Service:
    """From what `systemctl show` prints."""
    values = dict(line.partition("=")[::2] for line in shown.splitlines())

    def moment(name: str) -> float | None:
        microseconds = int(values.get(name) or 0)
        return now - monotonic + microseconds / 1e6 if microseconds else None

    return Service(
        exists=values.get("LoadState") not in (None, "", "not-found"),
        active=values.get("ActiveState") in ("active", "reloading"),
        enabled=values.get("UnitFileState") == "enabled",
        unit_is_stale=values.get("NeedDaemonReload") == "yes",
        started=moment("ExecMainStartTimestampMonotonic"),
        changed=moment("StateChangeTimestampMonotonic"),
    )


def action(service: Service, restart_for: Mapping[str, float], reload_for: Mapping[str, float], now: float) -> str:
    """`start`, `restart`, `reload` or nothing. The files are given with the times at which they were written."""
    if not service.active:
        return "start"
    if service.unit_is_stale or _newer(restart_for, service.started, now):
        return "restart"
    return "reload" if _newer(reload_for, service.changed, now) else ""


def written(paths: Iterable[str]) -> dict[str, float]:
    """By ctime: a package's files and those that 'cp -a' brings back have an older mtime."""
    return {path: Path(path).stat().st_ctime for path in paths if Path(path).exists()}


def _newer(files: Mapping[str, float], than: float | None, now: float) -> bool:
    """A file of the future was written by a clock that was wrong: it would be newer after every restart."""
    return any(than is None or than < written <= now for written in files.values())


def runs_or_will(shown: str) -> bool:
    """Whether a service runs, tries to, or would after the next boot; from what `systemctl show` prints."""
    values = dict(line.partition("=")[::2] for line in shown.splitlines())
    return values.get("ActiveState") not in (None, "inactive", "failed") or values.get("UnitFileState") == "enabled"
