"""What a rank trains on, and how the ranks on such devices talk to each other."""

from __future__ import annotations

import ctypes
import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from flags import Flags
from outcome import TrainingError, UsageError
from rackmark_log import processor_name
from ranks import Ranks, device_index

BACKENDS = {"cpu": "gloo", "cuda": "nccl", "npu": "hccl"}
# Longer than any step or evaluation, shorter than anybody's patience: a rank that waits this long for another gives up.
PATIENCE = timedelta(minutes=10)
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of mallopt(3)


def choose(flags: Flags, ranks: Ranks) -> torch.device:
    kind = flags.device if flags.device != "auto" else next((kind for kind in ("npu", "cuda") if _visible(kind)), "cpu")
    if kind == "cpu":
        if flags.precision == "fp16":
            raise UsageError("--precision fp16 needs an accelerator: on the CPU use fp32 or bf16")
        return torch.device("cpu")
    if kind == "npu":
        _require_torch_npu()
    device = torch.device(kind, device_index(ranks, _visible(kind), kind))
    _module(device).set_device(device)
    if kind == "cuda" and flags.precision == "bf16" and torch.cuda.get_device_capability(device) < (8, 0):
        raise UsageError(f"--precision bf16 is beyond {device_name(device)}: use fp32 or fp16")
    return device


def prepare(device: torch.device, deterministic: bool) -> None:
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        os.environ.setdefault("HCCL_DETERMINISTIC", "true")
        torch.use_deterministic_algorithms(True)
    # fp32 in a result must mean fp32, not a shorter format that the device would rather compute with.
    if device.type == "cuda":
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = not deterministic
    elif device.type == "npu":
        _module(device).conv.allow_hf32 = False
    else:
        _keep_freed_memory()


def device_name(device: torch.device) -> str:
    return processor_name() if device.type == "cpu" else str(_module(device).get_device_name(device))


def join(ranks: Ranks, device: torch.device) -> None:
    os.environ.setdefault("USE_LIBUV", "0")  # Debian's build of newer versions is without libuv, and asks for it
    try:
        torch.distributed.init_process_group(
            BACKENDS[device.type], rank=ranks.rank, world_size=ranks.world_size, timeout=PATIENCE
        )
    except (RuntimeError, ValueError) as error:
        meeting_point = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise TrainingError(
            f"rank {ranks.rank} of {ranks.world_size} could not join the others at {meeting_point}: {error}"
        ) from error


def total(numbers: list[float] | list[int], ranks: Ranks, device: torch.device) -> list[Any]:
    """The sums over all ranks; nobody has them before everybody has come."""
    if ranks.alone:
        return list(numbers)
    tensor = torch.tensor(numbers, device=device)
    torch.distributed.all_reduce(tensor)
    return list(tensor.tolist())


def wait_for_all(ranks: Ranks, device: torch.device) -> None:
    total([0], ranks, device)


def explain(error: RuntimeError) -> str | None:
    """The sentence in an error that is no fault of the program; None for any other."""
    text = str(error)
    beyond_us = ("gloo", "nccl", "hccl", "out of memory", "allocate memory", "DataLoader worker")
    known = any(words.lower() in text.lower() for words in beyond_us)
    return text.strip().splitlines()[0] if known else None


def _visible(kind: str) -> int:
    if kind == "npu":
        try:
            _require_torch_npu()
        except UsageError:
            return 0
    module = getattr(torch, kind)
    return int(module.device_count()) if module.is_available() else 0


def _require_torch_npu() -> None:
    try:
        import torch_npu  # noqa: F401  (it adds torch.npu)
    except (ImportError, OSError) as error:
        raise UsageError(f"--device npu needs the package torch_npu, which cannot be loaded: {error}") from error


def _module(device: torch.device) -> Any:  # noqa: ANN401
    return getattr(torch, device.type)


def _keep_freed_memory() -> None:
    """Every step asks for the same memory again: handing it to the kernel in between costs a tenth of the speed."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # a C library without it has habits of its own
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
