"""Trains ResNet-50 on synthetic images and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank. Runs on PyTorch 1.13 and newer.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import socket
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, NoReturn

import torch
import torch.distributed
from model import parameter_count, resnet50
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CLASSES = 1000
LEARNING_RATE = 0.01
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4


class UsageError(Exception):
    """What was asked for cannot be run."""


class TrainingError(Exception):
    """The training started and cannot go on."""


@dataclass(frozen=True)
class Ranks:
    rank: int
    local_rank: int
    world_size: int


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def count(minimum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {minimum}")
        return int(text)

    return parse


def parse_flags(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(prog="train_pytorch.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=count(1), default=32, help="images per device and step (default %(default)s)")
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"], default="fp32")
    parser.add_argument("--steps", type=count(1), default=100, help="steps after the warm-up (default %(default)s)")
    parser.add_argument("--warmup", type=count(0), default=20, help="steps before them (default %(default)s)")
    # 33 is the smallest side that leaves the last stage more than one value per channel to normalise at batch 1.
    parser.add_argument("--image-size", type=count(33), default=224, help="side in pixels (default %(default)s)")
    parser.add_argument("--seed", type=count(0), default=1)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    return parser.parse_args(arguments)


def ranks_from_environment() -> Ranks:
    def number(name: str, default: int) -> int:
        text = os.environ.get(name, str(default))
        if not text.isdecimal():
            raise UsageError(f"{name}={text!r} in the environment is not a whole number")
        return int(text)

    ranks = Ranks(rank=number("RANK", 0), local_rank=number("LOCAL_RANK", 0), world_size=number("WORLD_SIZE", 1))
    if ranks.rank >= ranks.world_size:
        raise UsageError(f"RANK={ranks.rank} must be below WORLD_SIZE={ranks.world_size}")
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if ranks.world_size > 1 and missing:
        raise UsageError(f"WORLD_SIZE={ranks.world_size} needs {' and '.join(missing)} in the environment")
    return ranks


def choose_device(wanted: str, precision: str, local_rank: int) -> torch.device:
    visible = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "cpu" or (wanted == "auto" and not visible):
        if precision == "fp16":
            raise UsageError("--precision fp16 needs a CUDA device: on the CPU use fp32 or bf16")
        return torch.device("cpu")
    if local_rank >= visible:
        raise UsageError(f"LOCAL_RANK={local_rank} has no CUDA device: this process sees {visible} of them")
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # fp32 in a result must mean fp32
    return device


def device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def join_ranks(ranks: Ranks, device: torch.device) -> None:
    os.environ.setdefault("USE_LIBUV", "0")  # Debian's build of newer versions is without libuv, and asks for it
    try:
        torch.distributed.init_process_group(
            "nccl" if device.type == "cuda" else "gloo", rank=ranks.rank, world_size=ranks.world_size
        )
    except (RuntimeError, ValueError) as error:
        meeting_point = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise TrainingError(
            f"rank {ranks.rank} of {ranks.world_size} could not join the others at {meeting_point}: {error}"
        ) from error


def build_model(device: torch.device, ranks: Ranks) -> nn.Module:
    model: nn.Module = resnet50(CLASSES).to(device=device, memory_format=torch.channels_last)
    if ranks.world_size == 1:
        return model
    return DistributedDataParallel(
        model,
        device_ids=[device.index] if device.type == "cuda" else None,
        broadcast_buffers=False,  # the running statistics of batch norm are not used while training
        gradient_as_bucket_view=True,
    )


def synthetic_batch(flags: argparse.Namespace, device: torch.device, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator(device=device).manual_seed(flags.seed + rank)
    shape = (flags.batch, 3, flags.image_size, flags.image_size)
    images = torch.randn(shape, generator=generator, device=device).contiguous(memory_format=torch.channels_last)
    return images, torch.randint(CLASSES, (flags.batch,), generator=generator, device=device)


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.float16 if precision == "fp16" else torch.bfloat16)


def gradient_scaler(precision: str) -> torch.amp.GradScaler:
    """Without scaling, small gradients vanish in fp16; other precisions pass through unscaled."""
    enabled = precision == "fp16"
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda", enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)


def training_step(
    model: nn.Module, flags: argparse.Namespace, ranks: Ranks, device: torch.device
) -> Callable[[], float]:
    """Returns the function that trains one step and returns its loss once the device has finished it."""
    images, labels = synthetic_batch(flags, device, ranks.rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    scaler = gradient_scaler(flags.precision)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        with autocast(flags.precision, device):
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return float(loss.item())

    return step


def emit(event: str, **facts: object) -> None:
    sys.stdout.write("RACKMARK " + json.dumps({"event": event, "time": time.time(), **facts}) + "\n")
    sys.stdout.flush()


def emit_start(model: nn.Module, flags: argparse.Namespace, ranks: Ranks, device: torch.device) -> None:
    emit(
        "start",
        **vars(ranks),
        host=socket.gethostname(),
        device=device.type,
        device_name=device_name(device),
        threads=torch.get_num_threads(),
        framework="pytorch",
        framework_version=torch.__version__,
        model="resnet50",
        parameters=parameter_count(model),
        batch=flags.batch,
        precision=flags.precision,
        image_size=flags.image_size,
        seed=flags.seed,
        warmup=flags.warmup,
        steps=flags.steps,
    )


def run_steps(step: Callable[[], float], batch: int, total: int) -> None:
    # A step ends where the next one begins, so the seconds of all steps add up to the time of the loop.
    began = time.perf_counter()
    for number in range(1, total + 1):
        loss = step()
        ended = time.perf_counter()
        finite = math.isfinite(loss)
        facts: dict[str, object] = {"loss": loss} if finite else {"loss": None, "loss_text": str(loss)}
        emit("step", step=number, samples=batch, seconds=ended - began, **facts)
        if not finite:
            raise TrainingError(f"the loss of step {number} is {loss}: training cannot go on from there")
        began = ended


def main(arguments: list[str]) -> None:
    flags = parse_flags(arguments)
    ranks = ranks_from_environment()
    device = choose_device(flags.device, flags.precision, ranks.local_rank)
    if ranks.world_size > 1:
        join_ranks(ranks, device)
    torch.manual_seed(flags.seed)
    model = build_model(device, ranks)
    step = training_step(model, flags, ranks, device)
    emit_start(model, flags, ranks, device)
    if ranks.world_size > 1:
        torch.distributed.barrier()
    run_steps(step, flags.batch, flags.warmup + flags.steps)
    emit("end", steps=flags.warmup + flags.steps)
    if ranks.world_size > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError as error:
        print(f"train_pytorch.py: {error}", file=sys.stderr)
        sys.exit(2)
    except TrainingError as error:
        print(f"train_pytorch.py: {error}", file=sys.stderr)
        sys.exit(1)
