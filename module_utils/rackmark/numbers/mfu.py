"""Model FLOPS utilisation: which share of a device's peak the training of a language model used."""

from __future__ import annotations

_OPERATIONS_PER_PARAMETER = 6  # and token: 2 in the forward pass, 4 in the backward pass


def mfu(tokens_per_s_device: float, parameters: float, peak_flops: float) -> float:
    """Attention is not counted; `peak_flops` is that of one device in the precision of the training."""
    return tokens_per_s_device * _OPERATIONS_PER_PARAMETER * parameters / peak_flops
