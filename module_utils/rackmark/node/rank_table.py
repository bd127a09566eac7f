"""Rank tables of Ascend's HCCL: which devices of which servers take part in a job, in the order of their ranks.

The forms, and what HCCL asks of each, are in docs/rank-tables.md.
"""

from __future__ import annotations

from .rank_table_model import FORMS, Device, RankTableError, Server, Table
from .rank_table_reading import read
from .rank_table_writing import written

__all__ = ["FORMS", "Device", "RankTableError", "Server", "Table", "read", "written"]
