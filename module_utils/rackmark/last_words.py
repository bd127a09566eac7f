"""Why a service does not run, in its own words: from its log files and from the journal."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Callable, Iterable

from .credentials import hidden_values

# What these write to files they do not all write to the journal as well.
LOG_FILES = {
    "mariadb": ("/var/log/mysql/error.log",),
    "munge": ("/var/log/munge/munged.log",),
    "slurmctld": ("/var/log/slurm/slurmctld.log",),
    "slurmd": ("/var/log/slurm/slurmd.log",),
    "slurmdbd": ("/var/log/slurm/slurmdbd.log",),
}
# An operator may have moved them.
_LOG_PARAMETERS = {"slurmctld": "SlurmctldLogFile", "slurmd": "SlurmdLogFile"}
_SLURM_CONF = (
    Path("/etc/slurm/slurm.conf"),
    Path("/run/slurm/conf/slurm.conf"),
    Path("/var/lib/slurm/slurmd/conf-cache/slurm.conf"),
)
TAIL_BYTES = 32 * 1024
LONGEST_LINE = 300
CLOCK_SLACK = 2.0  # files hold whole seconds, and a log's first line may be written late

_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
_NOISE = re.compile(
    r"\x1b\[[0-9;]*m"  # colours
    r"|^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(?:Z| ?[+-]\d{4})?\]?:? *"
    r"|^\d+ (?=\[\w+\])"  # a thread of MariaDB
    r"|^slurm(?:ctld|dbd|d): |^error: "
)
_FIELD = re.compile(r'\b(msg|err|error)=("(?:[^"\\]|\\.)*"|\S+)')
_TROUBLE = re.compile(
    r"fatal|error|panic|critical|\bfail|cannot|can't|couldn't|could not|unable|refused|denied|\bno such\b|not found"
    r"|invalid|insecure|abort",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\blevel=(?:info|debug|warn)|\b0 errors|\[(?:Note|Warning)\]|Traceback \(most", re.IGNORECASE)
# What systemd says of every service that ends badly, after it has said why.
_FORMULA = re.compile(
    r"Failed with result|Scheduled restart|Start(?:ing|ed) |Stopp(?:ing|ed) |Failed to start|Start request repeated"
    r"|Consumed .* CPU|Reload"
)


@dataclass(frozen=True)
class Line:
    text: str
    when: float | None = None
    by_systemd: bool = False


def journal(output: str) -> list[Line]:
    """From `journalctl --output=json`."""
    lines = []
    for entry in output.splitlines():
        try:
            fields = json.loads(entry)
        except ValueError:
            continue
        message = fields.get("MESSAGE") or ""
        text = bytes(message).decode(errors="replace") if isinstance(message, list) else str(message)
        when = int(fields.get("__REALTIME_TIMESTAMP") or 0) / 1e6
        lines += [Line(part, when, fields.get("_PID") == "1") for part in text.splitlines()]
    return lines


def log_file(path: Path) -> list[Line]:
    """The end of a file; a line without a time of its own has that of the line before."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    lines, when = [], None
    for line in text.splitlines():
        stamp = _STAMP.search(line[:40])
        if stamp:
            when = datetime.fromisoformat(stamp[0].replace(" ", "T")).timestamp()
        lines.append(Line(line, when))
    return lines


def trouble(lines: Iterable[Line]) -> str:
    """What led to the end: the first two complaints of the last attempt, and the last one."""
    found: list[str] = []
    for line in reversed(list(lines)):
        text = _plain(line.text)
        if _TROUBLE.search(line.text) and not _HARMLESS.search(line.text) and text not in found:
            found.insert(0, text)
    return " / ".join(found if len(found) <= 3 else [*found[:2], found[-1]])


def _plain(line: str) -> str:
    text = line.strip()
    while (shorter := _NOISE.sub("", text)) != text:
        text = shorter
    # Programs in Go write key=value.
    fields = {key: value.strip('"').replace('\\"', '"') for key, value in _FIELD.findall(text)}
    if "level=" in text and fields:
        text = ": ".join(fields.values())
    text = hidden_values(text)
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}..."


def words(files: Iterable[Line], said: Iterable[Line], since: float | None) -> str:
    """Of the lines of its files and of the journal those since a moment that say most; empty where none do."""

    def recent(lines: Iterable[Line]) -> list[Line]:
        return [line for line in lines if since is None or (line.when or 0) >= since - CLOCK_SLACK]

    in_journal = recent(said)
    own = [line for line in in_journal if not line.by_systemd and line.text.strip()]
    of_systemd = [line for line in in_journal if line.by_systemd and not _FORMULA.search(line.text)]
    last = (own or of_systemd)[-1:]
    return trouble(recent(files)) or trouble(own) or "".join(_plain(line.text) for line in last)


def log_files(service: str) -> list[Path]:
    moved = _log_file_of_slurm(_LOG_PARAMETERS[service]) if service in _LOG_PARAMETERS else None
    return [moved] if moved else [Path(path) for path in LOG_FILES.get(service, ())]


def _log_file_of_slurm(parameter: str) -> Path | None:
    for path in _SLURM_CONF:
        try:
            found = re.search(rf"^{parameter}=(\S+)", path.read_text(), re.MULTILINE | re.IGNORECASE)
        except OSError:
            continue
        if found and "%" not in found[1]:
            return Path(found[1])
    return None


def sentence(service: str, run: Callable[[list[str]], tuple[int, str, str]], since: float | None) -> str:
    """For the end of a complaint about a service of this host."""
    _, output, _ = run(["journalctl", f"--unit={service}", "--output=json", "--lines=200", "--no-pager", "--quiet"])
    files = log_files(service)
    said = words([line for path in files for line in log_file(path)], journal(output), since)
    places = " and ".join([*map(str, files), f"'journalctl -u {service}'"])
    return f"It last said: {said} (more in {places})." if said else f"It has not said why in {places}."
