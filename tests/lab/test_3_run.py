"""run_resnet.yml: real training through Slurm, and numbers that the logs bear out."""

from __future__ import annotations

import csv
import json
import statistics

import pytest

EVENT = "RACKMARK "


@pytest.fixture(scope="module")
def run(provisioned):
    provisioned.play("run_resnet.yml", nodes=4, repeats=2).succeeded()
    return provisioned.latest_run()


@pytest.fixture(scope="module")
def summary(run):
    return json.loads((run / "summary.json").read_text())


def events(log):
    return [json.loads(line[len(EVENT) :]) for line in log.read_text().splitlines() if line.startswith(EVENT)]


def recomputed(folder):
    """Samples over time from the raw logs, apart from the code under test: ten measured steps after two."""
    samples, times = 0, []
    for log in sorted(folder.glob("rank-*.log")):
        steps = [event for event in events(log) if event["event"] == "step" and event["step"] > 2]
        assert len(steps) == 10
        samples += sum(step["samples"] for step in steps)
        times.append(sum(step["seconds"] for step in steps))
    return samples / max(times)


def test_every_case_and_repeat_is_there_and_ok(summary):
    assert summary["schema"] == "rackmark.summary/1"
    assert (summary["state"], summary["baseline"], summary["scaling"]) == ("ok", "1n1g", "weak")
    assert [(c["case"], c["repeats_ok"], c["repeats_total"]) for c in summary["cases"]] == [
        ("1n1g", 2, 2),
        ("2n1g", 2, 2),
        ("4n1g", 2, 2),
    ]


def test_the_record_says_that_devices_are_cpus_and_nodes_are_simulated(run, summary):
    assert (summary["device"], summary["simulated"]) == ("cpu", ["nodes"])
    assert "Simulated in this run: nodes" in (run / "report.html").read_text()


def test_throughput_is_what_the_logs_say(run, summary):
    for case in summary["cases"]:
        for entry in case["runs"]:
            expected = recomputed(run / "cases" / case["case"] / f"r{entry['repeat']}")
            assert entry["throughput"] == pytest.approx(expected, rel=0.001)
        assert case["median"] == pytest.approx(statistics.median(e["throughput"] for e in case["runs"]), rel=1e-9)


def test_speedup_is_the_ratio_of_medians(summary):
    one, _, four = summary["cases"]
    assert four["speedup"] == pytest.approx(four["median"] / one["median"], rel=1e-9)
    assert four["efficiency"] == pytest.approx(four["speedup"] / 4, rel=1e-9)


def test_every_rank_trained_the_whole_network_on_its_own_node(run):
    folder = run / "cases/4n1g/r1"
    starts = [event for log in folder.glob("rank-*.log") for event in events(log) if event["event"] == "start"]
    assert {start["rank"] for start in starts} == {0, 1, 2, 3}
    assert {start["host"] for start in starts} == {"node1", "node2", "node3", "node4"}
    assert {start["parameters"] for start in starts} == {25_557_032}
    assert {(folder / f"rank-{rank}.exit").read_text().strip() for rank in range(4)} == {"0"}


def test_what_a_reader_takes_away(run, summary):
    rows = list(csv.DictReader((run / "summary.csv").open()))
    assert [row["case"] for row in rows] == ["1n1g", "2n1g", "4n1g"]
    assert float(rows[2]["speedup"]) == summary["cases"][2]["speedup"]
    for picture in ("throughput.png", "speedup.png", "efficiency.png", "loss.png"):
        assert (run / picture).read_bytes().startswith(b"\x89PNG")
    report = (run / "report.html").read_text()
    assert report.count("data:image/png;base64,") == len(list(run.glob("*.png"))) >= 5
    assert "http://" not in report.replace("http://www.w3.org", "")


def test_what_it_takes_to_repeat_the_run(run):
    manifest = json.loads((run / "manifest.json").read_text())
    start = next(event for event in events(run / "cases/1n1g/r1/rank-0.log") if event["event"] == "start")
    assert "run_resnet.yml" in manifest["command"]
    preflight = json.loads((run / "cases/4n1g/r1/preflight.json").read_text())
    assert preflight["ok"]
    assert set(preflight["nodes"]) == {"node1", "node2", "node3", "node4"}
    assert {node["package_version"] for node in preflight["nodes"].values()} == {start["framework_version"]}
    assert "torch" in manifest["software"]["environment"]
    assert f"torch=={start['framework_version']}" in manifest["software"]["environment"]
    assert {"rackmark", "ansible-core", "slurm", "python"} <= set(manifest["software"])
    assert any("of a core" in note and "0." in note for note in manifest["notes"])
    assert (run / "cases/2n1g/r1/job.sh").read_text().startswith("#!/bin/bash")


def test_every_node_of_every_repeat_was_sampled_while_it_was_measured(run):
    for result in sorted(run.glob("cases/*/r*/result.json")):
        found = json.loads(result.read_text())
        nodes = found["telemetry"]["nodes"]
        assert set(nodes) == set(json.loads((result.parent / "end.json").read_text())["nodes"])
        begin, end = found["telemetry"]["window"].values()
        for node in nodes.values():
            assert node["samples"] >= int(end - begin) - 1
            assert 0 < node["cpu"]["mean"] <= 100
            assert node["end"] is None
    report = (run / "report.html").read_text()
    assert "<h2>Telemetry</h2>" in report
    assert "The nodes are simulated on one machine" in report


def test_jobs_ran_as_the_unprivileged_user(provisioned, run):
    owners = provisioned.on("head", f"stat -c %U /userhome/rackmark/runs/{run.name}/cases/1n1g/r1/rank-0.log")
    assert owners == "rackmark"


def test_a_plan_can_be_seen_without_running_it(provisioned):
    before = set(provisioned.runs_dir.iterdir())
    shown = provisioned.play("run_resnet.yml", nodes=2, cmdline="--check").succeeded()
    assert "6 jobs: 1n1g x3, 2n1g x3" in shown.output
    assert "#SBATCH --nodes=2" in shown.output
    assert set(provisioned.runs_dir.iterdir()) == before
    assert provisioned.on("head", "squeue --noheader") == ""


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"nodes": 5}, "nodes=5 needs 5 nodes, the cluster has 4"),
        ({"cases": "1n2g"}, "Case 1n2g needs 2 devices per node, a node has 1"),
        ({"precision": "fp7"}, "precision=fp7 is unknown to pytorch on cpu: use bf16, fp32"),
    ],
)
def test_nonsense_is_refused_before_anything_is_touched(provisioned, variables, words):
    before = set(provisioned.runs_dir.iterdir())
    provisioned.play("run_resnet.yml", **variables).failed_with(words)
    assert set(provisioned.runs_dir.iterdir()) == before


def test_mindspore_trains_on_one_and_two_nodes_and_its_own_lines_are_read(provisioned):
    provisioned.play("run_resnet.yml", framework="mindspore", preset="tiny", cases="1n1g,2n1g").succeeded()
    run = provisioned.latest_run()
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["state"], summary["framework"]) == ("ok", "mindspore")
    for case in summary["cases"]:
        (entry,) = case["runs"]
        times = []
        for log in (run / "cases" / case["case"] / "r1").glob("rank-*.log"):
            lines = [line for line in log.read_text().splitlines() if "per step time" in line]
            milliseconds = [float(line.split("epoch time:")[1].split("ms")[0]) for line in lines]
            assert len(milliseconds) == 4
            times.append(sum(milliseconds[1:]) / 1000)
        # Batches of 2, three measured steps after one.
        assert entry["throughput"] == pytest.approx(2 * 3 * case["world_size"] / max(times), rel=0.001)
