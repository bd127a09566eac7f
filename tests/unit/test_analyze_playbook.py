"""playbooks/analyze.yml as an operator types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit.flagperf_fixture import CASE, DIED, tree
from unit.log_fixture import mindspore_log, write

ROOT = Path(__file__).parents[2]


@pytest.fixture
def analyze(tmp_path):
    def analyze(*arguments):
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        command = [program, str(ROOT / "playbooks/analyze.yml"), "-i", os.devnull, "-e", "out=reports"]
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PWD": str(tmp_path),
        }
        done = subprocess.run(
            [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return analyze


def test_a_folder_of_logs_becomes_reports_once(analyze, tmp_path):
    write(
        tmp_path / "old",
        {
            f"1n{ranks}g/rn50_b128_fp32_{repeat}.log": mindspore_log((370.0 + repeat) * ranks, ranks)
            for ranks in (1, 2)
            for repeat in (1, 2)
        },
    )
    status, output = analyze("-e", "logs=old")
    assert status == 0, output
    assert "recognised by: epoch: 1 step: 10, loss is 6.910" in output
    assert "1n2g 2 2/2 743.0" in output
    (folder,) = (tmp_path / "reports").iterdir()
    assert json.loads((folder / "summary.json").read_text())["state"] == "ok"
    assert {"report.html", "report.md", "metrics.prom", "junit.xml"} <= {path.name for path in folder.iterdir()}
    status, output = analyze("-e", "logs=old")
    assert (status, "changed=0 " in output) == (0, True), output


def test_a_log_without_a_number_ends_non_zero_with_its_reason(analyze, tmp_path):
    write(tmp_path / "old", {"1n8g/rn50_b128_fp32_1.log": mindspore_log(370.0)})
    status, output = analyze("-e", "logs=old", "--check")
    assert status == 2, output
    assert "1n1g" not in output and "1n8g has 8 ranks, the log has lines of 1." in output
    assert not (tmp_path / "reports").exists()


def test_a_log_of_no_case_ends_non_zero_beside_others_that_are_reported(analyze, tmp_path):
    write(tmp_path / "old", {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29), "b.log": mindspore_log(1.0)})
    status, said = analyze("-e", "logs=old")
    assert status != 0 and "370.3" in said and "on how many devices these logs were made: b.log" in said
    assert list((tmp_path / "reports").rglob("report.html"))


def test_a_tree_of_dead_ranks_ends_non_zero_with_the_line_that_says_why(analyze, tmp_path):
    tree(tmp_path / "old", CASE.format(1, 2, 1), {f"a_noderank0/rank{rank}.out.log": DIED for rank in (0, 1)})
    status, output = analyze("-e", "logs=old", "--check")
    assert status == 2, output
    assert "1n2g repeat 1 is launch_failed:" in output
    assert "The log says: ValueError: data_dir '/nonexistent' not exists." in output


def test_the_analysis_of_another_folder_is_not_written_over(analyze, tmp_path):
    for folder in ("2020/logs", "2021/logs"):
        write(tmp_path / folder, {"1n1g/rn50_b128_fp32_1.log": mindspore_log(370.0)})
    status, output = analyze("-e", "logs=2020/logs")
    assert status == 0, output
    status, output = analyze("-e", "logs=2021/logs", "--check")
    assert status == 2 and "holds the analysis of" in output and "-e out=DIR" in output, output


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("warmpu=5", "analyze.yml reads no variable warmpu: did you mean warmup?"),
        ("precision=fp23", "precision=fp23 is not known: did you mean fp32?"),
        ("out=old/a.log", "a.log is no folder, and reports are written into one: choose it with -e out=DIR."),
        ("out=old/a.log/deeper", "a.log is no folder"),
        ("warmup=many", "many"),
    ],
)
def test_what_is_misspelt_is_named_in_a_sentence(analyze, tmp_path, typed, sentence):
    write(tmp_path, {"old/a.log": mindspore_log(370.29)})
    status, said = analyze("-e", "logs=old", "-e", "case=1n1g", "-e", "batch=128", "-e", typed)
    assert status != 0 and sentence in said
    assert "Traceback" not in said
