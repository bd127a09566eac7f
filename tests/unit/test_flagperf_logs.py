"""FlagPerf's logs beyond its records of steps: settings, targets, results of several nodes, ranks that died."""

from __future__ import annotations

from typing import Any

import pytest
from dialect_fixture import read
from rackmark.analysis.outcome import Numbers
from rackmark.dialects import flagperf
from unit.flagperf_fixture import CASE, DIED, FINISHED, SETTINGS, log, record, settings, tree
from unit.log_fixture import analyzed, case_of, numbers_of

(DIALECT,) = flagperf.DIALECTS


def facts(tmp_path, **said: Any) -> dict[str, Any]:
    return dict(read(tmp_path, log(FINISHED, said), DIALECT).facts)


def states(found: Numbers) -> list[tuple[str, str | None]]:
    return [(run["state"], run["reason"]) for case in found.summary["cases"] for run in case["runs"]]


def test_the_settings_of_a_case_say_batch_precision_and_target(tmp_path):
    assert facts(tmp_path, **SETTINGS) == {"batch": 8, "precision": "fp16", "target": "target_acc1 = 75.5"}


@pytest.mark.parametrize("name", ["train_batch_size", "batchsize", "batch_size", "per_device_train_batch_size"])
def test_the_batch_has_four_names(tmp_path, name):
    assert facts(tmp_path, vendor="nvidia", eval_batch_size=64, **{name: 12})["batch"] == 12


@pytest.mark.parametrize("value", ["None", "0", "-8", "8.5", "9" * 40, "True", "[8]"])
def test_a_batch_that_is_no_number_of_samples_is_none(tmp_path, value):
    assert "batch" not in facts(tmp_path, vendor="nvidia", train_batch_size=value)


@pytest.mark.parametrize(
    ("said", "precision"),
    [
        ({"fp16": True, "amp": False}, "fp16"),
        ({"amp": True}, "fp16"),
        ({"bf16": True, "fp16": False}, "bf16"),
        ({"fp16": False}, "fp32"),
        ({"amp": False}, "fp32"),
        ({"bf16": False}, None),
        ({}, None),
    ],
)
def test_the_precision_follows_from_the_switches_that_were_set(tmp_path, said, precision):
    assert facts(tmp_path, vendor="nvidia", **said).get("precision") == precision


def test_a_benchmark_that_mixes_precisions_by_itself_is_not_taken_for_fp32(tmp_path):
    tree(tmp_path, "dlrm:pytorch_1.8:A100:1:1:1", {"a_noderank0/rank0.out.log": log(FINISHED, {"v": 1, "fp16": False})})
    assert case_of(numbers_of(tmp_path), "1n1g")["precision"] == "unknown"


def test_a_log_without_records_of_steps_states_its_result(tmp_path):
    reading = read(tmp_path, log(FINISHED), DIALECT)
    assert (reading.faults, reading.remarks, reading.series) == ([], [], {})
    assert reading.stated["throughput"] == 600.0
    assert reading.stated["time_to_train_s"] == 120.0


def test_the_analysis_shows_target_time_to_it_and_final_metrics(tmp_path):
    tree(tmp_path, CASE.format(1, 1, 1), {"a_noderank0/rank0.out.log": log(FINISHED)})
    (analysis,) = analyzed(tmp_path)
    assert analysis.manifest.settings == {"target": "target_acc1 = 75.5"}
    case = case_of(numbers_of(tmp_path), "1n1g")
    assert (case["batch_per_device"], case["precision"], case["time_to_train_s"]) == (8, "fp16", 120.0)
    medians = {name: measure["median"] for name, measure in case["measures"].items()}
    assert medians == {"throughput": 600.0, "final_acc1": 76.0, "converged": 1.0, "e2e_s": 130.0}


def test_a_target_that_was_missed_is_ok_without_a_time_and_says_so(tmp_path):
    missed = {**FINISHED, "converged": False, "final_acc1": 60.0}
    tree(tmp_path, CASE.format(1, 1, 1), {"a_noderank0/rank0.out.log": log(missed)})
    found = numbers_of(tmp_path)
    case = case_of(found, "1n1g")
    assert (case["state"], case["time_to_train_s"], case["measures"]["converged"]["median"]) == ("ok", None, 0.0)
    assert any(
        "did not reach its target (target_acc1 = 75.5; converged is false)" in problem for problem in found.problems
    )


def test_a_training_time_of_zero_is_taken_from_the_stamps_of_the_records(tmp_path):
    """RetinaNet always states 0."""
    assert read(tmp_path, log({**FINISHED, "train_time": 0}), DIALECT).stated["time_to_train_s"] == 120.0


def test_a_loss_in_the_text_that_is_no_number_is_a_fault(tmp_path):
    reading = read(tmp_path, log(FINISHED, loss="nan"), DIALECT)
    assert [fault.state for fault in reading.faults] == ["nan_loss"]


def test_steps_may_be_counted_beside_the_value_of_a_record(tmp_path):
    steps = "".join(record("STEP_END", {"loss": 2.5}, step, step=step) for step in (1, 2, 3))
    reading = read(tmp_path, steps + record("FINISHED", FINISHED), DIALECT)
    assert reading.series[None].rows.step.tolist() == [2, 3]


def test_of_the_results_of_all_nodes_that_of_node_rank_0_counts(tmp_path):
    """Their hosts are named in the other order, and the second is slower."""
    first = {
        "throughput(ips)_pure_compute": 2.10027155960087,
        "throughput(ips)_no_eval": 2.0784204629053042,
        "throughput(ips)_raw": 1.8604046638536869,
        "final_acc1": 87.5,
    }
    second = {**first, "throughput(ips)_pure_compute": 2.09, "final_acc1": 50.0}
    tree(
        tmp_path,
        CASE.format(2, 1, 1),
        {"z_noderank0/rank0.out.log": log(first), "a_noderank1/rank1.out.log": log(second)},
    )
    case = case_of(numbers_of(tmp_path), "2n1g")
    (run,) = case["runs"]
    rates = (run["throughput"], run["no_eval"], run["whole"], run["accuracy"])
    assert rates == (2.10027155960087, 2.0784204629053042, 1.8604046638536869, 0.875)
    assert case["measures"]["final_acc1"]["median"] == 87.5


def test_two_nodes_that_write_into_one_log_are_one_training(tmp_path):
    lines = [(rank, line) for rank in (8, 0) for line in log({**FINISHED, "final_acc1": 70.0 + rank}).splitlines()]
    text = "".join(f"{rank}: {line}\n" for rank, line in lines)
    reading = read(tmp_path, text, DIALECT)
    assert (reading.faults, reading.stated["final_acc1"]) == ([], 70.0)


CASES = [CASE.format(1, 2, 1), "bert_hf:pytorch_1.8:A100:1:1:1"]


@pytest.mark.parametrize("begin", ["", settings(**SETTINGS), settings(**SETTINGS) + record("INIT_START")])
def test_cases_whose_ranks_all_died_are_launch_failed_with_the_line_that_says_why(tmp_path, begin):
    tree(tmp_path, CASES[0], {f"a_noderank0/rank{rank}.out.log": begin + DIED for rank in (0, 1)})
    tree(tmp_path, CASES[1], {"a_noderank0/rank0.out.log": begin + DIED, "a_noderank0/cpu_monitor.log": "x\t0.5\n"})
    found = {next(iter(one.judged)): one for one in analyzed(tmp_path)}
    assert sorted(found) == ["1n1g", "1n2g"]
    for case, analysis in found.items():
        (one,) = analysis.judged[case]
        assert (one.result.state, one.result.reason) == (
            "launch_failed",
            "The log ends before the training begins. The log says: ValueError: data_dir '/nonexistent' not exists.",
        )


def test_one_rank_that_died_explains_why_the_first_one_waited(tmp_path):
    waiting = settings(**SETTINGS) + record("INIT_START")
    ranks = {"a_noderank0/rank0.out.log": waiting, "b_noderank1/rank1.out.log": DIED}
    tree(tmp_path, CASE.format(2, 1, 1), ranks)
    ((state, reason),) = states(numbers_of(tmp_path))
    assert state == "launch_failed" and reason is not None and "data_dir '/nonexistent'" in reason


def test_a_rank_that_died_while_training_leaves_its_repeat_incomplete(tmp_path):
    ranks = {"a_noderank0/rank0.out.log": log(), "a_noderank0/rank1.out.log": log() + DIED}
    tree(tmp_path, CASE.format(1, 2, 1), ranks)
    ((state, reason),) = states(numbers_of(tmp_path))
    assert state == "incomplete" and reason is not None and "data_dir '/nonexistent'" in reason


def test_a_round_that_died_before_its_settings_is_in_the_count_of_its_case(tmp_path):
    tree(tmp_path, CASE.format(1, 1, 2), {"a_noderank0/rank0.out.log": log(FINISHED)})
    tree(tmp_path, CASE.format(1, 1, 2), {"a_noderank0/rank0.out.log": DIED}, repeat=2)
    found = numbers_of(tmp_path)
    assert [state for state, _ in states(found)] == ["ok", "launch_failed"]
    assert case_of(found, "1n1g")["batch_per_device"] == 8


def test_empty_logs_of_ranks_are_no_data(tmp_path):
    tree(tmp_path, CASE.format(1, 2, 1), {f"a_noderank0/rank{rank}.out.log": "" for rank in (0, 1)})
    found = numbers_of(tmp_path)
    assert states(found) == [("no_data", "The log holds no record of FlagPerf and no result.")]


def test_a_rank_that_says_nothing_known_is_held_against_nobody(tmp_path):
    ranks = {"a_noderank0/rank0.out.log": log(FINISHED), "a_noderank0/rank1.out.log": "hello\n"}
    tree(tmp_path, CASE.format(1, 2, 1), ranks)
    assert states(numbers_of(tmp_path)) == [("ok", None)]


@pytest.mark.parametrize(
    ("model", "rates", "efficiencies"),
    [
        ("resnet50", (799, 6105, 11874), (95.5, 92.9)),
        ("mobilenetv2", (1243.7, 9126, 17138), (91.7, 86.1)),
        ("bert", (79, 600, 1118), (94.9, 88.4)),
        ("gpt2", (14.2, 97.6, 156.6), (85.9, 68.9)),
        ("swin_transformer", (458, 3573, 7073), (97.5, 96.5)),
    ],
)
def test_published_rates_of_one_device_a_node_and_two_nodes_give_the_efficiency(tmp_path, model, rates, efficiencies):
    for (nodes, devices), rate in zip(((1, 1), (1, 8), (2, 8)), rates):
        text = log({"throughput(ips)_pure_compute": rate})
        tree(tmp_path, f"{model}:pytorch_1.8:A100:{nodes}:{devices}:1", {"a_noderank0/rank0.out.log": text})
    found = numbers_of(tmp_path)
    assert [round(100 * (case_of(found, name)["efficiency"] or 0), 1) for name in ("1n8g", "2n8g")] == [*efficiencies]
