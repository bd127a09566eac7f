"""Analyses of folders, and logs of trainings with meters beside them."""

from __future__ import annotations

import json


def run(found, number=0):
    return found.summary["cases"][0]["runs"][number]


def table(analysis, title):
    return next(found for found in analysis.logs[0].tables if found.title.startswith(title))


START = 1_794_996_900_000


def mllog(key, second, value=None, **metadata):
    record = {"namespace": "", "time_ms": START + round(1000 * second), "event_type": "POINT_IN_TIME", "key": key}
    return ":::MLLOG " + json.dumps({**record, "value": value, "metadata": metadata}) + "\n"


def training(seconds=100, samples=6400, benchmark="llama2_70b_lora", status="success"):
    """The last fifth of the time is spent on an evaluation."""
    return "".join(
        [
            mllog("submission_benchmark", -5, benchmark),
            mllog("submission_platform", -5, "2xR750x4A100"),
            mllog("global_batch_size", -5, 64),
            mllog("run_start", 0),
            mllog("block_start", 0, samples_count=0),
            mllog("block_stop", 0.8 * seconds, samples_count=samples),
            mllog("eval_accuracy", seconds, 0.9, samples_count=samples),
            mllog("run_stop", seconds, status=status),
        ]
    )


def meter(watts, off=0.0, seconds=100):
    readings = (mllog("power_reading", off + second, float(watts)) for second in range(-5, seconds + 6))
    return mllog("power_measurement_start", off - 5) + mllog("conversion_eff", off - 5, 0.96) + "".join(readings)
