"""FlagPerf's FINISHED record of a training, so that scripts made for FlagPerf's logs read ours.

Times and rates mean what those of a Rackmark report mean: _pure_compute is its throughput (steps after the warm-up),
_no_eval leaves out evaluations, _raw is of all from the first step's begin to the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import devices
import torch
from ranks import Ranks


class Stopwatch:
    """Of one rank. The process begins when this is made. `counts` says what is counted: images, sequences, tokens."""

    def __init__(self, warmup: int, counts: str) -> None:
        self._warmup, self._counts = warmup, counts
        self._began = self._training_began = time.perf_counter()
        self._samples = self._measured_samples = 0
        self.computing = self._evaluating = 0.0

    def training_begins(self) -> None:
        self._training_began = time.perf_counter()

    def step(self, number: int, samples: int, seconds: float) -> None:
        self._samples += samples
        if number > self._warmup:
            self._measured_samples += samples
            self.computing += seconds

    def evaluation(self, seconds: float) -> None:
        self._evaluating += seconds

    def finished(
        self, ranks: Ranks, device: torch.device, loss: float, converged: bool | None = None, **final: float
    ) -> None:
        """Called by all ranks, written by the first. `loss` is the rank's last, `converged` is None where nothing was
        to be reached, `final` are further last numbers by FlagPerf's names, the same on all ranks."""
        times = [time.perf_counter() - self._training_began, self.computing, self._evaluating]
        seconds = devices.longest(times, ranks, device)
        (losses,) = devices.total([loss], ranks, device)
        if ranks.rank == 0:
            final = {"loss": losses / ranks.world_size, **final}
            record = {"event": "FINISHED", "value": self._value(seconds, ranks.world_size, converged, final)}
            metadata = {"file": Path(sys.argv[0]).name, "time_ms": round(time.time() * 1000), "rank": 0}
            sys.stdout.write(f"[PerfLog] {json.dumps({**record, 'metadata': metadata})}\n")
            sys.stdout.flush()

    def _value(
        self, seconds: list[float], world_size: int, converged: bool | None, final: dict[str, float]
    ) -> dict[str, object]:
        """A training that ends within its warm-up has computed nothing that counts."""
        training, computing, evaluating = seconds
        samples = self._samples * world_size
        return {
            "e2e_time": time.perf_counter() - self._began,
            "init_time": self._training_began - self._began,
            "train_time": training,
            "train_no_eval_time": training - evaluating,
            "pure_training_computing_time": computing,
            f"training_{self._counts}_per_second": samples / training,
            "throughput(ips)_raw": samples / training,
            "throughput(ips)_no_eval": samples / (training - evaluating),
            "throughput(ips)_pure_compute": self._measured_samples * world_size / computing if computing else None,
            "converged": converged,
            **{f"final_{name}": number for name, number in final.items()},
        }
