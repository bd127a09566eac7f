"""What repeats of FlagPerf's own programs are worth, on two nodes with two devices each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.run.measures import Measure
from unit.flagperf_fixture import FINISHED, log
from unit.judged import ASKED, judged
from unit.run_fixture import write_job

STATED = replace(
    ASKED,
    dialect=dialect_named("flagperf"),
    measure="stated",
    warmup=0,
    steps=0,
    case=replace(ASKED.case, batch_per_device=8, precision="fp16"),
    measures={
        "throughput": Measure("throughput", "samples/s", "higher", "stated.throughput"),
        "converged": Measure("converged", "1 or 0", "higher", "stated.converged"),
    },
)
MEGATRON = "System tokens per second:  4000.0\nTokens/p/s:  1000.0\nTheory TFLOPS:  312.0\nMFU:  0.13\n"


def repeat(folder, logs, statuses=None):
    folder.mkdir()
    for rank, text in enumerate(logs):
        (folder / f"rank-{rank}.log").write_text(text)
        (folder / f"rank-{rank}.exit").write_text(f"{(statuses or {}).get(rank, 0)}\n")
    failed = any((statuses or {}).values())
    write_job(folder, "FAILED" if failed else "COMPLETED", "1:0" if failed else "0:0")
    return folder


def ddp_logs(**of_rank):
    """The first rank of each node writes a result."""
    results = [FINISHED, None, {**FINISHED, "throughput(ips)_pure_compute": 599.0}, None]
    return [log(result, **of_rank) for result in results]


def test_the_result_of_the_first_rank_counts_and_not_that_of_the_second_node(tmp_path):
    result = judged(repeat(tmp_path / "r1", ddp_logs()), STATED)
    assert (result.state, result.throughput) == ("ok", 600.0)
    assert result.converged is True


def test_a_language_model_is_told_by_its_first_node_alone(tmp_path):
    of_nodes = replace(STATED, ranks="node", case=replace(STATED.case, batch_per_device=None, precision=None))
    result = judged(repeat(tmp_path / "r1", [MEGATRON, ""]), of_nodes)
    assert (result.state, result.throughput) == ("ok", 4000.0)
    silent = judged(repeat(tmp_path / "r2", ["", ""]), of_nodes)
    assert silent.state == "no_data"


@pytest.mark.parametrize(
    ("logs", "state", "reason"),
    [
        ([log(), log(), log(FINISHED), log()], "incomplete", "no FINISHED record"),
        ([log(FINISHED) + log(FINISHED), log(), log(), log()], "incomplete", "more than one training"),
        (ddp_logs(said={"train_batch_size": 16, "amp": True}), "rule_failed", "batch=16, asked was 8"),
        (ddp_logs(said={"train_batch_size": 8, "amp": False}), "rule_failed", "precision=fp32, asked was fp16"),
        (ddp_logs(loss="nan"), "nan_loss", "not a finite number"),
    ],
)
def test_what_contradicts_the_plan_is_no_result(tmp_path, logs, state, reason):
    result = judged(repeat(tmp_path / "r1", logs), STATED)
    assert (result.state, result.throughput) == (state, None)
    assert reason in result.reason


def test_a_rank_that_ended_badly_takes_the_result_with_it(tmp_path):
    result = judged(repeat(tmp_path / "r1", ddp_logs(), {3: 1}), STATED)
    assert (result.state, result.throughput) == ("incomplete", None)
    assert "Rank 3" in result.reason


def test_a_rank_that_died_is_blamed_and_not_the_first_one_that_was_ended_for_it(tmp_path):
    logs = [log(), log(), log(), log() + "SystemExit: out of luck\n"]
    result = judged(repeat(tmp_path / "r1", logs, {0: 143, 1: 143, 2: 143, 3: 7}), STATED)
    assert result.state == "incomplete"
    assert result.reason.startswith("Rank 3 ended with exit status 7.")


def test_a_target_that_was_missed_is_flagged_and_a_result(tmp_path):
    logs = [log({**FINISHED, "converged": False}), log(), log(), log()]
    result = judged(repeat(tmp_path / "r1", logs), STATED)
    assert (result.state, result.throughput, result.converged) == ("ok", 600.0, False)
