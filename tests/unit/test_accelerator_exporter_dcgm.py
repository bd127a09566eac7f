"""NVIDIA's dcgm-exporter in place of our own."""

from __future__ import annotations

import re
from pathlib import Path

ROLES = Path(__file__).parents[2] / "roles"


def test_dcgm_exporter_is_told_to_read_all_that_prometheus_renames():
    fields = (ROLES / "dcgm_exporter/templates/counters.csv.j2").read_text()
    rows = [[word.strip() for word in line.split(",")] for line in fields.splitlines() if not line.startswith("#")]
    assert all(len(row) == 3 and row[1] in ("gauge", "counter", "label") for row in rows)
    renamed = set(re.findall(r"DCGM_FI_\w+", (ROLES / "prometheus/templates/series.yml.j2").read_text()))
    assert renamed and renamed <= {name for name, _, _ in rows}
