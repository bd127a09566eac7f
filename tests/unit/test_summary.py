from __future__ import annotations

import csv
import io
import json
import statistics

import pytest
from rackmark.files import write_files
from rackmark.formats.summary_files import summary_files
from rackmark.numbers.sentences import problems
from rackmark.report.presentation import details, table
from unit.run_fixture import BATCH, STARTED, break_repeat, event, read_run, summary_of, write_run

CASES = {"1n1g": [0.50, 0.40, 0.44], "2n1g": [0.50, 0.45, 0.48]}


def case_of(summary, name):
    return next(case for case in summary["cases"] if case["case"] == name)


def rates(case, world_size, slowest):
    return [world_size * BATCH / (seconds * slowest) for seconds in CASES[case]]


def test_a_run_in_which_everything_is_ok(tmp_path):
    summary = summary_of(write_run(tmp_path, CASES))
    one, two = rates("1n1g", 1, 1.00), rates("2n1g", 2, 1.01)
    assert (summary["state"], summary["baseline"], summary["device"]) == ("ok", "1n1g", "cpu")
    assert (summary["started"], summary["finished"]) == ("2026-11-18T10:15:00Z", "2026-11-18T10:15:05Z")
    case = case_of(summary, "2n1g")
    assert (case["state"], case["repeats_ok"], case["repeats_total"]) == ("ok", 3, 3)
    assert [run["throughput"] for run in case["runs"]] == pytest.approx(two)
    assert case["median"] == pytest.approx(statistics.median(two))
    assert case["mean"] == pytest.approx(sum(two) / 3)
    assert case["ci95"][0] < min(two) < max(two) < case["ci95"][1]
    assert case["speedup"] == pytest.approx(statistics.median(two) / statistics.median(one))
    assert case["efficiency"] == pytest.approx(case["speedup"] / 2)
    assert case["speedup_ci95"][0] < case["speedup"] < case["speedup_ci95"][1]
    assert list(case["efficiency_ci95"]) == pytest.approx([bound / 2 for bound in case["speedup_ci95"]])
    assert (case["energy_j"], case["samples_per_j"], case["flags"]) == (None, None, [])


def test_the_baseline_is_its_own_measure_without_uncertainty(tmp_path):
    case = case_of(summary_of(write_run(tmp_path, CASES)), "1n1g")
    assert (case["speedup"], case["speedup_ci95"], case["efficiency"]) == (1.0, None, 1.0)


def test_the_keys_are_those_of_the_contract(tmp_path):
    summary = summary_of(write_run(tmp_path, CASES))
    assert summary["schema"] == "rackmark.summary/1"
    assert set(summary) == {
        *("schema", "run_id", "workload", "framework", "unit", "state", "baseline", "scaling", "simulated", "cases"),
        *("device", "started", "finished", "states", "no_baseline_because", "headline"),
    }
    assert set(summary["cases"][0]) == {
        *("case", "nodes", "devices_per_node", "world_size", "batch_per_device", "precision", "state", "repeats_ok"),
        *("repeats_total", "runs", "mean", "median", "ci95", "speedup", "speedup_ci95", "efficiency"),
        *("efficiency_ci95", "energy_j", "samples_per_j", "energy_of", "flags", "whole_median", "no_eval_median"),
        *("loss", "accuracy", "measures", "time_to_train_s", "time_to_train_olympic_s", "time_to_train_scaling"),
        *("step_seconds_p50", "step_seconds_p95", "step_seconds_p99", "rank_spread"),
        *("e2e_s", "device_memory_mb", "device_memory_total_mb"),
    }
    assert set(summary["cases"][0]["runs"][0]) == {
        *("repeat", "time_to_train_scaling", "doubts", "state", "throughput", "whole", "no_eval", "reason", "loss"),
        *("accuracy", "attempts", "attempts_counted", "time_to_train_s", "converged", "energy_j", "samples_per_j"),
        *("energy_of", "measures", "missing"),
        *("began", "e2e_s", "device_memory_mb", "device_memory_total_mb"),
    }


def test_a_failed_repeat_is_in_the_count_and_in_no_number(tmp_path):
    break_repeat(write_run(tmp_path, CASES), "2n1g", 2)
    summary = summary_of(tmp_path)
    good = [rates("2n1g", 2, 1.01)[0], rates("2n1g", 2, 1.01)[2]]
    case = case_of(summary, "2n1g")
    assert (summary["state"], case["state"], case["repeats_ok"], case["repeats_total"]) == ("partial", "partial", 2, 3)
    assert case["median"] == case["mean"] == pytest.approx(sum(good) / 2)
    assert [run["state"] for run in case["runs"]] == ["ok", "timeout", "ok"]
    assert case["runs"][1]["throughput"] is None
    assert case_of(summary, "1n1g")["state"] == "ok"
    (problem,) = problems(summary)
    assert problem.startswith("2n1g repeat 2 is timeout: The job reached its time limit.")


def test_a_case_without_any_ok_repeat_has_no_numbers(tmp_path):
    write_run(tmp_path, CASES)
    for repeat in (1, 2, 3):
        break_repeat(tmp_path, "2n1g", repeat, "NODE_FAIL")
    summary = summary_of(tmp_path)
    case = case_of(summary, "2n1g")
    assert (summary["state"], case["state"]) == ("partial", "failed")
    for number in ("mean", "median", "ci95", "speedup", "speedup_ci95", "efficiency", "efficiency_ci95"):
        assert case[number] is None


def test_a_run_in_which_nothing_is_ok_has_failed(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5], "2n1g": [0.5]})
    break_repeat(tmp_path, "1n1g", 1)
    break_repeat(tmp_path, "2n1g", 1)
    assert summary_of(tmp_path)["state"] == "failed"


def test_a_repeat_whose_folder_is_missing_still_counts(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5]})
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["cases"][0]["repeats"] = 2
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    summary = summary_of(tmp_path)
    assert summary["state"] == "partial"
    assert [run["state"] for run in summary["cases"][0]["runs"]] == ["ok", "launch_failed"]


@pytest.mark.parametrize(
    ("cases", "why"),
    [
        (
            {"2n1g": [0.5, 0.5], "4n1g": [0.5, 0.5]},
            "the run has no case with one device and names no other as baseline",
        ),
        ({"1n1g": [0.5], "2n1g": [0.5, 0.5]}, "no repeat of 1n1g is ok"),
    ],
)
def test_without_a_baseline_there_is_no_speedup_and_a_sentence_says_why(tmp_path, cases, why):
    write_run(tmp_path, cases)
    if "1n1g" in cases:
        break_repeat(tmp_path, "1n1g", 1)
    summary = summary_of(tmp_path)
    assert summary["baseline"] is None
    case = case_of(summary, "2n1g")
    assert case["median"] is not None
    for number in ("speedup", "speedup_ci95", "efficiency", "efficiency_ci95"):
        assert case[number] is None
    assert f"No speedup and no efficiency: {why}, so there is nothing to compare with." in table(summary)


def test_more_than_the_devices_can_give_is_flagged(tmp_path):
    summary = summary_of(write_run(tmp_path, {"1n1g": [0.5, 0.5], "2n1g": [0.45, 0.45], "4n1g": [0.5, 0.5]}))
    assert case_of(summary, "2n1g")["efficiency"] == pytest.approx(0.5 / 0.45 / 1.01)
    assert [case["flags"] for case in summary["cases"]] == [[], ["efficiency over 105 %"], []]
    assert summary["state"] == "ok"
    assert problems(summary) == ["2n1g has an efficiency over 105 %: check the repeats of 1n1g before quoting it."]


def test_an_outlier_is_named_and_stays_in_every_number(tmp_path):
    seconds = [0.500, 0.501, 0.600, 0.499, 0.502]
    summary = summary_of(write_run(tmp_path, {"1n1g": seconds}))
    case = case_of(summary, "1n1g")
    assert case["flags"] == ["repeat 3 is an outlier: 16.5 % below the median"]
    assert problems(summary) == ["1n1g repeat 3 is an outlier: 16.5 % below the median."]
    assert (summary["state"], case["repeats_ok"]) == ("ok", 5)
    assert case["mean"] == pytest.approx(statistics.fmean(BATCH / each for each in seconds))
    assert case["ci95"] == pytest.approx((BATCH / 0.600, BATCH / 0.499))


def test_an_outlier_is_counted_among_the_repeats_that_are_ok(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5, 0.5, 0.5, 0.5, 0.4, 0.5]})
    break_repeat(tmp_path, "1n1g", 2)
    assert case_of(summary_of(tmp_path), "1n1g")["flags"] == ["repeat 5 is an outlier: 25.0 % above the median"]


def test_a_target_that_was_missed_is_flagged_and_its_other_numbers_count(tmp_path):
    target = {"measure": "target", "target": "accuracy >= 0.72"}
    summary = summary_of(write_run(tmp_path, {"1n1g": [0.5, 0.5]}, **target))
    case = case_of(summary, "1n1g")
    assert case["flags"] == ["did not reach its target accuracy >= 0.72 in repeats 1 and 2 (converged: false)"]
    assert [each["converged"] for each in case["runs"]] == [False, False]
    assert (case["state"], case["median"], case["time_to_train_s"]) == ("ok", pytest.approx(BATCH / 0.5), None)
    headings, (row,) = details(summary)
    assert row[headings.index("reached its target")] == "0/2"


def test_files_hold_the_unrounded_numbers(tmp_path):
    write_run(tmp_path, CASES)
    break_repeat(tmp_path, "2n1g", 2)
    run = read_run(tmp_path)
    summary = run.summary
    files = summary_files(summary, run.judged)
    write_files(tmp_path, files)

    written = json.loads((tmp_path / "summary.json").read_text())
    assert written == json.loads(json.dumps(summary))
    result = json.loads((tmp_path / "cases/2n1g/r1/result.json").read_text())
    assert result["throughput"] == case_of(written, "2n1g")["runs"][0]["throughput"] == run.judged[3].result.throughput
    assert json.loads((tmp_path / "cases/2n1g/r2/result.json").read_text())["state"] == "timeout"

    rows = list(csv.DictReader(io.StringIO((tmp_path / "summary.csv").read_text())))
    assert [row["case"] for row in rows] == ["1n1g", "2n1g"]
    assert float(rows[1]["median"]) == case_of(summary, "2n1g")["median"]
    assert float(rows[1]["ci95_high"]) == case_of(summary, "2n1g")["ci95"][1]
    assert (rows[0]["speedup_ci95_low"], rows[1]["energy_j"], rows[1]["baseline"]) == ("", "", "1n1g")


def test_efficiency_over_a_baseline_of_several_devices_counts_its_devices(tmp_path):
    write_run(tmp_path, {"2n1g": [0.5, 0.5], "4n1g": [0.6, 0.6], "1n1g": [0.4, 0.4]}, baseline="2n1g")
    summary = summary_of(tmp_path)
    two, four, one = 2 * BATCH / (0.5 * 1.01), 4 * BATCH / (0.6 * 1.03), BATCH / 0.4
    assert summary["baseline"] == "2n1g"
    assert case_of(summary, "4n1g")["speedup"] == pytest.approx(four / two)
    assert case_of(summary, "4n1g")["efficiency"] == pytest.approx(four / two / 2)
    assert list(case_of(summary, "4n1g")["efficiency_ci95"]) == pytest.approx([four / two / 2] * 2)
    assert (case_of(summary, "2n1g")["speedup"], case_of(summary, "2n1g")["efficiency"]) == (1.0, 1.0)
    assert case_of(summary, "1n1g")["efficiency"] == pytest.approx(one / two * 2)
    assert case_of(summary, "1n1g")["flags"] == ["efficiency over 105 %"]


def test_a_named_baseline_that_is_not_ok_is_replaced_by_no_other(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5], "2n1g": [0.5], "4n1g": [0.5]}, baseline="2n1g")
    break_repeat(tmp_path, "2n1g", 1)
    summary = summary_of(tmp_path)
    assert summary["baseline"] is None
    assert "No speedup and no efficiency: no repeat of 2n1g is ok, so there is nothing to compare with." in table(
        summary
    )


def test_strong_scaling_compares_throughput_though_the_batches_differ(tmp_path):
    write_run(tmp_path, {"1n1g": [1.0], "2n1g": [0.5]}, scaling="strong")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["cases"][1]["batch_per_device"] = BATCH // 2
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for log in tmp_path.glob("cases/2n1g/r1/rank-*.log"):
        text = log.read_text().replace(f'"batch": {BATCH}', f'"batch": {BATCH // 2}')
        log.write_text(text.replace(f'"samples": {BATCH}', f'"samples": {BATCH // 2}'))
    summary = summary_of(tmp_path)
    assert summary["scaling"] == "strong"
    assert case_of(summary, "2n1g")["speedup"] == pytest.approx((BATCH / (0.5 * 1.01)) / (BATCH / 1.0))


def test_three_views_of_the_throughput_and_the_accuracy(tmp_path):
    """Two warm-up steps of 3 x 0.5 s, four of 0.5 s, an evaluation of 2 s: 48 samples in 5 s and in 7 s."""
    write_run(tmp_path, {"1n1g": [0.5, 0.5, 0.5]})
    for repeat, accuracy in ((1, 0.25), (2, 0.75), (3, 0.5)):
        log = tmp_path / f"cases/1n1g/r{repeat}/rank-0.log"
        facts = {"step": 6, "seconds": 2.0, "images": 100, "accuracy": accuracy, "loss": 1.5}
        *lines, end = log.read_text().splitlines()
        evaluation = event("eval", STARTED + 7, **facts)
        log.write_text("\n".join([*lines, evaluation, end.replace(f"{STARTED + 5}", f"{STARTED + 7}")]) + "\n")
    case = case_of(summary_of(tmp_path), "1n1g")
    assert case["median"] == pytest.approx(4 * BATCH / 2)
    assert case["whole_median"] == pytest.approx(6 * BATCH / 7)
    assert case["no_eval_median"] == pytest.approx(6 * BATCH / 5)
    assert case["accuracy"] == 0.5
    assert [run["accuracy"] for run in case["runs"]] == [0.25, 0.75, 0.5]


def test_what_no_log_says_is_null(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5]})
    log = tmp_path / "cases/1n1g/r1/rank-0.log"
    log.write_text(
        "\n".join(line.split(', "loss"')[0] + "}" * (', "loss"' in line) for line in log.read_text().split("\n"))
    )
    case = case_of(summary_of(tmp_path), "1n1g")
    assert case["state"] == "ok"
    assert (case["loss"], case["accuracy"], case["rank_spread"]) == (None, None, None)


def test_steps_ranks_and_loss_of_a_case(tmp_path):
    """Rank r takes 1 + r/100 times as long; the last of 6 steps has the loss 7/6."""
    case = case_of(summary_of(write_run(tmp_path, {"4n1g": [0.50, 0.40, 0.60]})), "4n1g")
    measured = sorted(seconds * (1 + rank / 100) for seconds in (0.5, 0.4, 0.6) for rank in range(4) for _ in range(4))
    assert case["step_seconds_p50"] == pytest.approx(statistics.median(measured))
    cuts = statistics.quantiles(measured, n=100, method="inclusive")
    assert case["step_seconds_p95"] == pytest.approx(cuts[94])
    assert case["step_seconds_p99"] == pytest.approx(cuts[98])
    assert case["rank_spread"] == pytest.approx(1.03)
    assert case["loss"] == pytest.approx(7 / 6)
