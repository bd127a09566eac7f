"""Which commit a checkout is of."""

from __future__ import annotations

import subprocess
from pathlib import Path

UNKNOWN = "unknown"
# A checkout may be another user's, and its settings name no program that git would run here.
_TRUSTED = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def commit_of(checkout: Path) -> str:
    """With -dirty where files differ from it; "unknown" where it is no repository of git, or there is no git."""
    ask = ["git", *_TRUSTED, "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        said = subprocess.run(ask, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return said.stdout.strip() or UNKNOWN
