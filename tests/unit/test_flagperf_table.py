"""The table of a FlagPerf README, made of the summary of a run and of what was asked for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rackmark.numbers.summary import summarize
from rackmark.numbers.words import interval, percent, quantity
from rackmark.report.flagperf_table import HEADINGS, fix_hp, flagperf_table
from rackmark.report.method import simulated
from unit.run_fixture import STARTED, break_repeat, read_run, write_run

CASES = {"1n1g": [0.5, 0.51], "1n8g": [0.52, 0.53], "2n8g": [0.55]}


def write_ends(run_dir, seconds):
    for folder in run_dir.glob("cases/*/r*"):
        end = {"state": "ok", "started": STARTED, "ended": STARTED + seconds}
        (folder / "end.json").write_text(json.dumps(end))


def table_of(run_dir, changes=None, **asked):
    """`changes` are of the results of all repeats."""
    run = read_run(run_dir)
    judged = [replace(one, result=replace(one.result, **(changes or {}))) for one in run.judged]
    summary = {**summarize(run.manifest, judged, run.measured), "device": asked.get("device", run.manifest.device)}
    manifest = {**json.loads((run_dir / "manifest.json").read_text()), **asked}
    table = flagperf_table(summary, manifest)
    return summary, table, [dict(zip(HEADINGS, row, strict=True)) for row in table.rows]


def reason(table, cell):
    number = cell.removeprefix("n/a ")
    assert number != cell
    (found,) = [note for note in table.notes if note.startswith(f"{number} ")]
    return found.removeprefix(f"{number} ")


def test_every_case_has_a_row_with_their_numbers_and_ours(tmp_path):
    run_dir = write_run(tmp_path, CASES)
    write_ends(run_dir, 130.5)
    made = {"device_memory_mb": 36352, "device_memory_total_mb": 40960, "accuracy": 0.74283}
    rates = {"throughput": 120.0, "no_eval": 110.0, "whole": 100.0, "loss": 2.0, "measures": {"throughput": 120.0}}
    cases = "ResNet50:pytorch:A100:1:1:2,ResNet50:pytorch:A100:1:8:2"
    asked = {"asked": {"cases": cases, "batch": "64"}, "target": "accuracy >= 0.72"}
    summary, table, rows = table_of(run_dir, {**made, **rates}, device="cuda", hardware="A100", **asked)
    assert (table.model, table.unit) == ("ResNet50 pytorch", "samples/s")
    assert [row["configuration"] for row in rows] == ["A100 1x1", "A100 1x8", "A100 2x8"]
    first, second, third = rows
    assert (first["precision"], first["fix_hp"], first["e2e_time"]) == ("fp32", "bs=64", quantity(130.5))
    assert [first[name] for name in ("p_whole", "p_train", "p_core")] == ["100.0", "110.0", "120.0"]
    assert (first["metric"], first["mem"]) == ("accuracy 0.7428/0.72", "35.5/40")
    case = summary["cases"][1]
    assert second["95 % interval"] == interval(case["ci95"])
    assert (second["speedup"], second["efficiency"]) == ("1.00", percent(case["efficiency"]))
    assert reason(table, third["95 % interval"]) == "An interval takes two repeats that are alike."
    assert reason(table, first["MFU"]) == "The workload states no MFU."


def test_what_was_not_measured_is_never_a_number(tmp_path):
    run_dir = write_run(tmp_path, {"1n8g": [0.5], "2n8g": [0.5]})
    break_repeat(run_dir, "2n8g", 1)
    missing = {"mfu_flagperf": "No peak is known.", "whole": "No clock."}
    summary, table, (ok, failed) = table_of(run_dir, {"missing": missing, "whole": None, "loss": None})
    assert (ok["configuration"], ok["fix_hp"], ok["p_core"]) == (
        "CPU 1x8",
        "/",
        quantity(summary["cases"][0]["median"]),
    )
    assert {name: reason(table, ok[name]) for name in ("e2e_time", "p_whole", "mem", "MFU", "metric", "speedup")} == {
        "e2e_time": "The job left no record of its begin and end.",
        "p_whole": "No clock.",
        "mem": "It trained on processors, and the memory of a host is not that of a device.",
        "MFU": "No peak is known.",
        "metric": "Its logs tell neither an accuracy nor a loss.",
        "speedup": f"There is nothing to compare with: {summary['no_baseline_because']}.",
    }
    assert (failed["configuration"], failed["precision"]) == ("CPU 2x8", "fp32")
    assert {reason(table, failed[name]) for name in HEADINGS[3:]} == {"No repeat of 2n8g is ok."}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"device_memory_mb": 2048.0}, "What a device has in all is not known; 2.0 GiB were in use."),
        ({"missing": {"device_memory_mb": "NVML says: no."}}, "NVML says: no."),
        ({}, "No telemetry tells the memory of the devices."),
    ],
)
def test_memory_of_devices_that_is_not_known_has_a_reason(tmp_path, changes, sentence):
    _, table, (row,) = table_of(write_run(tmp_path, {"1n1g": [0.5]}), changes, device="cuda")
    assert reason(table, row["mem"]) == sentence


def test_what_makes_numbers_doubtful_stands_below_them(tmp_path):
    run_dir = write_run(tmp_path, {"1n1g": [0.5], "1n2g": [0.1]}, simulated=["nodes"])
    _, table, _ = table_of(run_dir)
    assert table.notes[-2:] == ["CPU 1x2: efficiency over 105 %.", simulated({"simulated": ["nodes"]})]


def test_the_hardware_of_a_case_string_is_not_believed_of_processors(tmp_path):
    _, _, (row,) = table_of(write_run(tmp_path, {"1n1g": [0.5]}), hardware="A100")
    assert row["configuration"] == "CPU 1x1"


@pytest.mark.parametrize(("unit", "value", "told"), [("%", 47.98, "48.0%"), ("of the peak", 0.4798, "48.0%")])
def test_mfu_is_in_percent_whoever_states_it(tmp_path, unit, value, told):
    summary = read_run(write_run(tmp_path, {"1n1g": [0.5]})).summary
    summary["cases"][0]["measures"]["mfu_flagperf"] = {"unit": unit, "median": value}
    (row,) = flagperf_table(summary, {}).rows
    assert row[HEADINGS.index("MFU")] == told


@pytest.mark.parametrize(
    ("asked", "settings", "told"),
    [
        ({"cases": "1n1g", "batch": "", "preset": ""}, {}, "/"),
        ({"batch": "20"}, {"learning_rate": 5e-05}, "bs=20, learning_rate=5e-05"),
        ({"preset": "lab", "precision": "bf16"}, {}, "preset=lab, precision=bf16"),
    ],
)
def test_fix_hp_has_what_was_asked_for(asked, settings, told):
    assert fix_hp({"asked": asked, "conditions": {"benchmark_settings": settings}}) == told
