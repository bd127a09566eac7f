"""playbooks/compare.yml as a CI job runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from rackmark.files import write_files
from rackmark.formats.summary_files import summary_files
from unit.run_fixture import read_run, write_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def compare(tmp_path):
    for folder, seconds in (("runs/old", 0.5), ("runs/new", 0.6), ("analyses/others", 0.5)):
        run_dir = write_run(tmp_path / folder, {"1n1g": [seconds] * 2}, run_id=Path(folder).name)
        run = read_run(run_dir)
        write_files(run_dir, summary_files(run.summary, run.judged))

    def compare(*arguments):
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        command = [program, str(ROOT / "playbooks/compare.yml"), "-i", os.devnull]
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PWD": str(tmp_path),
        }
        done = subprocess.run(
            [*command, "-e", f"benchmark_runs_dir={tmp_path}/runs", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return compare


def test_a_regression_ends_non_zero_and_leaves_its_verdicts(compare, tmp_path):
    status, output = compare("-e", "baseline=old", "-e", "run=new", "-e", "tolerance=3%")
    assert status == 2, output
    assert "Failed: new against old with a tolerance of 3 %: 1 regression." in output
    assert "These are separate runs: their intervals cover the spread within each run" in output
    folder = tmp_path / "comparisons/old--new"
    assert json.loads((folder / "gate.json").read_text())["passed"] is False
    assert ElementTree.parse(folder / "junit.xml").getroot().attrib["failures"] == "1"


def test_a_run_within_the_tolerance_ends_well_and_a_check_writes_nothing(compare, tmp_path):
    status, output = compare("-e", "baseline=others", "-e", "run=./runs/old", "-e", "tolerance=3%", "--check")
    assert status == 0, output
    assert "Passed: old against others with a tolerance of 3 %, 1 case." in output
    assert not (tmp_path / "comparisons").exists()
