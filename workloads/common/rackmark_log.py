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
from typing import Iterable

from ranks import Ranks


def emit(event: str, **facts: object) -> None:
    moment = {"monotonic": time.monotonic(), "time": time.time()}
    sys.stdout.write("RACKMARK " + json.dumps({"event": event, **moment, **facts}) + "\n")
    sys.stdout.flush()


def start(ranks: Ranks, **facts: object) -> None:
    emit("start", **dataclasses.asdict(ranks), host=socket.gethostname(), **facts)


def ready() -> None:
    """From here on ranks train together; lines of MindSpore do not tell the time, and are counted from this one."""
    emit("ready")


def step(number: int, samples: int, seconds: float, loss: float) -> None:
    emit("step", step=number, samples=samples, seconds=seconds, **_finite(loss))


def evaluation(after_step: int, seconds: float, images: int, accuracy: float, loss: float) -> None:
    emit("eval", step=after_step, seconds=seconds, images=images, accuracy=accuracy, **_finite(loss))


def checkpoint(after_step: int, seconds: float) -> None:
    emit("checkpoint", step=after_step, seconds=seconds)


def stated(**numbers: float) -> None:
    emit("stated", **numbers)


def not_stated(names: Iterable[str], reason: str) -> None:
    emit("stated", **dict.fromkeys(names), reason=reason)


def end(steps: int, weights: float | None = None) -> None:
    """`weights` is the sum of all of them, which is the same on ranks that trained together."""
    emit("end", steps=steps, **({} if weights is None else {"weights": weights}))


def processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _finite(loss: float) -> dict[str, object]:
    """JSON has no nan and no infinity: such a loss is null, with its name beside it."""
    return {"loss": loss} if math.isfinite(loss) else {"loss": None, "loss_text": str(loss)}
