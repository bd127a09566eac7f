"""A suite of two runs, with plain processes on this machine: one command, one page, resumed and stopped as one."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from lab.local_runs import COUNTING, Suites, wait_for


@pytest.fixture
def suites(tmp_path):
    yield (made := Suites(tmp_path))
    for record in (tmp_path / "shared/suites").glob("*"):
        made.play("stop.yml", suite_id=record.name)


@pytest.fixture
def other(tmp_path):
    """A second workload, by another name."""
    folder = shutil.copytree(COUNTING, tmp_path / "tallying")
    declared = yaml.safe_load((folder / "workload.yml").read_text())
    (folder / "workload.yml").write_text(yaml.safe_dump({**declared, "name": "tallying", "title": "Tallying"}))
    return str(folder)


def test_a_suite_is_planned_run_resumed_and_reported_as_one(suites, other, tmp_path):
    listed = tmp_path / "nightly.yml"
    listed.write_text(yaml.safe_dump([{"workload": str(COUNTING), "repeats": 1}, {"workload": other, "steps": 6}]))
    shown = suites.play("suite.yml", options=["--check"], suite=str(listed))
    assert shown.returncode == 0, shown.stdout
    assert "Counting with python on cpu, 1 jobs: 1n1g x1." in shown.stdout
    assert "Tallying with python on cpu, 2 jobs: 1n1g x2." in shown.stdout
    assert not (tmp_path / "shared").exists()

    done = suites.play("suite.yml", suite=str(listed), repeats=2)
    assert done.returncode == 0, done.stdout
    first, second = suites.page()["runs"]
    assert (suites.page()["state"], suites.page()["suite_id"][16:]) == ("ok", "nightly")
    repeats = [(run["workload"], run["cases"][0]["repeats_ok"]) for run in (first, second)]
    assert repeats == [("counting", 1), ("tallying", 2)]
    jobs = [json.loads(path.read_text()) for path in suites.folder.glob("shared/runs/*/cases/*/r*/job.json")]
    spans = sorted((job["start"], job["end"]) for job in jobs)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))  # no two jobs at the same time
    assert "ok: 2 runs, 2 cases, 3 of 3 repeats ok" in done.stdout
    took = [job["end"] - job["start"] for job in jobs]
    assert all(0 < run["cases"][0]["e2e_s"] <= max(took) for run in (first, second))

    (tmp_path / "shared/runs" / second["run_id"] / "cases/1n1g/r2/rank-0.exit").write_text("1\n")
    again = suites.play("suite.yml", suite_id=suites.record()["suite_id"])
    assert again.returncode == 0, again.stdout
    assert [run["run_id"] for run in suites.page()["runs"]] == [first["run_id"], second["run_id"]]
    assert suites.page()["state"] == "ok"


def test_a_suite_is_stopped_as_one(suites, other):
    process = suites.begin("suite.yml", suite=[{"workload": str(COUNTING)}, {"workload": other}], steps=600)
    wait_for(lambda: len(list(suites.folder.glob("shared/runs/*/manifest.json"))) == 2)
    wait_for(lambda: len(list(suites.folder.glob("shared/runs/*/queue.json"))) == 2)
    assert len(list(suites.folder.glob("shared/runs/*/cases/*/r*/job.json"))) == 1  # the other run waits for its turn
    stopped = suites.play("stop.yml", suite_id=suites.record()["suite_id"])
    assert stopped.returncode == 0, stopped.stdout
    process.wait(timeout=60)
    assert suites.processes() == {}
    assert [run["state"] for run in suites.page()["runs"]] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"suite": [{"workload": "resnet50", "repeets": 1}]}, "suite: [1].repeets is not a key: did you mean repeats?"),
        ({"suite": "/nowhere.yml"}, "/nowhere.yml cannot be read: No such file or directory."),
        ({"cases": "dlrm:pytorch:A100:1:1:1"}, "There is no workload for the model 'dlrm': use one of"),
        ({}, "There is nothing to run: give a list of runs with -e suite=FILE"),
        ({"suite_id": "20261118-101500-none"}, "suite_id=20261118-101500-none is not a suite in"),
        (
            {"suite": [{"workload": str(COUNTING)}, {"workload": "/nowhere"}]},
            "/nowhere is not the folder of a workload",
        ),
    ],
)
def test_a_suite_that_cannot_be_run_starts_nothing(suites, variables, sentence):
    refused = suites.play("suite.yml", **variables)
    assert refused.returncode != 0
    assert sentence in refused.stdout
    assert list(suites.folder.glob("shared/runs/*/manifest.json")) == []


@pytest.mark.parametrize(
    ("given", "plans"),
    [
        (
            {},
            [
                "1n8g x1. Each device trains batches of 1 in bf16, 20 to",
                "1n4g x1. Each device trains batches of 1 in bf",
            ],
        ),
        ({"preset": "tiny"}, ["1n8g x1, 1n4g x1. Each device trains batches of 16 in fp32"]),
        ({"cluster_preset": "lab"}, ["1n8g x1, 1n4g x1. Each device trains batches of 4 in fp32"]),
    ],
)
def test_a_model_is_run_in_its_own_size_unless_the_operator_or_the_cluster_says_another(suites, given, plans):
    asked = {"preset": None, "benchmark_devices_per_node": 8, **given}
    cases = "llama2_7b:pytorch:A100:1:8:1,llama3_8B:pytorch:A100:1:4:1"
    shown = suites.play("../run_flagperf.yml", options=["--check"], cases=cases, **asked)
    assert shown.returncode == 0, shown.stdout
    assert shown.stdout.count("Llama decoder training with pytorch on cpu") == len(plans)
    for plan in plans:
        assert plan in shown.stdout


def test_a_configuration_of_flagperf_is_shown_key_by_key_and_planned(suites, tmp_path):
    case = "resnet50:pytorch_1.8:A100:1:1:2"
    files = {
        "run_benchmarks/config/test_conf.py": f'VENDOR = "nvidia"\nCASES = {{"{case}": "/usr"}}\n',
        "run_benchmarks/config/cluster_conf.py": 'HOSTS = ["10.1.2.2"]\nMASTER_PORT = "29501"\n',
        "nvidia/resnet50-pytorch/config/config_A100x1x1.py": "train_batch_size = 4\nseed = 3\n",
    }
    for name, text in files.items():
        path = tmp_path / "FlagPerf/training" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    given = {"flagperf": str(tmp_path / "FlagPerf"), "preset": "tiny"}
    shown = suites.play("../run_flagperf.yml", options=["--check"], **given)
    assert shown.returncode == 0, shown.stdout
    for line in (
        f"2: {case} = /usr -> case 1n1g of resnet50 with pytorch, 2 repeats, data=/usr",
        "2: MASTER_PORT = 29501 -> not used, because every job has a port of its own",
        "1: train_batch_size = 4 -> batch=4",
        "ResNet-50 v1.5 training with pytorch on cpu, 2 jobs: 1n1g x2. Each device trains batches of 4 in fp32",
    ):
        assert line in shown.stdout
    assert not (tmp_path / "shared").exists()

    conf = tmp_path / "FlagPerf/training/run_benchmarks/config/test_conf.py"
    conf.write_text(f"import os\nos.system('touch {tmp_path}/made')\n{conf.read_text()}")
    refused = suites.play("../run_flagperf.yml", options=["--check"], **given)
    assert refused.returncode != 0
    assert f"{conf}, line 2" in refused.stdout
    assert not (tmp_path / "made").exists()


def test_a_candidate_takes_turns_with_its_baseline(suites):
    """Two of the same: what they are compared by is when their jobs began."""
    asked = {"benchmark_workload": str(COUNTING), "repeats": 3, "steps": 6}
    done = suites.play("run.yml", interleave=True, candidate="warmup=2", **asked)
    assert done.returncode == 0, done.stdout
    first, second = (run["run_id"] for run in suites.page()["runs"])
    jobs = [json.loads(path.read_text()) for path in suites.folder.glob("shared/runs/*/cases/*/r*/job.json")]
    order = [job["name"].split(":")[1] for job in sorted(jobs, key=lambda job: job["start"])]
    assert order in ([first, second] * 3, [second, first] * 3)  # whose runner was there first
    assert "The repeats of these runs alternated: what drifts slowly" in done.stdout
    comparison = json.loads((suites.folder / f"comparisons/{first}--{second}/comparison.json").read_text())
    assert [case["repeats_ok"] for case in comparison["cases"]] == [3]

    (suites.folder / "shared/runs" / second / "cases/1n1g/r2/rank-0.exit").write_text("1\n")
    (suites.folder / "shared/runs" / first / "cases/1n1g/r3/rank-0.exit").write_text("1\n")
    again = suites.play("suite.yml", suite_id=suites.record()["suite_id"])
    assert again.returncode == 0, again.stdout
    assert suites.page()["state"] == "ok"


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"interleave": True}, "interleave=true needs to know what differs: add -e candidate='precision=bf16'"),
        ({"candidate": "batch=2"}, "A candidate is measured in turns with its baseline: add -e interleave=true."),
        ({"interleave": True, "candidate": "faster"}, "candidate=faster says no more than words"),
        ({"interleave": True, "candidate": {"precisoin": "bf16"}}, "candidate.precisoin is not a key: did you mean"),
        ({"interleave": True, "candidate": "same", "run_id": "20261118-101500-x"}, "A run goes on by itself"),
    ],
)
def test_half_a_comparison_is_refused(suites, variables, sentence):
    refused = suites.play("run.yml", benchmark_workload=str(COUNTING), **variables)
    assert refused.returncode != 0
    assert sentence in refused.stdout
    assert list(suites.folder.glob("shared/runs/*/manifest.json")) == []
