"""torchtitan, which states tokens per second of one device, over the steps since the line before, loading included.

    [titan] 2025-11-25 19:45:01,441 - root - INFO - step:  1  loss:  8.0277  grad_norm:  1.4604  memory: 1.21GiB(0.86%)
      tps: 5,756  tflops: 0.41  mfu: 0.04%
    ... validate step: 10  loss:  7.1001  memory:  1.21GiB(0.86%)  tps: 9,756

Older versions write wps for tps. Steps of a validation are no training; the time of one is not in the line after it. On
how many devices it ran is said by the mesh: the product of its degrees, of which ep shares the devices of others.
    ... Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1
"""

from __future__ import annotations

from functools import partial

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import ReworkedSteps, with_rest_of_line
from ..logs.matching import Found
from ..logs.reading import Reading
from ..logs.step_timing import Rate, Steps

_STEPS = Steps(timing=Rate("tps"), loss="loss")
_DEGREES = ("pp", "dp_replicate", "dp_shard", "cp", "tp")


class _Torchtitan(ReworkedSteps):
    def take(self, found: Found, rank: int | None) -> None:
        super().take({name: table for name, table in found.items() if name != "validation"}, rank)

    def finish(self) -> Reading:
        degrees = [self.reading.facts.pop(f"_{degree}", None) for degree in _DEGREES]
        world_size = 1
        for degree in degrees:
            world_size *= degree or 0
        if world_size:
            self.note({"world_size": world_size})
        return super().finish()


DIALECTS = (
    Dialect(
        name="torchtitan",
        title="torchtitan",
        kinds=(
            kind("validation", "validate step:{_}{step:int}{_}loss:"),
            kind("step", "step:{_}{step:int}{_}loss:{_}{loss:float}{_}"),
            kind("rest_rate", "tps: {tps:grouped}{_}"),
            kind("rest_older_rate", "wps: {tps:grouped}{_}"),
            kind(
                "fact mesh",
                "parallelism: pp={_pp:int}, dp_replicate={_dp_replicate:int}, dp_shard={_dp_shard:int}, cp={_cp:int},"
                " tp={_tp:int}",
            ),
        ),
        steps=_STEPS,
        fold=partial(_Torchtitan, steps=_STEPS, rework=partial(with_rest_of_line, needed="tps")),
        rate_of_one_device=True,
        unit="tokens/s",
    ),
)
