"""What Docker's engine on this host has for an image."""

from __future__ import annotations

import subprocess


def image_id(name: str) -> str:
    """Empty where there is no such image."""
    ask = ["docker", "image", "inspect", "--format", "{{.Id}}", name]
    try:
        said = subprocess.run(ask, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
