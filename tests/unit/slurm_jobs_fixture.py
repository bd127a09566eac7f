"""Slurm's answers about jobs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "roles/slurm_exporter/files"))

from slurm_exporter import jobs

NOW = 1795047200


# Columns of squeue: partition, state, user, reason, times of submission, eligibility and start, what it is given.
JOBS = [
    (
        "compute",
        "PENDING",
        "ann",
        "Resources",
        "1795046658",
        "1795046658",
        "1826582659",
        "cpu=2,mem=22899M,node=1,billing=2",
    ),
    (
        "compute",
        "PENDING",
        "ann",
        "BeginTime",
        "1795046658",
        "1795050258",
        "1795050258",
        "cpu=1,mem=22899M,node=1,billing=1",
    ),
    ("compute", "PENDING", "ann", "JobArrayTaskLimit", "1795046600", "1795046600", "N/A", "cpu=1,node=1,billing=1"),
    ("compute", "PENDING", "ann", "Dependency", "1795046658", "N/A", "N/A", "cpu=1,mem=22899M,node=1,billing=1"),
    ("compute", "PENDING", "bob", "JobHeldUser", "1795046658", "N/A", "N/A", "cpu=1,mem=22899M,node=1,billing=1"),
    (
        "urgent",
        "PENDING",
        "bob",
        "ReqNodeNotAvail, UnavailableNodes:node[1-9]",
        "1795047100",
        "1795047100",
        "N/A",
        "cpu=1",
    ),
    (
        "compute",
        "RUNNING",
        "ann",
        "None",
        "1795046658",
        "1795046660",
        "1795046670",
        "cpu=1,node=1,billing=1,gres/gpu=3",
    ),
    (
        "compute",
        "RUNNING",
        "ann",
        "None",
        "1795046658",
        "1795046660",
        "1795046680",
        "cpu=2,node=1,billing=2,gres/gpu=4",
    ),
    ("compute", "COMPLETING", "bob", "None", "1795046658", "1795046660", "1795046680", "cpu=2,node=1,gres/nic=2"),
]


def squeue(rows):
    widths = jobs._COLUMNS.values()
    lines = (b"".join(cell.encode().ljust(width)[:width] for cell, width in zip(row, widths)) for row in rows)
    return b"\n".join(lines) + b"\n" if rows else b""
