"""playbooks/report.yml on collected runs, without any cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit.run_fixture import break_repeat, write_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def report(tmp_path):
    runs = tmp_path / "runs"
    write_run(runs / "first", {"1n1g": [0.50, 0.51], "2n1g": [0.50, 0.51]}, run_id="first")
    write_run(
        runs / "second", {"1n1g": [0.40, 0.41], "2n1g": [0.50, 0.51]}, run_id="second", settings={"image_size": 96}
    )
    break_repeat(runs / "second", "2n1g", 2)
    (runs / "latest").symlink_to("second")
    for age, name in enumerate(("second", "first")):
        os.utime(runs / name / "manifest.json", (1e9 - age, 1e9 - age))

    def report(*arguments):
        playbook = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/report.yml", "-i", os.devnull]
        environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        command = [*playbook, "-e", f"benchmark_runs_dir={runs}", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, tmp_path

    return report


def written(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in (".html", ".prom")
    )


def test_a_run_is_judged_and_reported_again(report):
    status, output, folder = report("-e", "run_ids=latest")
    assert status == 0, output
    assert "2n1g repeat 2 is timeout" in output
    assert f"Report: {folder}/runs/second/report.html" in output
    assert written(folder / "runs") == ["second/metrics.prom", "second/report.html"]
    assert json.loads((folder / "runs/second/dlperf_result.json").read_text())["resnet50"]["1n1g"]["speedup"] == 1.0
    status, output, _ = report("-e", "run_ids=second")
    assert status == 0 and "changed=0" in output, output


def test_runs_are_compared(report):
    status, output, folder = report("-e", "run_ids=first,latest")
    assert status == 0, output
    assert "B against A: 1 case better and 1 case undecided." in output
    assert "These runs did not measure the same thing: they differ in image size (64, 96)." in output
    assert written(folder) == ["comparisons/first--second/comparison.html"]


def test_check_mode_writes_nothing(report):
    status, output, folder = report("-e", "run_ids=first,second", "--check")
    assert status == 0 and "1 case better" in output, output
    status, output, folder = report("-e", "run_id=first", "--check")
    assert status == 0 and f"Report: {folder}/runs/first/report.html" in output, output
    assert written(folder) == []


def test_a_run_that_is_unknown_is_explained(report):
    status, output, folder = report("-e", "run_ids=third")
    assert status != 0
    assert f"There is no run third in {folder}/runs. The newest are second, first." in " ".join(output.split())
    assert written(folder) == []
