"""Records as workers write them."""

from __future__ import annotations

EXPERIMENT = {"duration": 100.0, "dataset": {"counted": [2000, 1000]}}
SETTINGS = {"dropout_rate": 0.1, "kernel_size": 3, "batch_size": 64}


def began(worker, time=0.0, attempt=1):
    return {"event": "began", "worker": worker, "time": time, "attempt": attempt, "host": f"node{worker}"}


def started(seq, workers, time=1.0, **facts):
    return {
        "event": "started",
        "worker": seq % workers,
        "seq": seq,
        "time": time,
        "attempt": 1,
        "father": None,
        "digest": f"{seq:016x}",
        "morphs": [],
        "hyperparameter": SETTINGS,
        "flops": {"evaluation": 1e6, "training": 3e6},
        "layers": 23,
        "params": 1000,
        "features": [float(seq)] * 17,
        "waited": 0.5,
        **facts,
    }


def ended(seq, workers, time=2.0, **facts):
    return {
        "event": "ended",
        "worker": seq % workers,
        "seq": seq,
        "time": time,
        "state": "ok",
        "accuracy": 0.7,
        "predicted": None,
        "epochs": 2,
        "images": 4000,
        "seconds": 0.8,
        "trainings": [{"hyperparameter": SETTINGS, "accuracy": 0.7, "epochs": 2}],
        "reason": None,
        **facts,
    }


def lost(seq, workers, time=3.0):
    return {"event": "lost", "worker": seq % workers, "seq": seq, "time": time}
