"""Suites: what a list of runs may say, FlagPerf's strings of several models, the record, and the page."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from rackmark.numbers.words import MISSING, factor, quantity
from rackmark.report.suite_report import problems, reported_runs, rows, state_of, suite_files, terminal_table
from rackmark.run.suite import (
    RECORD,
    Suite,
    SuiteRun,
    begun,
    read_record,
    record_text,
    runs_of_cases,
    suite_runs,
    without_unbegun,
)
from rackmark.run.workload import Model
from rackmark.run.workload_folder import models
from rackmark.run.yaml_file import lines_of, read_yaml
from unit.run_fixture import break_repeat, summary_of, write_run

ROOT = Path(__file__).parents[2]
COMMON = SuiteRun("", asked={"preset": "lab", "nodes": "4", "cases": ""}, settings={"seed": 1}, flags=["--fast"])


def test_a_run_has_what_its_entry_says_and_else_what_the_command_line_says_for_all():
    first, second = suite_runs(
        [
            {"workload": "resnet50", "framework": "mindspore", "cases": ["1n1g", "2n8g"], "repeats": 3},
            {"workload": "/w/bert", "preset": "full", "settings": {"layers": 2}, "flags": ["--x"], "image": "bert:1"},
        ],
        COMMON,
        "nightly.yml",
    )
    assert (first.workload, first.asked["framework"], first.asked["preset"]) == ("resnet50", "mindspore", "lab")
    assert (first.asked["cases"], first.asked["nodes"], first.asked["repeats"]) == ("1n1g,2n8g", "", "3")
    assert (first.settings, first.flags, first.image) == ({"seed": 1}, ("--fast",), "")
    assert (second.asked["preset"], second.asked["nodes"]) == ("full", "4")
    assert (second.settings, second.flags, second.image) == ({"seed": 1, "layers": 2}, ("--fast", "--x"), "bert:1")


def test_everything_wrong_with_a_suite_is_told_at_once():
    with pytest.raises(ValueError) as error:
        suite_runs([{"framwork": "x"}, {"workload": "a", "repeats": {}}, "resnet50"], COMMON, "nightly.yml")
    said = str(error.value).splitlines()
    assert said[0] == "nightly.yml: [1].workload is missing: give a text."
    assert said[1].startswith("nightly.yml: [1].framwork is not a key: did you mean framework?")
    assert said[2] == "nightly.yml: [2].repeats={} is not a single text or whole number."
    assert said[3] == "nightly.yml: [3] is not a mapping of names to values."
    for nothing in ([], {"runs": []}, "resnet50", None):
        with pytest.raises(ValueError, match=r"nightly\.yml is not a list of runs: begin each with '- workload"):
            suite_runs(nothing, COMMON, "nightly.yml")


def test_strings_of_flagperf_become_a_run_for_each_model_and_framework():
    known = models(ROOT / "workloads")
    assert known["resnet50"] == known["ResNet50"] == Model("resnet50", "")
    assert known["mobilenetv2"] == Model("mobilenetv2", "")
    texts = ["ResNet50:pytorch_2.0:A100:1:8:3", "bert:pytorch:A100:1:8:1", "resnet50:pytorch:A100:2:8:3"]
    texts.append("resnet50:mindspore:A100:1:8:1")
    resnet, bert, mindspore = runs_of_cases(",".join(texts), {**known, "bert": Model("bert", "")}, COMMON)
    assert (resnet.workload, resnet.asked["framework"], resnet.asked["nodes"]) == ("resnet50", "pytorch", "")
    assert resnet.asked["cases"] == f"{texts[0]},{texts[2]}"
    assert (bert.workload, bert.asked["cases"]) == ("bert", texts[1])
    assert (mindspore.asked["framework"], mindspore.asked["preset"]) == ("mindspore", "lab")


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        ("1n1g", "cases=1n1g names no model: write <model>:<framework>:"),
        ("resnet5:pytorch:A100:1:8:1", "There is no workload for the model 'resnet5': did you mean resnet50"),
        ("a:b", "'a:b' is not a case"),
    ],
)
def test_a_case_string_without_a_known_model_is_refused(cases, sentence):
    with pytest.raises(ValueError, match=sentence):
        runs_of_cases(cases, models(ROOT / "workloads"), COMMON)


def test_a_suite_is_resumed_from_its_record(tmp_path):
    suite = Suite("20261118-101500-nightly", "2026-11-18T10:15:00Z", "slurm", [replace(COMMON, run_id="r1"), COMMON])
    (tmp_path / suite.suite_id).mkdir()
    (tmp_path / suite.suite_id / RECORD).write_text(record_text(suite))
    assert json.dumps(asdict(read_record(tmp_path, suite.suite_id))) == json.dumps(asdict(suite))
    with pytest.raises(ValueError, match=r"suite_id=other is not a suite in .*: the newest are 20261118-101500-nigh"):
        read_record(tmp_path, "other")
    (tmp_path / "runs/r1").mkdir(parents=True)
    assert [run.run_id for run in without_unbegun(suite, tmp_path / "runs").runs] == ["", ""]
    (tmp_path / "runs/r1/manifest.json").touch()
    assert without_unbegun(suite, tmp_path / "runs") == suite
    assert [run.run_id for run in begun(suite, 1, "r2").runs] == ["r1", "r2"]
    (tmp_path / suite.suite_id / RECORD).write_text("{}")
    with pytest.raises(ValueError, match=r"record\.json is not the record of a suite\."):
        read_record(tmp_path, suite.suite_id)


@pytest.fixture
def suite(tmp_path):
    """Two runs that were collected, of which one is partial, and one that was not begun."""
    runs = {"one": {"1n1g": [0.5, 0.51], "2n1g": [0.5, 0.52]}, "two": {"1n1g": [0.4, 0.41]}}
    for name, cases in runs.items():
        folder = write_run(tmp_path / "runs" / name, cases, run_id=name, framework=name)
        if name == "two":
            break_repeat(folder, "1n1g", 2)
        (folder / "summary.json").write_text(json.dumps(summary_of(folder)))
    made = [SuiteRun("resnet50", run_id=name) for name in runs]
    return Suite("s", "2026-11-18T10:15:00Z", "slurm", [*made, SuiteRun("/w/bert", {"framework": "jax"})])


def reported(suite, tmp_path):
    return reported_runs(suite, tmp_path / "runs", tmp_path / "suites" / "s")


def test_the_page_has_a_row_for_every_case_and_leads_to_the_reports(suite, tmp_path):
    runs = reported(suite, tmp_path)
    found = rows(runs)
    assert [(row[0], row[1], row[2], row[-1]) for row in found] == [
        ("resnet50 one", "1n1g", "2/2", "ok"),
        ("", "2n1g", "2/2", "ok"),
        ("resnet50 two", "1n1g", "1/2", "partial"),
        ("bert jax", MISSING, MISSING, "failed"),
    ]
    case = runs[0].summary["cases"][1]
    assert found[1][3:6] == ("throughput", quantity(case["median"]), "samples/s")
    assert found[1][7] == factor(case["speedup"])
    assert state_of(runs) == "partial"
    assert problems(runs) == ["resnet50 two (two) is partial.", "bert jax has no result."]
    files = suite_files(suite, runs, ROOT / "reports/templates")
    html, text = files["index.html"].decode(), files["index.md"].decode()
    for link in ("../../runs/one/report.html", "../../runs/two/report.html"):
        assert f'<a href="{link}">' in html
        assert f"({link})" in text
    assert "partial: 3 runs, 3 cases, 5 of 6 repeats ok" in html
    assert len(terminal_table(runs)) == 5


def test_the_page_has_the_table_of_a_flagperf_readme_for_every_run_with_a_result(suite, tmp_path):
    files = suite_files(suite, reported(suite, tmp_path), ROOT / "reports/templates")
    html, text = files["index.html"].decode(), files["index.md"].decode()
    assert html.count("<h3>") == 2 and "<h3>resnet50 one</h3>" in html
    header = r"| configuration | precision | fix\_hp | e2e\_time | p\_whole | p\_train | p\_core | metric | mem | MFU |"
    assert text.count(header) == 2
    assert "\n| CPU 1x1 | fp32 | / | n/a (1) | " in text
    assert "(1) The job left no record of its begin and end." in text and "(1) The job left" in html


def test_suite_json_has_the_unrounded_numbers(suite, tmp_path):
    data = json.loads(suite_files(suite, reported(suite, tmp_path), ROOT / "reports/templates")["suite.json"])
    one, two, none = data["runs"]
    assert (data["schema"], data["suite_id"], data["state"]) == ("rackmark.suite/1", "s", "partial")
    summary = json.loads((tmp_path / "runs/one/summary.json").read_text())
    assert [case["median"] for case in one["cases"]] == [case["median"] for case in summary["cases"]]
    assert (two["state"], two["framework"], two["headline"]) == ("partial", "two", "throughput")
    assert (none["run_id"], none["state"], none["cases"]) == ("", None, [])


@pytest.mark.parametrize(
    ("states", "state"), [(["ok", "ok"], "ok"), (["ok", None], "partial"), (["failed", None], "failed")]
)
def test_a_suite_is_ok_where_all_runs_are(suite, tmp_path, states, state):
    (run, *_) = reported(suite, tmp_path)
    summaries = [None if each is None else {**run.summary, "state": each} for each in states]
    assert state_of([replace(run, summary=summary) for summary in summaries]) == state


def test_what_is_wrong_with_an_entry_is_told_with_the_line_that_it_stands_in(tmp_path):
    path = tmp_path / "nightly.yml"
    path.write_text("- workload: a\n\n- workload: b\n  framwork: x\n- cases: 1n1g\n")
    with pytest.raises(ValueError) as error:
        suite_runs(read_yaml(path), COMMON, "nightly.yml", partial(lines_of, path))
    assert [line.split(" is ")[0] for line in str(error.value).splitlines()] == [
        "nightly.yml, line 4: [2].framwork",
        "nightly.yml, line 5: [3].workload",
    ]
