from __future__ import annotations

import csv
import io
import json
import statistics

import pytest
from rackmark.files import changed_files, write_files
from rackmark.manifest import read_manifest
from rackmark.presentation import MISSING, problems, quantity, table
from rackmark.summary import judge_run, summarize, summary_files
from unit.run_fixture import BATCH, write_job, write_run

CASES = {"1n1g": [0.50, 0.40, 0.44], "2n1g": [0.50, 0.45, 0.48]}


def summary_of(run_dir):
    manifest = read_manifest(run_dir)
    return summarize(manifest, judge_run(run_dir, manifest))


def case_of(summary, name):
    return next(case for case in summary["cases"] if case["case"] == name)


def break_repeat(run_dir, case, repeat, state="TIMEOUT"):
    write_job(run_dir / "cases" / case / f"r{repeat}", state)


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
        *("device", "started", "finished"),
    }
    assert set(summary["cases"][0]) == {
        *("case", "nodes", "devices_per_node", "world_size", "batch_per_device", "precision", "state", "repeats_ok"),
        *("repeats_total", "runs", "mean", "median", "ci95", "speedup", "speedup_ci95", "efficiency"),
        *("efficiency_ci95", "energy_j", "samples_per_j", "flags"),
    }
    assert set(summary["cases"][0]["runs"][0]) == {"repeat", "state", "throughput", "whole", "no_eval", "reason"}


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
        ({"2n1g": [0.5, 0.5], "4n1g": [0.5, 0.5]}, "the run has no case with one device"),
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


def test_the_table_is_aligned_and_shows_a_missing_number_as_a_dash(tmp_path):
    write_run(tmp_path, {"1n1g": [0.50, 0.40], "2n1g": [0.50], "4n1g": [0.5]})
    break_repeat(tmp_path, "4n1g", 1)
    lines = table(summary_of(tmp_path)).splitlines()
    heading, *rows = lines[:4]
    assert heading.split("  ")[0] == "case" and "samples/s" in heading
    cells = [[cell.strip() for cell in row.split("  ") if cell.strip()] for row in rows]
    assert cells[0][:5] == ["1n1g", "1", "8", "2/2", "18.00"]
    assert cells[0][6:] == ["1.00", "100.0 %", "ok"]
    assert cells[1] == ["2n1g", "2", "8", "1/1", "31.68", MISSING, "1.76", "88.0 %", "ok"]
    assert cells[2] == ["4n1g", "4", "8", "0/1", MISSING, MISSING, MISSING, MISSING, "failed"]
    for heading_word, cell in [("ranks", "4"), ("efficiency", "88.0 %")]:
        row = next(row for row in rows if f" {cell} " in row)
        assert heading.index(heading_word) + len(heading_word) == row.index(f" {cell} ") + 1 + len(cell)
    assert lines[4:] == [
        "No samples/s for 4n1g: no repeat is ok.",
        "No 95 % interval for 2n1g: it takes at least two repeats that are ok.",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12411.97, "12,412"),
        (1386.04, "1,386.0"),
        (147.25, "147.2"),
        (38.461, "38.46"),
        (0.51234, "0.512"),
        (-3.0, "-3.000"),
    ],
)
def test_quantities_are_rounded_to_digits_that_count(value, text):
    assert quantity(value) == text


def test_files_hold_the_unrounded_numbers(tmp_path):
    write_run(tmp_path, CASES)
    break_repeat(tmp_path, "2n1g", 2)
    manifest = read_manifest(tmp_path)
    results = judge_run(tmp_path, manifest)
    summary = summarize(manifest, results)
    files = summary_files(summary, results)
    write_files(tmp_path, files)

    written = json.loads((tmp_path / "summary.json").read_text())
    assert written == json.loads(json.dumps(summary))
    result = json.loads((tmp_path / "cases/2n1g/r1/result.json").read_text())
    assert result["throughput"] == case_of(written, "2n1g")["runs"][0]["throughput"] == results[3].throughput
    assert json.loads((tmp_path / "cases/2n1g/r2/result.json").read_text())["state"] == "timeout"

    rows = list(csv.DictReader(io.StringIO((tmp_path / "summary.csv").read_text())))
    assert [row["case"] for row in rows] == ["1n1g", "2n1g"]
    assert float(rows[1]["median"]) == case_of(summary, "2n1g")["median"]
    assert float(rows[1]["ci95_high"]) == case_of(summary, "2n1g")["ci95"][1]
    assert (rows[0]["speedup_ci95_low"], rows[1]["energy_j"], rows[1]["baseline"]) == ("", "", "1n1g")


def test_files_that_are_as_they_should_be_are_left_alone(tmp_path):
    files = {"a/b.json": b"1", "c.txt": b"2"}
    assert changed_files(tmp_path, files) == [tmp_path / "a/b.json", tmp_path / "c.txt"]
    write_files(tmp_path, files)
    assert changed_files(tmp_path, files) == []
    before = (tmp_path / "c.txt").stat().st_ino
    write_files(tmp_path, {**files, "a/b.json": b"3"})
    assert (tmp_path / "a/b.json").read_bytes() == b"3"
    assert (tmp_path / "c.txt").stat().st_ino == before
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["b.json", "c.txt"]


def remove(manifest, key):
    del manifest[key]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda m: remove(m, "warmup"), "lacks warmup."),
        (lambda m: remove(m["cases"][0], "precision"), "Entry 1 of cases in"),
        (lambda m: m.update(steps="8"), "has steps='8', which is not of type int."),
        (lambda m: m.update(schema="other/1"), "does not have the schema 'rackmark.manifest/1'."),
        (lambda m: m.update(cases=[]), "lists no cases."),
        (lambda m: m["cases"].append(m["cases"][0]), "lists 1n1g more than once."),
        (lambda m: m["cases"][0].update(world_size=2), "contradicts itself: 1n1g is not 1 nodes"),
        (lambda m: m["cases"][0].update(repeats=0), "asks for 0 repeats of 1n1g"),
        (lambda m: m.update(dialect="klingon"), "There is no log dialect 'klingon'"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused_with_the_reason(tmp_path, damage, sentence):
    path = write_run(tmp_path, {"1n1g": [0.5]}) / "manifest.json"
    manifest = json.loads(path.read_text())
    damage(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError) as error:
        summary_of(tmp_path)
    assert sentence in str(error.value)


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with pytest.raises(ValueError, match=r"is not the folder of a run: it has no manifest\.json\.$"):
        read_manifest(tmp_path)
