"""What tests of analyses ask of one."""

from __future__ import annotations


def throughput(found):
    return found.summary["cases"][0]["runs"][0]["throughput"]
