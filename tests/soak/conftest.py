"""What is seen rarely: before a release, on a machine that does nothing else meanwhile, by one process."""

from __future__ import annotations

from lab.conftest import cluster, no_cluster, provisioned  # noqa: F401 (fixtures)
