"""Slurm's metrics, counted once where several controllers report them."""

from __future__ import annotations


def once(metric: str, labels: str, chosen: str = "") -> str:
    """A metric of the whole cluster by all its labels: with two controllers, both exporters report it."""
    return f"max by ({labels}) ({metric}{{{chosen}}})" if chosen else f"max by ({labels}) ({metric})"


def answered_zero(query: str, label: str = "", value: str = "") -> str:
    """0 while slurmctld answers this query, with one label at most, and nothing while it does not."""
    zero = f'0 * max(rackmark_slurm_query_up{{query="{query}"}} == 1)'
    return f'label_replace({zero}, "{label}", "{value}", "", "")' if label else f"({zero})"


OUT_OF_SERVICE = 'sum(max by (state) (rackmark_slurm_nodes{state=~"down|drained|draining|fail"}))'
DEVICES_ALLOCATED = (
    f"(sum({once('rackmark_slurm_devices_allocated', 'partition, user, type')}) or {answered_zero('jobs')})"
)
