"""AIPerf's files in the folder of an experiment, made of a search's history and our telemetry."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path

import pytest
from rackmark.aiperf.result import read_result
from rackmark.formats.aiperf_tree import write_tree
from unit.automl_experiment import BEGAN, Search, write_json
from unit.test_aiperf_flops import GRAPH

TEMPLATES = Path(__file__).parents[2] / "reports/templates"
COLUMNS = ["utilisation", "memory_mb"]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "r1/experiment"


@pytest.fixture
def search(folder):
    search = Search(folder, workers=2, duration=100)
    search.trial(0, [0.3, 0.6, 0.7], epoch=30)
    search.trial(1, [0.5, 0.71], epoch=45, father=0)
    search.trial(0, state="crashed", reason="<b>a bad\nword</b>", father=1)
    return search


def write(folder, state="ok", reason=None, **options):
    return write_tree(folder.parent, read_result(folder), state, reason, TEMPLATES, **options)


def results(folder):
    return sorted(path.name for path in (folder / "results").iterdir())


def telemetry(folder, node="node1", samples=(), head=()):
    lines = [{"schema": "rackmark.telemetry/1", "memory_mb": 1000, "device_columns": COLUMNS, **dict(head)}, *samples]
    (folder.parent / f"telemetry-{node}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def sample(second, **more):
    read = {"cpu": 50.0 + second, "cores": [second, 100.0], "memory_mb": 250.5, "devices": [[97.2, 4053]]}
    return {"ms": (BEGAN + second) * 1000, "mono": second, "net": [second * 1000, second * 500], **read, **more}


def device_info(folder, node="node1"):
    path = folder / "device_info" / node
    return {file.name: file.read_text().splitlines() for file in path.iterdir()} if path.is_dir() else None


def test_results_of_a_test_that_succeeded(folder, search):
    changed, remarks = write(folder)
    assert remarks == []
    assert {str(Path(path).relative_to(folder)) for path in changed} == {
        *("train_time", "graph.txt", "log/nnimanager.log", "log/dispatcher.log"),
        *("results/results.txt", "results/Report_Succeed.html"),
    }
    final = read_result(folder).score.final
    lines = (folder / "results/results.txt").read_text().splitlines()
    assert lines[1:3] == [
        f"Final Score : {float(f'{final.gflops:.1f}')} GFLOPS",
        f"Final Regulated Score : {float(f'{final.regulated:.1f}')} GFLOPS",
    ]
    assert lines[4].split() == ["Time(min)", "Error(%)", "Score", "Regulated", "Score"]
    assert lines[6].split()[:2] == ["0.50", "70.00"]  # half a minute, one epoch


def test_the_report_needs_nothing_but_itself_and_has_three_pictures(folder, search):
    write(folder)
    page = (folder / "results/Report_Succeed.html").read_text()
    pictures = re.findall(r'src="([^"]{30})', page)
    assert len(pictures) == 3
    assert all(picture.startswith("data:image/png;base64,") for picture in pictures)
    found = re.findall(r"base64,([^\"]+)", page)
    assert len({base64.b64decode(picture) for picture in found}) == 3
    assert "test succeeded" in page and "Failed" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)


def test_a_test_that_failed_says_so_in_aiperfs_words_and_in_ours(folder):
    Search(folder, duration=40).trial(0, [0.3, 0.5], epoch=20)
    write(folder, "rule_failed", "The rule accuracy >= 70 does not hold: accuracy is 50.")
    assert results(folder) == ["Report_Failed.html", "results.txt"]
    said = [
        "!!! Test failed due to low accuracy !!!",
        "!!! Test failed without running enough time !!!",
        "The best accuracy is 50.00 %, lab asks for at least 70 %.",
        "The running time is 40.00 s, lab asks for at least 90 s.",
        "The rule accuracy >= 70 does not hold: accuracy is 50.",
    ]
    assert (folder / "results/results.txt").read_text().splitlines()[1:6] == said
    page = (folder / "results/Report_Failed.html").read_text()
    assert [sentence in page.replace("&gt;", ">") for sentence in said] == [True] * 5


def test_a_search_without_a_score_has_a_report_with_the_reason(folder):
    Search(folder).trial(0, state="oom")
    write(folder, "no_data", "There is no score. No epoch has ended.")
    page = (folder / "results/Report_Failed.html").read_text()
    assert "There is no score. No epoch has ended." in page
    assert "not known" in page and "<img" not in page
    assert not (folder / "train_time").exists()


def test_what_workers_wrote_is_shown_and_not_obeyed(folder, search):
    record = json.loads((folder / "experiment.json").read_text())
    record["dataset"]["name"] = "<script>alert(1)</script>\x1b[31m"
    write_json(folder / "experiment.json", record)
    write(folder)
    page = (folder / "results/Report_Succeed.html").read_text()
    assert "<script>" not in page and "&lt;script&gt;" in page and "\x1b" not in page
    log = (folder / "log/dispatcher.log").read_text()
    assert "trial 00002 crashed, 0 epochs, no accuracy: <b>a bad\\nword</b>" in log


def test_graphs_and_logs_are_those_of_the_history(folder, search):
    write(folder)
    lines = (folder / "graph.txt").read_text().splitlines()
    entries = [dict(part.split("=", 1) for part in line.split("+")) for line in lines]
    assert [json.loads(entry["json_out"]) for entry in entries] == [GRAPH] * 3
    assert [(entry.get("father_id"), entry["parameter_id"], entry["history"]) for entry in entries] == [
        (None, "0", "False"),
        ("0", "1", "True"),
        ("1", "2", "True"),
    ]
    assert (folder / "train_time").read_text() == "90.000\n"
    assert (folder / "log/nnimanager.log").read_text().splitlines() == [
        "[2026-11-18 10:30:00] worker 0: begins on node1, attempt 1",
        "[2026-11-18 10:30:00] worker 1: begins on node2, attempt 1",
    ]
    log = (folder / "log/dispatcher.log").read_text().splitlines()
    assert "[2026-11-18 10:30:01] worker 1: trial 00001 begins: 9 layers, deeper conv at 2 from 00000" in log
    assert "[2026-11-18 10:31:31] worker 1: trial 00001 ok, 2 epochs, accuracy 0.7100" in log


def test_aiperfs_own_home_leads_to_the_experiment_wherever_it_is_copied_to(folder, search, tmp_path):
    write(folder)
    folder.parent.rename(tmp_path / "copied")
    moved = tmp_path / "copied/experiment"
    for home in ("nni", "mountdir/nni"):
        link = moved / "aiperf-home" / home / "experiments/run-7-1n1g-r1"
        assert link.is_symlink() and link.samefile(moved)
        assert not Path(os.readlink(link)).is_absolute()


def test_written_again_nothing_changes_and_another_verdict_replaces_the_report(folder, search):
    write(folder)
    assert write(folder).changed == []
    changed = write(folder, "cancelled", "Someone stopped it.").changed
    assert {Path(path).name for path in changed} == {"results.txt", "Report_Failed.html"}
    assert results(folder) == ["Report_Failed.html", "results.txt"]


def test_a_look_writes_nothing(folder, search):
    before = sorted(folder.rglob("*"))
    assert len(write(folder, only_look=True).changed) == 5
    assert sorted(folder.rglob("*")) == before


def test_nothing_is_written_through_links_of_the_benchmark_user(folder, search, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    precious = outside / "precious"
    precious.write_text("mine")
    (folder / "results").symlink_to(outside)
    (folder / "log").mkdir()
    (folder / "log/dispatcher.log").symlink_to(precious)
    (folder / "graph.txt").symlink_to(precious)
    found = write(folder)
    assert found.remarks == [
        "experiment/results/results.txt is inside a link, or something else has its place: it was not written."
        " 1 more of AIPerf's files were not, either."
    ]
    assert [path.name for path in outside.iterdir()] == ["precious"]
    assert precious.read_text() == "mine"
    assert "trial 00000" in (folder / "log/dispatcher.log").read_text()
    assert not (folder / "graph.txt").is_symlink()


def test_what_has_the_place_of_a_file_costs_that_file_alone(folder, search):
    (folder / "results/results.txt").mkdir(parents=True)
    (folder / "results/Report_Failed.html").mkdir()
    (folder / "graph.txt").mkdir()
    (folder / "log").write_text("")
    (folder / "aiperf-home/nni/experiments/run-7-1n1g-r1").mkdir(parents=True)
    (remark,) = write(folder).remarks
    assert "it was not written. 4 more of AIPerf's files were not, either." in remark
    assert (folder / "results/Report_Succeed.html").is_file()
    assert (folder / "aiperf-home/mountdir/nni/experiments/run-7-1n1g-r1").samefile(folder)


def test_an_experiment_that_is_a_link_is_left_alone(folder, search, tmp_path):
    (tmp_path / "r2").mkdir()
    (tmp_path / "r2/experiment").symlink_to(folder)
    found = write_tree(tmp_path / "r2", read_result(folder), "ok", None, TEMPLATES)
    assert found == ([], ["experiment is no folder in r2: AIPerf's files were not written."])
    assert not (folder / "results").exists()


def test_telemetry_has_the_forms_of_aiperfs_monitors(folder, search):
    head = {"devices": [{"number": 3, "memory_mb": 40536}]}
    telemetry(folder, samples=[sample(second) for second in range(0, 61, 10)], head=head)
    write(folder)
    assert device_info(folder) == {
        "time": ["Wed Nov 18 10:30:00 UTC 2026"],
        "cpu_info.csv": ["60", "90", "110"],
        "cpu_core_info.csv": ["[10.0, 100.0]", "[40.0, 100.0]", "[60.0, 100.0]"],
        "mem_info.csv": ["250.5", "250.5", "250.5"],
        "net_info.csv": ["15000,30000"] * 3,
        "3.csv": ["97,4053", "97,4053", "97,4053"],
    }


def test_a_time_without_samples_is_not_a_number_and_what_was_never_measured_has_no_file(folder, search):
    without = {"net": None, "cores": None, "devices": None}
    telemetry(folder, samples=[sample(0, **without), sample(10, **without), sample(95, **without)])
    write(folder)
    assert device_info(folder) == {
        "time": ["Wed Nov 18 10:30:00 UTC 2026"],
        "cpu_info.csv": ["55", "nan", "nan", "145"],
        "mem_info.csv": ["250.5", "nan", "nan", "250.5"],
    }


def test_a_search_that_was_resumed_has_the_telemetry_of_all_attempts(folder, search):
    telemetry(folder, samples=[sample(0), sample(10)])
    (folder.parent / "attempt-1").mkdir()
    (folder.parent / "telemetry-node1.jsonl").rename(folder.parent / "attempt-1/telemetry-node1.jsonl")
    telemetry(folder, samples=[sample(90, cores=None), sample(100, cores=None)])
    write(folder)
    assert device_info(folder)["cpu_info.csv"] == ["55", "nan", "nan", "145"]
    assert device_info(folder)["cpu_core_info.csv"][-1] == "[nan, nan]"


def test_where_samples_are_further_apart_than_lines_a_line_has_the_nearest(folder, search):
    telemetry(folder, samples=[sample(second) for second in range(0, 301, 60)])
    write(folder)
    assert device_info(folder)["cpu_info.csv"][:5] == ["50", "110", "110", "170", "170"]


@pytest.mark.parametrize("node", ["..", "-x", "a b", "a\nb"])
def test_telemetry_of_a_node_with_a_name_that_no_host_has_is_passed_over(folder, search, node):
    telemetry(folder, node, samples=[sample(0)])
    write(folder)
    assert not (folder / "device_info").exists()


def test_telemetry_that_is_a_link_is_passed_over(folder, search, tmp_path):
    telemetry(folder, samples=[sample(0)])
    (folder.parent / "telemetry-node1.jsonl").rename(tmp_path / "other")
    (folder.parent / "telemetry-node1.jsonl").symlink_to(tmp_path / "other")
    write(folder)
    assert not (folder / "device_info").exists()
