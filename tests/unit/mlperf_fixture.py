"""MLPerf's logs as tests write them."""

from __future__ import annotations

import json
from typing import Any, Iterator

from rackmark.dialects import mlperf
from rackmark.logs.reading import Reading

(DIALECT,) = mlperf.DIALECTS


BEGIN = 1652452616243


SAMPLES = 1_281_167


def event(key: str, ms: int, value: Any = None, **metadata: Any) -> str:
    kind = "INTERVAL_START" if key.endswith("_start") else "INTERVAL_END" if key.endswith("_stop") else "POINT_IN_TIME"
    content = {"namespace": "", "time_ms": BEGIN + ms, "event_type": kind, "key": key, "value": value}
    return ":::MLLOG " + json.dumps({**content, "metadata": {"file": "fit.py", "lineno": 12, **metadata}})


def lines(*each: str) -> str:
    return "\n".join(each) + "\n"


def head(benchmark: str = "resnet", platform: str = "2xR750x4A100-SXM-40GB") -> list[str]:
    return [
        event("submission_benchmark", -9000, benchmark),
        event("submission_org", -9000, "Somebody"),
        event("submission_platform", -9000, platform),
        event("weights_initialization", -8500, {"tensor": "conv0"}),
        event("global_batch_size", -8000, 1024),
    ]


def epochs(count: int = 4, block: int = 2, seconds: float = 100, rate: float | None = None) -> Iterator[str]:
    """Blocks of epochs, after each of which an evaluation takes ten seconds; `rate` is what the log prints of itself,
    without it the true one."""
    at = 0.0
    for number in range(1, count + 1):
        if (number - 1) % block == 0:
            yield event("block_start", round(1000 * at), first_epoch_num=number, epoch_count=block)
        yield event("epoch_start", round(1000 * at), epoch_num=number)
        at += seconds
        yield event("epoch_stop", round(1000 * at), epoch_num=number)
        yield event("tracked_stats", round(1000 * at), {"imgs_sec": rate or SAMPLES / seconds}, step=number)
        if number % block == 0:
            at += 10
            yield event("eval_accuracy", round(1000 * at), 0.3 + 0.1 * number, epoch_num=number)
            yield event("block_stop", round(1000 * at), first_epoch_num=number - block + 1)


START = [event("run_start", 0), event("train_samples", 2, SAMPLES)]


STOP = event("run_stop", 420123, status="success")


LOG = lines("+ srun -N 1 bash run.sh", *head(), *START, *epochs(), STOP, "ENDING TIMING RUN AT 2022-05-15 11:25:26 AM")


def states(reading: Reading) -> list[str]:
    return [fault.state for fault in reading.faults]


def throughput(reading: Reading) -> float:
    rows = reading.series[None].rows
    return float(rows.samples.sum() / rows.seconds.sum())
