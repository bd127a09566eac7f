"""What Prometheus is told, through its node exporter."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from findings import Finding, reason_of
from slurm import log


def metrics_of(findings: dict[str, Finding]) -> str:
    known = {name: finding for name, finding in findings.items() if not finding.unknown}
    samples = [
        ("ok", "Whether the node's health check found no fault.", [("", int(not reason_of(findings)))]),
        (
            "fault",
            "1 for each check that found a fault. What could not be looked at is left out.",
            [(f'{{check="{name}"}}', int(bool(finding.faults))) for name, finding in known.items()],
        ),
        ("last_run_timestamp_seconds", "When the health check ran.", [("", round(time.time(), 3))]),
    ]
    return "".join(
        f"# HELP rackmark_health_{name} {about}\n# TYPE rackmark_health_{name} gauge\n"
        + "".join(f"rackmark_health_{name}{labels} {value}\n" for labels, value in values)
        for name, about, values in samples
    )


def publish(path: Path, text: str) -> None:
    """Where there is no node exporter there is no folder. A failure says nothing about the node's health."""
    if not path.parent.is_dir():
        return
    beside = f".{path.name}.{os.getpid()}"
    try:
        # The folder is in one of Prometheus' user, who must not be able to lead root elsewhere by a link.
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder), "w") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(text)
            os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            os.close(folder)
    except OSError as error:
        log(f"{path} could not be written ({error.strerror}).")
