"""Result trees of FlagPerf, as its InitHelper benchmarks write them: records without a rank and without steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unit.log_fixture import write

BEGIN = 1_700_000_000_000
CASE = "mobilenetv2:pytorch_1.8:A100:{}:{}:{}"
SETTINGS = {"vendor": "nvidia", "train_batch_size": 8, "amp": True, "target_acc1": 75.5}
FINISHED = {
    "e2e_time": 130.0,
    "train_time": 120.0,
    "train_no_eval_time": 110.0,
    "pure_training_computing_time": 100.0,
    "throughput(ips)_raw": 500.0,
    "throughput(ips)_no_eval": 545.4545,
    "throughput(ips)_pure_compute": 600.0,
    "converged": True,
    "final_acc1": 76.0,
}
DIED = """Traceback (most recent call last):
  File "run_pretraining.py", line 111, in <module>
    config_update, state = main()
ValueError: data_dir '/nonexistent' not exists.
"""


def record(event: str, value: Any = None, seconds: float = 0.0, **more: Any) -> str:
    content = {"event": event, **({} if value is None else {"value": value}), **more}
    metadata = {
        "file": "/training/benchmarks/driver/base.py",
        "lineno": 124,
        "time_ms": BEGIN + round(1000 * seconds),
        "rank": -1,
    }
    return f"[PerfLog] {json.dumps({**content, 'metadata': metadata})}\n"


def settings(**values: Any) -> str:
    """The first is one that FlagPerf does not know, the others are its own."""
    names = list(values)
    return "".join(
        f"SET {'[Unknown or immutable] ' if name in names[:1] else ''}CONFIG {name} = {value}\n"
        for name, value in values.items()
    )


def log(finished: dict[str, Any] | None = None, said: dict[str, Any] | None = None, loss: str = "6.84") -> str:
    """Of one rank; `finished` is what the first of a node writes at its end."""
    return (
        settings(**(SETTINGS if said is None else said))
        + record("INIT_START")
        + record("INIT_EVALUATION", {"time": 2.5}, 9)
        + record("INIT_END", seconds=10)
        + record("TRAIN_START", seconds=10)
        + f"Epoch 1\nTrain Step 0/2, Loss : {loss}\nEval Step 0/1\nEval Acc1: 68.75%\n"
        + record("TRAIN_END", seconds=130)
        + ("" if finished is None else record("FINISHED", finished, 131))
    )


def tree(root: Path, case: str, logs: dict[str, str], repeat: int = 1) -> Path:
    """`logs` by <host>_noderank<i>/<file>, below the folder of a round."""
    return write(root, {f"{case}/round{repeat}/{name}": text for name, text in logs.items()})
