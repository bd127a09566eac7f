"""What tests of ais-bench's logs share."""

from __future__ import annotations

from rackmark.logs.reading import Reading

RATES = [885.25, 884.5, 886.0, 885.125]  # 3540.875 together


def states(reading: Reading) -> list[str]:
    return [fault.state for fault in reading.faults]
