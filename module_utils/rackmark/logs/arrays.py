"""The type of numpy's arrays in signatures: which numbers and how many dimensions is said by names and words."""

from __future__ import annotations

from typing import Any

Array = Any
