"""FlagPerf's MFU: by the number of parameters in a model's name, which is not the exact one (llama2_7b has 6.74e9)."""

from __future__ import annotations

import re
from typing import Mapping

from ..numbers.mfu import mfu

_IN_NAME = re.compile(r"(?<![\dx.])(\d{1,4}(?:\.\d{1,3})?)b(?![a-z\d])", re.IGNORECASE)
# Of a mixture of experts only those that a token passes through count.
_MIXTURES: Mapping[str, Mapping[str, float]] = {
    "mixtral": {"flagscale": 12e9, "megatron": 12.7e9},
    "qwen1.5_moe": {"megatron": 2.3e9},
}


def nominal_parameters(model: str, framework: str) -> float | None:
    """As in llama2_7b; None where neither the name nor FlagPerf's program says it."""
    for name, by_framework in _MIXTURES.items():
        if model.lower().startswith(name):
            return by_framework.get(framework)
    found = _IN_NAME.search(model)
    return float(found[1]) * 1e9 if found else None


def mfu_flagperf(tokens_per_s_device: float, model: str, framework: str, peak_flops: float) -> float | None:
    parameters = nominal_parameters(model, framework)
    return None if parameters is None else mfu(tokens_per_s_device, parameters, peak_flops)
