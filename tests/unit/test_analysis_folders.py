"""Folders that are one repeat as a whole, folders of our own, and meters beside the log of a training."""

from __future__ import annotations

import json
import math
import os

import pytest
from log_fixture import analyzed, case_of, mindspore_log, numbers_of, outcome_of, write
from rackmark.analysis.options import Options
from rackmark.analysis.outcome import numbers
from rackmark.run.cases import Case
from shared_data import shared
from unit.aiperf_fixture import keras_epochs, stamp, write_trial
from unit.analysis_folders_fixture import meter, run, table, training
from unit.run_fixture import summary_of, write_run
from unit.test_aiperf_flops import BACKWARD, FORWARD

# Of the fixture's network, per epoch: 50,000 images to evaluate, 1,280,000 to train with.
FLOPS_OF_EPOCH = 50_000 * sum(FORWARD) + 1_280_000 * (sum(FORWARD) + sum(BACKWARD))


ACCURACIES = [0.1, 0.5, 0.6, 0.7, 0.72, 0.75]


def state(found, number=0):
    return run(found, number)["state"], run(found, number)["reason"]


@pytest.fixture
def experiment(tmp_path):
    """Two trials on slaves of their own that train for an hour."""
    folder = tmp_path / "logs/2n8g/Abc123"
    write_trial(folder, "aaaaa", keras_epochs(ACCURACIES))
    write_trial(folder, "bbbbb", keras_epochs([accuracy / 2 for accuracy in ACCURACIES]), sequence=1)
    return folder


def test_an_experiment_of_aiperf_is_one_repeat_with_its_score(tmp_path, experiment):
    (experiment / "trials/aaaaa/stdout").write_text(mindspore_log(370.29))
    found = outcome_of(tmp_path / "logs", precision="fp16")
    (case,) = found.summary["cases"]
    gflops = 12 * FLOPS_OF_EPOCH / 3600 / 1e9
    assert (found.summary["unit"], case["case"], case["repeats_ok"]) == ("GFLOPS", "2n8g", 1)
    assert (case["median"], case["accuracy"]) == (pytest.approx(gflops, rel=1e-12), 0.75)
    report = found.files["report.md"].decode()
    assert f"| 1.00 | 25.00 | {gflops:.1f} | {gflops * math.log(4):.1f} | 2 | 2 | 12 |" in report
    assert "| 0.50 | 40.00 |" in report  # three of six epochs, of which the best had 60 %
    assert "keeps the rules of aiperf" in report and "no known log" not in report


def test_the_worked_example_of_the_published_network(tmp_path):
    """Ten epochs of ResNet-50 in an hour, with 70 % at the end."""
    folder = tmp_path / "Abc123"
    ends = [6 * number for number in range(1, 11)]
    log = "".join(
        f"{stamp(end - 6)}Epoch {number}/60\n{stamp(end)}312/312 - val_accuracy: {0.07 * number:.2f}\n"
        for number, end in enumerate(ends, start=1)
    )
    write_trial(folder, "aaaaa", log)
    network = shared("aiperf/resnet50_model.json").read_bytes()
    (folder / "hyperparameter_epoch/aaaaa/model.json").write_bytes(network)
    (analysis,) = analyzed(folder, precision="fp16", case=Case(1, 8))
    assert list(table(analysis, "Final score").rows[0])[:4] == ["1.00", "30.00", "83052.1", "99992.5"]
    assert table(analysis, "Score over time").rows[-1] == ["1.00", "30.00", "83052.1", "99992.5"]


def test_the_rules_of_a_profile_that_are_not_kept_are_all_named(tmp_path, experiment):
    failed, reason = state(numbers_of(tmp_path / "logs", profile="aah"))
    assert failed == "rule_failed"
    assert reason == (
        "The running time is 1.00 h, aah asks for at least 12 h. The precision is not known, aah asks for at least"
        " fp16. Which one it was, -e precision=fp16 says."
    )
    assert run(numbers_of(tmp_path / "logs", profile="aah"))["throughput"] is None
    (analysis,) = analyzed(tmp_path / "logs", profile="aah")
    assert table(analysis, "Score over time by aah").headings[2] == "PFLOPS"
    assert analysis.manifest.logs["profile"] == "aah"


def test_folders_and_meters_are_read_side_by_side_with_the_same_result(tmp_path, experiment, monkeypatch):
    root = write(tmp_path / "logs", {"result_0.txt": training(), "result_0/node_0.txt": meter(1000)})
    alone = [numbers(one).summary for one in analyzed(root, precision="fp16")]
    monkeypatch.setattr("rackmark.logs.reading_in_parallel._SMALL", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert [numbers(one).summary for one in analyzed(root, precision="fp16")] == alone
    assert [one["unit"] for one in alone] == ["GFLOPS", "samples/s"]


def test_a_profile_that_nobody_knows_is_refused_with_those_that_are_known():
    with pytest.raises(
        ValueError, match=r"^profile=aiperf-2 is not known: .* dlperf, aah, aiperf-1\.0, aiperf, lab\.$"
    ):
        Options(profile="aiperf-2")


def test_a_trial_without_its_log_leaves_no_score(tmp_path, experiment):
    (experiment / "trials/bbbbb/trial.log").unlink()
    found = numbers_of(tmp_path / "logs", precision="fp16")
    assert state(found) == (
        "incomplete",
        "The score would leave something out. trials/bbbbb/trial.log is missing."
        " Training 0 of trial bbbbb has no epoch in trials/bbbbb/trial.log.",
    )
    assert run(found)["throughput"] is None
    (analysis,) = analyzed(tmp_path / "logs", precision="fp16")
    assert ["trials/bbbbb/trial.log is missing."] in table(analysis, "What is missing").rows


def test_an_experiment_in_which_no_epoch_has_ended_says_so(tmp_path):
    write_trial(tmp_path / "1n8g/Abc123", "aaaaa", f"{stamp(0)}Epoch 1/60\n", ended=False)
    assert state(numbers_of(tmp_path, precision="fp16"))[1].startswith("There is no score. No epoch has ended.")


def test_what_the_report_of_aiperf_copied_is_no_second_experiment(tmp_path, experiment):
    write_trial(experiment / "results/logs", "aaaaa", keras_epochs(ACCURACIES))
    assert len(numbers_of(tmp_path / "logs", precision="fp16").summary["cases"][0]["runs"]) == 1
    for log in experiment.glob("trials/*/trial.log"):
        log.rename(log.with_name("output.log"))
    experiments = [one for one in analyzed(tmp_path / "logs", precision="fp16") if one.manifest.dialect == "aiperf"]
    assert [str(log.path) for one in experiments for log in one.logs] == ["2n8g/Abc123/results/logs"]


def test_the_operator_may_say_that_it_is_no_experiment(tmp_path, experiment):
    (experiment / "trials/aaaaa/m_b128_fp32_1.log").write_text(mindspore_log(370.29 * 16, 16))
    found = numbers_of(tmp_path / "logs", profile="dlperf", warmup=0, dialect="mindspore")
    assert (found.summary["unit"], run(found)["throughput"]) == ("samples/s", 5924.64)
    write(tmp_path / "logs", {"1n1g/m_b128_fp32_1.log": mindspore_log(370.29)})
    (analysis,) = analyzed(tmp_path / "logs", dialect="aiperf", precision="fp16")
    assert any("1 file is no known log" in remark for remark in analysis.remarks)


def test_the_precision_is_taken_from_the_operator_where_nothing_else_says_it(tmp_path):
    write(tmp_path, {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29), "1n1g/train.log": mindspore_log(370.29)})
    found = analyzed(tmp_path, precision="fp16", batch=128)
    assert [one.manifest.cases[0].precision for one in found] == ["fp32", "fp16"]


def rank_files(folder, rates, size=None, name="throughput_{}.json"):
    files = {name.format(rank): str(rate) for rank, rate in enumerate(rates)}
    return write(folder, {**files, **({"ranksize.json": str(size)} if size else {})})


def test_a_folder_of_rank_files_is_one_repeat(tmp_path):
    for number, rate in ((1, 800.5), (2, 900.25)):
        rank_files(tmp_path / f"V{number}", [rate] * 16, 16)
        write(tmp_path / f"V{number}", {"accuracy.json": "0.77", "train.log": mindspore_log(100)})
    found = numbers_of(tmp_path)
    (case,) = found.summary["cases"]
    assert (case["case"], [one["throughput"] for one in case["runs"]]) == ("2n8g", [16 * 800.5, 16 * 900.25])
    assert case["accuracy"] == 0.77
    assert any("16 devices are taken as 2n8g" in problem for problem in found.problems)


def test_a_rank_without_its_file_leaves_no_number(tmp_path):
    rank_files(tmp_path / "1n8g/V1", [800.5] * 7, 8)
    assert state(numbers_of(tmp_path))[0] == "no_log" and "of rank 7" in state(numbers_of(tmp_path))[1]


def test_without_its_rank_size_the_path_or_the_operator_says_it(tmp_path):
    rank_files(tmp_path / "1n8g/3", [100] * 8, name="throughput_rank_{}")
    assert run(numbers_of(tmp_path))["throughput"] == 800
    assert state(numbers_of(tmp_path, case=Case(2, 8)))[0] == "no_log"


def test_servers_that_train_alone_are_one_repeat(tmp_path):
    for server in (0, 1):
        rank_files(tmp_path / f"V1/{server}", [100 + server] * 8)
    found = numbers_of(tmp_path)
    assert (found.summary["cases"][0]["case"], run(found)["throughput"]) == ("1n8g", 804)
    assert state(numbers_of(tmp_path, case=Case(2, 8))) == (
        "wrong_world_size",
        "Every server has trained for itself: the throughput is that of one, not of 2n8g.",
    )


def test_files_that_are_only_named_like_those_of_ranks_are_logs_like_others(tmp_path):
    write(tmp_path, {"1n1g/throughput_0.json": '{"a": 1}', "1n1g/a_b128_fp32_1.log": mindspore_log(370.29)})
    assert "throughput_0.json" in "".join(numbers_of(tmp_path).problems)


def test_a_run_of_our_own_is_measured_by_the_logs_of_its_ranks_as_its_report_is(tmp_path):
    run_dir = write_run(tmp_path / "20261118-101500-resnet50", {"1n1g": [0.5, 0.4], "2n1g": [0.5]})
    own = summary_of(run_dir)
    left = {"mllog/1n1g-r1.log": mindspore_log(1), "cases/1n1g/r1/attempt-1/rank-0.log": mindspore_log(2)}
    write(run_dir, {**left, "report.md": mindspore_log(3), "cases/1n1g/r1/slurm.log": mindspore_log(4)})
    found = numbers_of(run_dir)
    assert [case["case"] for case in found.summary["cases"]] == ["1n1g", "2n1g"]
    for case in own["cases"]:
        assert case_of(found, case["case"])["median"] == pytest.approx(case["median"], rel=1e-12)
    (remark,) = found.problems
    assert remark.startswith("20261118-101500-resnet50 is a run of Rackmark: only the logs of the ranks are read")
    assert "playbooks/report.yml -e run_ids=20261118-101500-resnet50" in remark


def test_a_repeat_of_our_own_that_was_cut_short_is_incomplete_here_too(tmp_path):
    run_dir = write_run(tmp_path / "run", {"1n1g": [0.5]})
    log = run_dir / "cases/1n1g/r1/rank-0.log"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-2]))
    assert state(numbers_of(run_dir)) == ("incomplete", "The log ends with step 5, to be measured was up to step 6.")
    assert state(numbers_of(run_dir, warmup=2))[0] == "ok"


def test_a_run_without_the_log_of_any_rank_is_for_its_report(tmp_path):
    run_dir = write_run(tmp_path / "run", {"1n1g": [0.5]})
    (run_dir / "cases/1n1g/r1/rank-0.log").unlink()
    with pytest.raises(ValueError, match=r"playbooks/report\.yml -e run_ids=run says"):
        numbers_of(run_dir)


def test_analyses_among_the_logs_are_left_out(tmp_path):
    logs = write(tmp_path / "logs", {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29)})
    manifest = {"schema": "rackmark.manifest/1", "logs": {"folder": str(logs)}}
    write(logs / "out/logs-mindspore", {"manifest.json": json.dumps(manifest), "report.md": mindspore_log(1)})
    found = numbers_of(logs)
    assert found.summary["cases"][0]["repeats_total"] == 1
    assert "logs-mindspore is an analysis of Rackmark and left out." in found.problems
    with pytest.raises(ValueError, match=rf"give the folder that it was made from, {logs}\.$"):
        numbers_of(logs / "out")


def test_a_name_that_is_no_text_is_left_out_in_words_that_can_be_shown(tmp_path):
    write(tmp_path, {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29), "1n1g/\udcff_b128_fp32_2.log": mindspore_log(1)})
    found = outcome_of(tmp_path)
    assert found.summary["cases"][0]["repeats_total"] == 1
    assert found.problems == [r"1 file is left out for a path that is not UTF-8, such as '\udcff_b128_fp32_2.log'."]


def test_the_olympic_mean_of_the_times_to_train(tmp_path):
    seconds = {0: 100, 1: 110, 2: 104, 3: 250, 4: 300}
    logs = {f"result_{number}.txt": training(each, benchmark="resnet") for number, each in seconds.items()}
    logs["result_4.txt"] = training(300, benchmark="resnet", status="aborted")
    (case,) = numbers_of(write(tmp_path, logs)).summary["cases"]
    assert (case["time_to_train_s"], case["time_to_train_olympic_s"]) == (107, pytest.approx((104 + 110 + 250) / 3))
    (tmp_path / "result_3.txt").unlink()
    found = outcome_of(tmp_path)
    assert found.summary["cases"][0]["time_to_train_olympic_s"] is None
    assert "No olympic mean of 2n4g: the result takes 5 runs, there are 4." in found.table
    assert "time to train, min |" in found.files["report.md"].decode()
