"""The measures of a series of logs: the throughput, and what its dialect states besides and some log does state."""

from __future__ import annotations

from typing import Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.digest import Digest
from ..run.measures import Measure, default_measure


def measures_of_logs(dialect: Dialect, logs: Sequence[Digest]) -> Mapping[str, Measure]:
    """The headline first. Its unit is the first that a log names."""
    unit = next((one.facts["unit"] for one in logs if "unit" in one.facts), dialect.unit)
    throughput = default_measure("steps", str(unit))
    stated = {name for one in logs for name in one.stated}
    others = [measure for measure in dialect.measures if measure.word in stated]
    return {measure.name: measure for measure in (throughput, *others)}
