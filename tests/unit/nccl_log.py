"""Logs of nccl-tests."""

from __future__ import annotations

from typing import Sequence

from framework_logs import lines

_NCCL_HEADER = """\
# nccl-tests version 2.17.6 nccl-headers=22907 nccl-library=22907
# Collective test starting: {test}_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
#
# Using devices
{devices}
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""


def nccl_row(size: int, out_of_place: str, in_place: str, kind: str = "float     sum      -1") -> str:
    """The results are time, algbw, busbw and #wrong."""
    results = "".join("  {:>7}  {:>6}  {:>6}  {:>6}".format(*result.split()) for result in (out_of_place, in_place))
    return f"{size:12d}  {size // 4:12d}     {kind}{results}"


NCCL_ROWS = (
    nccl_row(1 << 20, "45.93 22.83 39.95 0", "45.26 23.17 40.54 0"),
    nccl_row(1 << 21, "52.43 40.00 70.00 0", "52.43 40.00 70.00 0"),
    nccl_row(1 << 22, "52.43 80.00 140.00 0", "52.43 80.00 140.00 0"),
)


def nccl(
    rows: Sequence[str] = NCCL_ROWS,
    average: str = "83.4175 ",
    test: str = "all_reduce",
    ranks: int = 8,
    out_of_bounds: str = "0 OK",
) -> str:
    devices = "\n".join(
        f"#  Rank {rank:2d} Group  0 Pid {4000 + rank:6d} on     node-{rank // 4} device {rank % 4:2d} [0000:07:00] A1"
        for rank in range(ranks)
    )
    end = (
        f"# Out of bounds values : {out_of_bounds}",
        f"# Avg bus bandwidth    : {average}",
        "#",
        f"# Collective test concluded: {test}_perf",
    )
    return _NCCL_HEADER.format(test=test, devices=devices) + lines([*rows, *end])
