"""The lines `RACKMARK {json}` of a rank's log."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
import socket
import sys
import time
from pathlib import Path

from flags import Flags
from ranks import Ranks


def emit(event: str, **facts: object) -> None:
    sys.stdout.write("RACKMARK " + json.dumps({"event": event, "time": time.time(), **facts}) + "\n")
    sys.stdout.flush()


def start(
    flags: Flags,
    ranks: Ranks,
    *,
    device: str,
    device_name: str,
    threads: int,
    framework: str,
    framework_version: str,
    parameters: int,
    data: str = "synthetic",
    resumed_from: int | None = None,
) -> None:
    """`resumed_from` is the step of the checkpoint, 0 where --resume found none, None where it was not asked for."""
    resumed = {} if resumed_from is None else {"resumed_from": resumed_from}
    emit(
        "start",
        **dataclasses.asdict(ranks),
        host=socket.gethostname(),
        device=device,
        device_name=device_name,
        threads=threads,
        framework=framework,
        framework_version=framework_version,
        model="resnet50",
        parameters=parameters,
        batch=flags.batch,
        precision=flags.precision,
        image_size=flags.image_size,
        seed=flags.seed,
        warmup=flags.warmup,
        steps=flags.steps,
        data=data,
        deterministic=flags.deterministic,
        **resumed,
    )


def step(number: int, samples: int, seconds: float, loss: float) -> None:
    emit("step", step=number, samples=samples, seconds=seconds, **_finite(loss))


def evaluation(after_step: int, seconds: float, images: int, accuracy: float, loss: float) -> None:
    emit("eval", step=after_step, seconds=seconds, images=images, accuracy=accuracy, **_finite(loss))


def checkpoint(after_step: int, seconds: float) -> None:
    emit("checkpoint", step=after_step, seconds=seconds)


def end(flags: Flags) -> None:
    emit("end", steps=flags.total_steps)


def processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _finite(loss: float) -> dict[str, object]:
    """JSON has no nan and no infinity: such a loss is null, with its name beside it."""
    return {"loss": loss} if math.isfinite(loss) else {"loss": None, "loss_text": str(loss)}
