"""Records as FlagPerf's driver writes them: without a rank, between whatever else is printed."""

import json
import time


def record(event, value=None):
    metadata = {
        "file": "/training/benchmarks/driver/base.py",
        "lineno": 124,
        "time_ms": int(time.time() * 1000),
        "rank": -1,
    }
    content = {"event": event, "metadata": metadata}
    if value is not None:
        content["value"] = value
    print("[PerfLog] " + json.dumps(content), flush=True)
