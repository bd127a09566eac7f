"""A checkout of FlagPerf's shape, whose own programs run as plain processes on this machine and are judged as ours."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from lab.local_runs import ROOT, Suites


class Driven(Suites):
    def __init__(self, folder):
        super().__init__(folder)
        self.checkout = shutil.copytree(ROOT / "tests/flagperf_like", folder / "FlagPerf")
        self.data = folder / "data"
        self.data.mkdir()
        (self.data / "one").write_text("x")

    def drive(self, cases, options=(), **variables):
        given = {"flagperf": str(self.checkout), "driver": "flagperf", "cases": cases, "data": str(self.data)}
        return self.play("../run_flagperf.yml", options, **{**given, "benchmark_devices_per_node": 2, **variables})

    def configure(self, line, case="1x2"):
        config = self.checkout / f"training/homemade/tiny-pytorch/config/config_CPUx{case}.py"
        config.write_text(f"{config.read_text()}{line}\n")

    def summaries(self):
        return [json.loads(path.read_text()) for path in sorted(self.results.glob("2*/summary.json"))]

    def shared_run(self, model):
        (run,) = (self.folder / "shared/runs").glob(f"*-flagperf-{model}")
        return run

    def repeat(self):
        ((case,),) = ([*summary["cases"]] for summary in self.summaries())
        return case["runs"][0]


@pytest.fixture
def driven(tmp_path):
    yield (made := Driven(tmp_path))
    for record in (tmp_path / "shared/suites").glob("*"):
        made.play("stop.yml", suite_id=record.name)


def finished(log):
    (said,) = re.findall(r'"FINISHED".*"value": ({.*})}', log.read_text())
    return json.loads(said)


def test_programs_of_a_checkout_run_unpatched_and_their_numbers_are_the_runs(driven):
    required = driven.checkout / "training/homemade/tiny-pytorch/config/requirements.txt"
    required.write_text("nowhere-to-be-found==1.0\n")
    done = driven.drive("tiny:pytorch_1.8:CPU:1:1:1,tiny:pytorch_1.8:CPU:1:2:2,tinylm:megatron:CPU:1:2:1")
    assert done.returncode == 0, done.stdout
    tiny, language_model = driven.summaries()
    tree = driven.results / tiny["run_id"] / "flagperf"
    for case, devices in zip(tiny["cases"], (1, 2)):
        folder = f"tiny:pytorch_1.8:CPU:1:{devices}:{devices}"
        for run in case["runs"]:
            (log,) = tree.glob(f"{folder}/round{run['repeat']}/*_noderank0/rank0.out.log")
            said = finished(log)
            assert run["throughput"] == said["throughput(ips)_pure_compute"]
            assert (run["measures"]["final_acc1"], run["measures"]["converged"]) == (0.75, 1)
            assert "FROM_SCRIPT is a shell" in log.read_text()
    assert tiny["cases"][1]["speedup"] is not None
    assert "| CPU 1x2 | fp32 | / |" in next(driven.folder.glob("suites/*/index.md")).read_text()
    assert language_model["unit"] == "tokens/s"
    assert language_model["cases"][0]["median"] == 2000
    manifest = json.loads((driven.results / tiny["run_id"] / "manifest.json").read_text())
    assert manifest["settings"] == {"flagperf": "tiny:pytorch_1.8:CPU", "vendor": "homemade", "commit": "unknown"}
    # What a benchmark writes into its checkout is in a copy of its own.
    assert not (driven.checkout / "training/benchmarks/tiny/pytorch/made.txt").exists()
    first = (driven.shared_run("tiny") / "cases/1n1g/r1/rank-0.log").read_text()
    assert "not installed, and in requirements.txt of the case: nowhere-to-be-found==1.0" in first

    read = driven.play("analyze.yml", logs=str(tree), out=str(driven.folder / "out"))
    assert read.returncode == 0, read.stdout
    (summary,) = (driven.folder / "out").glob("*/summary.json")
    again = json.loads(summary.read_text())
    assert [case["median"] for case in again["cases"]] == [case["median"] for case in tiny["cases"]]


@pytest.mark.parametrize(
    ("line", "state", "reason"),
    [
        ("_dies_at = 3", "incomplete", "exit status 7"),
        ("_loss = float('nan')", "nan_loss", "not a finite number"),
        ("raise ValueError('no such thing')", "launch_failed", "no such thing"),
        ("target_acc1 = 0.9", "ok", None),
    ],
)
def test_a_training_that_goes_wrong_is_no_success(driven, line, state, reason):
    driven.configure(line)
    done = driven.drive("tiny:pytorch_1.8:CPU:1:2:1")
    run = driven.repeat()
    assert run["state"] == state, run["reason"]
    assert (done.returncode == 0) == (state == "ok")
    if reason is None:
        assert run["measures"]["converged"] == 0
        assert "did not reach its target in repeat 1 (converged: false)" in done.stdout
    else:
        assert reason in run["reason"]
        assert run["throughput"] is None
        assert "Congrats" not in done.stdout


def test_a_target_that_is_required_has_to_be_reached(driven):
    driven.configure("target_acc1 = 0.9", "1x1")
    done = driven.drive("tiny:pytorch_1.8:CPU:1:1:1", require_target=True)
    assert done.returncode != 0
    run = driven.repeat()
    assert (run["state"], run["reason"]) == ("rule_failed", "The rule converged >= 1 does not hold: converged is 0.")


def test_a_check_says_what_is_missing_and_what_every_key_becomes(driven):
    shown = driven.drive("tiny:pytorch:CPU:1:2:1", ["--check"])
    assert shown.returncode == 0, shown.stdout
    for line in (
        "1: train_batch_size = 4 -> batch=4",
        "4: max_steps = 6 -> read by FlagPerf's own program",
        "tiny, FlagPerf's own program with pytorch on cpu, 1 jobs: 1n2g x1.",
    ):
        assert line in shown.stdout
    assert not (driven.folder / "shared").exists()

    shutil.rmtree(driven.checkout / "training/homemade/tiny-pytorch/extern")
    refused = driven.drive("tiny:pytorch:CPU:1:2:1")
    assert refused.returncode != 0
    assert "the folder" in refused.stdout and "tiny-pytorch/extern is not there." in refused.stdout
    asked = driven.drive("tiny:pytorch:CPU:1:2:1", flagperf="")
    assert "driver=flagperf runs the programs of a checkout: name its folder with -e flagperf=DIR." in asked.stdout
    assert not (driven.folder / "shared").exists()
