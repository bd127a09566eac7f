"""How a training with PyTorch computes in the precision that it is asked for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

_DTYPES = {"fp32": None, "fp16": torch.float16, "bf16": torch.bfloat16}


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    dtype = _DTYPES[precision]
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def gradient_scaler(device: torch.device, precision: str) -> Any:  # noqa: ANN401
    """Without scaling, small gradients vanish in fp16; other precisions pass through unscaled."""
    enabled = precision == "fp16"
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device.type, enabled=enabled)
    amp = torch.cuda.amp if device.type == "cpu" else getattr(torch, device.type).amp
    return amp.GradScaler(enabled=enabled)
