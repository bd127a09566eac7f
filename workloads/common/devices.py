"""What a rank trains on, and how the ranks on such devices talk to each other."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Iterator, NoReturn

import outcome
import torch
import torch.distributed
from outcome import TrainingError, UsageError
from rackmark_log import processor_name
from ranks import Ranks, device_index

BACKENDS = {"cpu": "gloo", "cuda": "nccl", "npu": "hccl"}
# Longer than any step or evaluation, shorter than anybody's patience: a rank that waits this long for another gives up.
PATIENCE = timedelta(minutes=10)
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of mallopt(3)


def choose(asked: str, precision: str, ranks: Ranks) -> torch.device:
    kind = asked if asked != "auto" else next((kind for kind in ("npu", "cuda") if _visible(kind)), "cpu")
    if kind == "cpu":
        if precision == "fp16":
            raise UsageError("--precision fp16 needs an accelerator: on the CPU use fp32 or bf16")
        return torch.device("cpu")
    if kind == "npu":
        _require_torch_npu()
    device = torch.device(kind, device_index(ranks, _visible(kind), kind))
    _module(device).set_device(device)
    if kind == "cuda" and precision == "bf16" and torch.cuda.get_device_capability(device) < (8, 0):
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


def facts(device: torch.device) -> dict[str, object]:
    """What the log says of what is computed with."""
    return {
        "device": device.type,
        "device_name": device_name(device),
        "threads": torch.get_num_threads(),
        "framework": "pytorch",
        "framework_version": torch.__version__,
    }


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


@contextmanager
def together(ranks: Ranks, device: torch.device) -> Iterator[None]:
    """Ranks meet before and end after; what is no fault of the program ends it with a sentence."""
    if not ranks.alone:
        join(ranks, device)
    try:
        yield
    except RuntimeError as error:
        sentence = explain(error)
        if sentence is None:
            raise
        raise TrainingError(f"rank {ranks.rank} of {ranks.world_size} cannot go on: {sentence}") from error
    leave()


def total(numbers: list[float] | list[int], ranks: Ranks, device: torch.device) -> list[Any]:
    """All-reduce: the sums over all ranks; blocks until every rank has called it."""
    if ranks.alone:
        return list(numbers)
    tensor = torch.tensor(numbers, device=device)
    torch.distributed.all_reduce(tensor)
    return list(tensor.tolist())


def longest(seconds: list[float], ranks: Ranks, device: torch.device) -> list[float]:
    """Of all ranks, one by one and to the nanosecond: not every device compares fractions this fine."""
    if ranks.alone:
        return list(seconds)
    nanoseconds = torch.tensor([round(each * 1e9) for each in seconds], device=device)
    torch.distributed.all_reduce(nanoseconds, op=torch.distributed.ReduceOp.MAX)
    return [each / 1e9 for each in nanoseconds.tolist()]


def wait_for_all(ranks: Ranks, device: torch.device) -> None:
    total([0], ranks, device)


def leave() -> NoReturn:
    """Ends a rank that has done all its work.

    Threads of Gloo outlive the group where a model holds it. One that lets go of a tensor while the interpreter is
    taken apart aborts the process (seen once in some fifty runs on a busy machine): so it is not taken apart.
    """
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    outcome.leave(0)


def explain(error: RuntimeError) -> str | None:
    """The sentence in an error that is no fault of the program; None for any other."""
    text = str(error)
    beyond_us = ("gloo", "nccl", "hccl", "out of memory", "allocate memory", "DataLoader worker", "C++ compiler")
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
