"""How wrong a host's clock is."""

from __future__ import annotations


def clock_error(hosts: str) -> str:
    """By the kernel's word, or by the monitoring server's clock for hosts whose kernel does not say it."""
    chosen = f"{{{hosts}}}" if hosts else ""
    told = f"abs(node_timex_offset_seconds{chosen})"
    return f"{told} or on (instance) abs(node_time_seconds{chosen} - timestamp(node_time_seconds{chosen}))"
