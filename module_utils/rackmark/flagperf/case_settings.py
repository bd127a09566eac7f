"""What FlagPerf's settings of a case say of batch, precision and target, in its config files and in its logs alike."""

from __future__ import annotations

from typing import Mapping

BATCH = ("train_batch_size", "batchsize", "batch_size", "per_device_train_batch_size")
_HALF, _BRAIN = ("fp16", "use_fp16", "amp"), ("bf16",)
PRECISION = (*_HALF, *_BRAIN)
_TARGET = "target_"
# They train in mixed precision unless their settings say otherwise: fp16 = False does not.
_MIXED_UNLESS_SAID = ("WaveGlow", "dlrm", "moflow")


def batch_of(settings: Mapping[str, object]) -> tuple[str, int] | None:
    """Per device and forward pass, with the name that says it."""
    for name in BATCH:
        value = settings.get(name)
        if type(value) is int and value > 0:
            return name, value
    return None


def precision_of(settings: Mapping[str, object], model: str) -> str | None:
    """None where the settings leave it to the benchmark."""
    if any(settings.get(name) is True for name in _BRAIN):
        return "bf16"
    if any(settings.get(name) is True for name in _HALF):
        return "fp16"
    told_by = ("amp",) if model in _MIXED_UNLESS_SAID else _HALF
    return "fp32" if any(settings.get(name) is False for name in told_by) else None


def targets_of(settings: Mapping[str, object]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in settings.items()
        if is_target(name) and isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def is_target(name: str) -> bool:
    return name.startswith(_TARGET)
