"""How long a search lasts, and the time limit of its job."""

from __future__ import annotations

import math

from .asked import Asked
from .preset import Preset
from .times import seconds_of_hours


def duration_of(preset: Preset, asked: Asked) -> float:
    if not asked.hours:
        return preset.duration
    if not preset.duration:
        raise ValueError(f"hours={asked.hours} has no use: the preset {preset.name} has no duration.")
    return seconds_of_hours(asked.hours)


def minutes_of(preset: Preset, duration: float) -> int:
    """The preset's, moved by as much as the search is longer or shorter than the preset's."""
    return preset.minutes + math.ceil((duration - preset.duration) / 60)
