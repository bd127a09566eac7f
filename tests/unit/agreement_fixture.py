"""Repeats whose ranks log what they are told to, by clocks that somebody sets."""

from __future__ import annotations

import json
from dataclasses import replace

from unit.judged import ASKED, CASE, judged
from unit.run_fixture import BATCH, STARTED, WARMUP, start_line, write_job

STEPS = 100  # of 0.05 s, after the warm-up: 5 s


SECONDS = 0.05


TRUTH = 4 * BATCH / SECONDS


UPTIME = 5000.0


class Clock:
    """What a process reads: a wall clock that somebody sets, and one that nobody does."""

    def __init__(self, monotonic, begin=0.0):
        self.monotonic, self.passed, self.set_by = monotonic, begin, 0.0

    def event(self, name, **facts):
        wall = STARTED + self.passed + self.set_by
        moment = {"monotonic": UPTIME + self.passed} if self.monotonic else {}
        return "RACKMARK " + json.dumps({"event": name, **moment, "time": wall, **facts})


def write(folder, monotonic, *, begin=(0, 0, 0, 0), lie=None, between=None, speed=(1, 1, 1, 1), ends=({},) * 4):
    """`lie` changes what a step's line says, `between` is what happens after a step, `ends` what a last line adds."""
    write_job(folder, "COMPLETED")
    for rank in range(4):
        clock = Clock(monotonic, begin[rank])
        lines = [clock.event("start", **_facts(rank))]
        for step in range(1, WARMUP + STEPS + 1):
            seconds = SECONDS * speed[rank]
            clock.passed += seconds
            facts = {"step": step, "samples": BATCH, "seconds": seconds, "loss": 1.0}
            lines.append(clock.event("step", **(lie(rank, step, facts) if lie else facts)))
            lines += (between(clock, rank, step) or []) if between else []
        lines.append(clock.event("end", steps=WARMUP + STEPS, **ends[rank]))
        (folder / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")
        (folder / f"rank-{rank}.exit").write_text("0\n")


def _facts(rank):
    record = json.loads(start_line(CASE, rank)[len("RACKMARK ") :])
    return {name: value for name, value in record.items() if name not in ("event", "time")}


def result_of(folder, **changes):
    return judged(folder, replace(ASKED, steps=STEPS, **changes))


def assert_breaks_the_rules(folder, *words):
    result = result_of(folder)
    assert (result.state, result.throughput, result.whole) == ("rule_failed", None, None)
    for word in words:
        assert word in result.reason
