"""How far the clocks of a job's nodes are from each other, as its preflight found them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping

_LARGEST = 1e9


def clock_offsets(folder: Path) -> dict[str, float | None]:
    """Seconds by which each node's clock is ahead of the first one's, in the order of their ranks; None is unknown."""
    try:
        nodes = json.loads((folder / "preflight.json").read_text())["nodes"]
        return {str(name): _offset(facts) for name, facts in nodes.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _offset(facts: Mapping[str, Any]) -> float | None:
    offset = facts.get("clock_offset_s")
    return float(offset) if isinstance(offset, (int, float)) and abs(offset) < _LARGEST else None
