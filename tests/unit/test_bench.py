"""Benchmarks of Rackmark itself leave the clusters of tests alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASK = (
    "import sys; sys.path.insert(0, 'bench'); import {0}; from lab import cluster; print(cluster.NAME, cluster.SUBNET)"
)


@pytest.mark.parametrize("bench", ["engine", "provision"])
def test_a_benchmark_has_a_cluster_of_its_own(bench):
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(bench)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "bench 10.79.0.0/24\n"
