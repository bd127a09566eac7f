"""What has to hold of any log, whatever stands in it."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

from rackmark.analysis.analysis import analyze, read_logs
from rackmark.analysis.log_tree import find_logs
from rackmark.analysis.options import Options
from rackmark.analysis.outcome import numbers
from rackmark.judging.judge import Result
from rackmark.run.cases import Case

OPTIONS = Options(warmup=0, batch=32, case=Case(1, 2))
SECONDS_PER_MB = 10.0


def check_log(folder: Path, dialect_name: str, text: bytes) -> None:
    """It becomes a number above zero or a state with its reason, and that in bounded time."""
    (folder / "a.log").write_bytes(text + b"\n")
    began = time.process_time()
    try:
        tree = find_logs(folder)
        analyses = analyze(tree, read_logs(tree, dialect_name, OPTIONS), OPTIONS, "logs")
    except ValueError as error:
        assert "dialect" in str(error), error
        analyses = []
    took = time.process_time() - began
    assert took < 1 + SECONDS_PER_MB * len(text) / 1e6, f"{took:.1f} s"
    for analysis in analyses:
        for repeats in analysis.judged.values():
            for judged in repeats:
                check_result(judged.result)
        json.dumps(numbers(analysis).summary, allow_nan=False)


def check_result(one: Result) -> None:
    assert (one.state == "ok") == (one.reason is None), one
    numbers_found = (one.throughput, one.time_to_train_s, *one.measures.values())
    assert one.state != "ok" or any(number is not None for number in numbers_found), one
    for number in (one.throughput, one.whole, one.no_eval, one.time_to_train_s):
        assert number is None or (math.isfinite(number) and number > 0), one
    assert one.accuracy is None or 0 <= one.accuracy <= 1, one
    assert one.loss is None or math.isfinite(one.loss), one
