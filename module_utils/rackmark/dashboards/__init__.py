"""Grafana's dashboards of a cluster, made of small declarations."""

from __future__ import annotations

from . import accelerators, cluster, node, runs, slurm
from .dashboard import Dashboard, Query, queries, text

__all__ = ["Dashboard", "Query", "dashboards", "files", "queries"]


def dashboards(cluster_name: str, shared_dir: str) -> list[Dashboard]:
    return [
        cluster.dashboard(cluster_name, shared_dir),
        node.dashboard(cluster_name),
        accelerators.dashboard(cluster_name),
        slurm.dashboard(cluster_name),
        runs.dashboard(cluster_name),
    ]


def files(cluster_name: str, shared_dir: str) -> dict[str, str]:
    """The JSON of each dashboard by the name of its file; the same for the same cluster, byte by byte."""
    return {f"{each.uid}.json": text(each) for each in dashboards(cluster_name, shared_dir)}
