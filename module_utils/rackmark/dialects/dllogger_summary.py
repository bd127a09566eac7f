"""NVIDIA's DeepLearningExamples that sum a training up by DLLogger: DLRM, NCF, Mask R-CNN and those built like them.

    DLL 2024-03-03 04:51:55.337358 - () best_train_throughput : 7447588.6 samples/s ... mean_train_throughput : 7386178
    DLLL {"timestamp": "...", ..., "type": "LOG", "step": [], "data": {"average_train_throughput": 6543210.9, ...

Their throughput is of all devices and counts as it is stated; the best epoch, which NCF states too, does not. How long
single steps took these logs do not say.
"""

from __future__ import annotations

from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.stated_lines import StatedLines

_THROUGHPUTS = ("average_train_throughput", "mean_train_throughput", "train_perf_fps")


def _throughput(name: str) -> tuple[Kind, Kind]:
    """As it is printed, and as it is in the file."""
    return (
        kind(f"stated {name}", f"{name} : {{throughput:float}} ", head="DLL "),
        kind(f"stated {name} of the file", f'"{name}": {{throughput:float}}', head="DLLL "),
    )


DIALECTS = (
    Dialect(
        name="dllogger-summary",
        title="NVIDIA's examples with a summary (DLLogger)",
        kinds=(*(one for name in _THROUGHPUTS for one in _throughput(name)),),
        fold=StatedLines,
        prefers_stated=True,
        warmup=0,
    ),
)
