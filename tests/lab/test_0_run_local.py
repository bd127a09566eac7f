"""A run from the first command to the report, with plain processes on this machine and a workload that only counts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess

import pytest
import yaml
from in_terminal import Terminal
from lab.local_runs import COUNTING, ROOT, Runs, wait_for


@pytest.fixture
def runs(tmp_path):
    yield (made := Runs(tmp_path))
    for run in (tmp_path / "shared/runs").glob("*"):
        made.play("stop.yml", run_id=run.name)


def test_a_workload_is_a_folder(runs):
    done = runs.play()
    assert done.returncode == 0, done.stdout
    summary = runs.summary()
    assert (summary["state"], summary["workload"]) == ("ok", "counting")
    assert [run["state"] for run in runs.repeats()] == ["ok", "ok"]
    # Four samples in each step of 0.05 s; this machine may be slower, never faster.
    assert all(40 < run["throughput"] <= 80 for run in runs.repeats())
    assert "about" in done.stdout or "2 of 2 jobs done" in done.stdout
    for name in ("report.html", "report.md", "summary.csv", "metrics.prom", "manifest.json"):
        assert (runs.latest() / name).stat().st_size > 0
    assert runs.processes() == {}


def test_the_plan_shows_cost_and_script_and_does_nothing(runs):
    for shown in (runs.play(options=["--check"]), runs.play(plan=True)):
        assert shown.returncode == 0, shown.stdout
        assert "1n1g         2      1             4                  0.2" in shown.stdout
        assert "engine/job.py" in shown.stdout
        assert "#SBATCH" not in shown.stdout  # there is no Slurm to read it
        assert "code/count.py" in shown.stdout
        assert "--batch 4" in shown.stdout
    assert list(runs.folder.glob("shared/runs/*")) == []
    assert not runs.results.exists()


@pytest.mark.parametrize(
    ("how", "state", "words"),
    [
        ("exit", "incomplete", "count.py: error: asked to fail here"),
        ("nan", "nan_loss", "The loss of step 3 on rank 0 is not a finite number"),
        ("memory", "oom", "asked to run out of memory here"),
        ("silent", "incomplete", "logged 2 of 5 steps"),
        ("mute", "no_data", "no start of a training"),
    ],
)
def test_what_goes_wrong_has_its_state_its_sentence_and_no_number(runs, how, state, words):
    done = runs.play(repeats=1, benchmark_flags=["--fail", how])
    assert done.returncode != 0
    (run,) = runs.repeats()
    assert (run["state"], run["throughput"]) == (state, None)
    assert words in run["reason"]
    assert f"1n1g repeat 1 is {state}" in done.stdout
    assert runs.processes() == {}


def test_a_rank_that_hangs_is_stalled_and_ended(runs):
    done = runs.play(repeats=1, benchmark_stalled_after=3, benchmark_flags=["--fail", "hang"])
    assert done.returncode != 0
    (run,) = runs.repeats()
    assert run["state"] == "stalled"
    assert "rank 0" in run["reason"]
    assert runs.processes() == {}


def test_one_bad_repeat_leaves_the_others_their_numbers_and_the_run_partial(runs):
    first = runs.begin(repeats=2, steps=40)
    first.send_signal(signal.SIGKILL)
    first.wait()
    run_id = runs.shared().name
    (log,) = runs.folder.glob("shared/runs/*/cases/1n1g/r1/rank-0.log")
    (rank,) = runs.ranks()
    os.kill(rank, signal.SIGKILL)
    wait_for(lambda: (log.parents[1] / "r2/end.json").exists())
    stopped = runs.play("stop.yml", run_id=run_id)  # everything has ended: it only reports
    assert stopped.returncode == 0, stopped.stdout
    assert runs.summary()["state"] == "partial"
    assert [run["state"] for run in runs.repeats()] == ["incomplete", "ok"]
    assert "killed by signal 9" in runs.repeats()[0]["reason"] or "137" in runs.repeats()[0]["reason"]


def test_a_run_whose_playbook_is_killed_is_taken_up_again(runs):
    playbook = runs.begin(repeats=2, steps=40)
    os.killpg(playbook.pid, signal.SIGKILL)
    playbook.wait()
    shared = runs.shared()
    wait_for(lambda: (shared / "cases/1n1g/r1/end.json").exists())
    kept = (shared / "cases/1n1g/r1/rank-0.log").stat().st_mtime_ns
    other = runs.play(run_id=shared.name, repeats=3, steps=40)
    assert "leave out repeats=3." in other.stdout
    again = runs.play(run_id=shared.name, steps=40)  # as an inventory would that always says so
    assert again.returncode == 0, again.stdout
    assert [run["state"] for run in runs.repeats()] == ["ok", "ok"]
    assert (shared / "cases/1n1g/r1/rank-0.log").stat().st_mtime_ns == kept


def test_stopping_a_run_ends_it_and_only_it_and_resuming_completes_it(runs):
    playbook = runs.begin(repeats=2, steps=200)
    shared = runs.shared()
    stopped = runs.play("stop.yml", run_id=shared.name)
    assert stopped.returncode == 0, stopped.stdout
    assert "2 jobs of" in stopped.stdout
    assert playbook.wait(timeout=60) != 0  # who watches is told
    assert [run["state"] for run in runs.repeats()] == ["cancelled", "cancelled"]
    assert runs.processes() == {}
    stale = runs.latest() / "cases/1n1g/r1/rank-1.log"  # of an attempt with more ranks, say
    stale.write_text("no part of what comes next")
    again = runs.play(run_id=shared.name)
    assert again.returncode == 0, again.stdout
    assert [run["state"] for run in runs.repeats()] == ["ok", "ok"]
    assert not stale.exists()
    assert (runs.latest() / "cases/1n1g/r1/attempt-1/rank-0.log").exists()


def test_after_ctrl_c_the_commands_that_resume_and_stop_are_the_last_that_is_read(runs):
    terminal = Terminal(runs.command("run.yml", repeats=1, steps=400), cwd=ROOT, env=runs.environment())
    terminal.read(until="r1 step")
    terminal.press_ctrl_c()
    shown, status = terminal.end()
    assert status != 0
    run_id = runs.shared().name
    last = shown[shown.index(f"The jobs of {run_id} keep running.") :]
    resume, stop = re.findall(r"(?:  .*\n)+", last)
    assert last.split("\n", 1)[1] == f"To resume the run:\n{resume}To stop the run:\n{stop}"
    assert runs.processes() != {}
    for command, playbook in ((stop, "playbooks/stop.yml"), (resume, "playbooks/run.yml")):
        assert f"ansible-playbook {playbook}" in command
        done = subprocess.run(
            ["sh", "-c", command], cwd=ROOT, env=runs.environment(), capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout
        assert [run["state"] for run in runs.repeats()] == ["cancelled" if command is stop else "ok"]
        assert runs.processes() == {}


def test_two_runs_at_the_same_time_do_not_meet(runs):
    first, second = runs.begin(repeats=1, steps=40), runs.play(repeats=1)
    assert first.wait(timeout=60) == 0
    assert second.returncode == 0
    assert len(list(runs.results.glob("2*"))) == 2
    for run in runs.results.glob("2*"):
        assert json.loads((run / "summary.json").read_text())["state"] == "ok"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"cases": "2n1g"}, "Case 2n1g needs 2 nodes, the cluster has 1"),
        ({"batch": 0}, "(-e): use 1 to 1000000"),
        ({"precision": "fp7"}, "precision=fp7 is unknown to python on cpu: use fp32"),
        ({"image": "pytorch:2.13"}, "image=pytorch:2.13 has no use without containers: add -e runtime=docker."),
        ({"run_id": "yesterday"}, "run_id=yesterday is not a run in"),
        ({"launcher": "slrum"}, "launcher is 'slrum' (-e): use"),
        ({"preset": "huge"}, "preset=huge is unknown: use full, lab"),
    ],
)
def test_nonsense_is_refused_before_anything_is_touched(runs, variables, words):
    done = runs.play(**variables)
    assert done.returncode != 0
    assert words in done.stdout
    assert list(runs.folder.glob("shared/runs/*")) == []


def test_a_workload_that_cannot_be_measured_is_refused_with_all_that_is_wrong(runs, tmp_path):
    folder = shutil.copytree(COUNTING, tmp_path / "own")
    declared = yaml.safe_load((folder / "workload.yml").read_text())
    framework = declared["frameworks"]["python"]
    wrong = {**declared, "frameworks": {"python": {**framework, "dialect": "flagperff"}}, "rules": ["accurcy >= 0.7"]}
    del wrong["unit"]
    wrong["measures"] = {"score": {"unit": "GFLOPS", "better": "higher", "from": "trials.score"}}
    (folder / "workload.yml").write_text(yaml.safe_dump(wrong))
    done = runs.play(benchmark_workload=str(folder), options=["--check"])
    assert done.returncode != 0
    for sentence in (
        "frameworks.python.dialect=flagperff is unknown: did you mean flagperf?",
        "measures.score.from=trials.score is nothing that measure: steps gives: use one of accuracy,",
        "rules: 'accurcy >= 0.7' cannot be computed: accurcy is no measure of this workload.",
    ):
        assert re.search(rf"{folder}/workload\.yml, line \d+: {re.escape(sentence)}", done.stdout), sentence

    gone = {**declared, "frameworks": {"python": {**framework, "program": "gone.py {seconds}"}}}
    (folder / "workload.yml").write_text(yaml.safe_dump(gone))
    done = runs.play(benchmark_workload=str(folder), options=["--check"])
    assert done.returncode != 0
    assert f"frameworks.python.program names gone.py, which {folder} does not have." in done.stdout
    assert not (tmp_path / "shared").exists()


def test_a_straggler_is_named_on_the_terminal_and_in_the_report(runs):
    done = runs.play(
        cases="1n3g", repeats=1, steps=40, benchmark_devices_per_node=3, benchmark_flags=["--slow-rank", "1"]
    )
    assert done.returncode == 0, done.stdout
    (case,) = runs.summary()["cases"]
    (flag,) = case["flags"]
    assert flag.startswith("has a straggler: rank 1 on ")
    assert "1n3g has a straggler: rank 1 on " in done.stdout
    assert flag in (runs.latest() / "report.md").read_text()


def test_code_that_changes_between_repeats_is_noticed_and_can_be_put_back(runs):
    process = runs.begin(repeats=2, steps=60)
    program = runs.shared() / "code/count.py"
    original = program.read_text()
    program.write_text(f"{original}# edited\n")
    assert process.wait(timeout=120) != 0
    first, second = runs.repeats()
    assert (first["state"], second["state"], second["throughput"]) == ("ok", "rule_failed", None)
    assert "and the run was begun with" in second["reason"]
    assert (runs.latest() / "code/count.py").read_text() == program.read_text()
    assert "code/count.py" in (runs.latest() / "code.sha256").read_text()
    program.write_text(original)
    again = runs.play(run_id=runs.shared().name)
    assert again.returncode == 0, again.stdout
    assert [run["state"] for run in runs.repeats()] == ["ok", "ok"]
