"""A repeat with four ranks on two nodes, and the judge's word on it."""

from __future__ import annotations

from rackmark.dialects.catalog import dialect_named
from rackmark.judging.asked import Asked
from rackmark.judging.judge import judge
from rackmark.judging.repeat import rank_log, rank_numbers, read_rank_log
from rackmark.run.cases import Case
from rackmark.run.manifest import PlannedCase
from rackmark.run.measures import default_measure
from unit.run_fixture import STEPS, WARMUP, planned_case, write_repeat
from unit.run_fixture import rank_log as log_of_rank

CASE = Case(2, 2)
ASKED = Asked(
    case=PlannedCase(**planned_case(CASE, repeats=1)),
    dialect=dialect_named("rackmark"),
    device="cpu",
    ranks="device",
    measure="steps",
    warmup=WARMUP,
    steps=STEPS,
    measures={"throughput": default_measure("steps", "samples/s")},
    headline="throughput",
    rules=[],
    target=None,
)


def judged_with_logs(folder, asked=ASKED):
    logs = {
        number: read_rank_log(rank_log(folder, number), number, asked.dialect, asked.window, 1)
        for number in rank_numbers(folder)
    }
    return judge(folder, 1, asked, logs)


def judged(folder, asked=ASKED):
    return judged_with_logs(folder, asked).result


def complete_repeat(folder):
    write_repeat(folder / "r1", CASE, seconds=0.5)
    return folder / "r1"


def cut(folder, rank, steps, exit_status="1", complaint=""):
    (folder / f"rank-{rank}.log").write_text(log_of_rank(CASE, rank, 0.5, steps) + complaint)
    (folder / f"rank-{rank}.exit").write_text(exit_status)


def change(folder, rank, old, new):
    path = folder / f"rank-{rank}.log"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def assert_fault(folder, state, *words):
    result = judged(folder)
    assert result.state == state
    assert (result.throughput, result.whole, result.no_eval) == (None, None, None)
    for word in words:
        assert word in result.reason
    assert result.reason.isprintable()
