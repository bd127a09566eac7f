"""What is shown of a run that is followed, whatever the host that starts its jobs answers."""

from __future__ import annotations

import base64
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from rackmark.run.run_plan import as_data
from rackmark.run.watched import Watched, line_on, to_be_told
from unit.plan_fixture import plan_of

ROOT = Path(__file__).parents[2]
PLAN = as_data(plan_of("1n1g"))
JOB = "rackmark:{}:1n1g:1"
RUNNING = {"job_id": 7, "name": JOB.format("r"), "state": "RUNNING"}


@pytest.fixture(scope="module")
def watch():
    spec = importlib.util.spec_from_file_location("watch", ROOT / "action_plugins/benchmark_watch.py")
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    return plugin


def answer(state=RUNNING, head="", tail="", troubles=(), run_id="r"):
    log = {name: base64.b64encode(text.encode()).decode() for name, text in (("head", head), ("tail", tail))}
    return {
        "states": {JOB.format(run_id): state},
        "logs": {JOB.format(run_id): log},
        "troubles": list(troubles),
        "quiet": {},
        "stuck": {},
    }


def test_the_line_is_made_of_the_bytes_that_the_host_sends():
    step = {"event": "step", "time": 1.0, "step": 4, "samples": 8, "seconds": 0.5, "loss": 7.0}
    shown = line_on(PLAN, answer(tail=f"torn line\nRACKMARK {json.dumps(step)}\n"))
    assert shown == "0 of 1 jobs done, about 3 s left; 1n1g r1 step 4/10, 16 samples/s"


def test_what_is_in_the_way_is_said_beside_what_is_known():
    shown = line_on(PLAN, answer(troubles=["/runs/r/cases/1n1g/r1 cannot be read: Permission denied"]))
    assert shown == (
        "0 of 1 jobs done; 1n1g r1 starting; /runs/r/cases/1n1g/r1 cannot be read: Permission denied, asking again"
    )
    held = {**answer(), "stuck": {JOB.format("r"): "it is held: 'scontrol release 7' lets it go"}}
    assert line_on(PLAN, held).endswith("; 1n1g r1 waits: it is held: 'scontrol release 7' lets it go")
    silent = {
        "states": {},
        "logs": {},
        "quiet": {},
        "stuck": {},
        "troubles": ["Slurm does not answer squeue: no route"],
    }
    assert line_on(PLAN, silent) == "Slurm does not answer squeue: no route, asking again"


def test_a_node_that_is_silent_is_named_in_the_place_of_a_rate_that_is_no_news():
    step = {"event": "step", "time": 1.0, "step": 4, "samples": 8, "seconds": 0.5, "loss": 7.0}
    silent = {**answer(tail=f"RACKMARK {json.dumps(step)}\n"), "quiet": {JOB.format("r"): {"node2": 45}}}
    assert line_on(PLAN, silent) == "0 of 1 jobs done; 1 more running; 1n1g r1 heard nothing of node2 for 45 s"


def told(runs, now, at_least_every=300.0):
    """What is said of these runs at that time."""
    return [f"{run.plan['run_id']}: {run.tell(now)}" for run in to_be_told(runs, now, at_least_every)]


def learn(run, state, now, done=False, troubles=()):
    known = {**answer(state, run_id=run.plan["run_id"], troubles=troubles), "done": done}
    run.learn({**known, "answered": not troubles}, now)


def in_state(word, reason=None):
    return {**RUNNING, "state": word, "reason": reason}


def test_of_several_runs_those_are_told_that_have_news():
    runs = [Watched({**PLAN, "run_id": name}, {}, answered=0.0) for name in "abc"]
    for run, word, done in zip(runs, ("COMPLETED", "RUNNING", "PENDING"), (True, False, False)):
        learn(run, in_state(word), 1.0, done)
    assert told(runs, 1.0) == ["a: 1 of 1 jobs done", "b: 0 of 1 jobs done; 1n1g r1 starting"]
    learn(runs[2], in_state("RUNNING"), 2.0)
    assert told(runs, 2.0) == ["c: 0 of 1 jobs done; 1n1g r1 starting"]
    assert told(runs, 6.0) == []
    assert told(runs, 7.0, at_least_every=5.0) == ["b: 0 of 1 jobs done; 1n1g r1 starting"]
    assert told(runs, 12.0, at_least_every=5.0) == ["c: 0 of 1 jobs done; 1n1g r1 starting"]
    waiting = [Watched({**PLAN, "run_id": name}, {}, answered=0.0) for name in "de"]
    for run in waiting:
        learn(run, in_state("PENDING"), 1.0)
    assert told(waiting, 1.0) == ["d: 0 of 1 jobs done; 1 waiting"]


def test_a_log_has_a_line_for_each_change_and_one_in_five_minutes():
    run = Watched({**PLAN, "run_id": "a"}, {}, answered=0.0)
    hour, lines = {0: ("PENDING", "Resources"), 600: ("PENDING", "PartitionDown"), 1800: ("RUNNING", None)}, []
    known = hour[0]
    for now in range(0, 3600, 10):
        known = hour.get(now, known)
        learn(run, in_state(*known), float(now))
        lines += [(now, line) for line in told([run], float(now))]
    assert [now for now, _ in lines] == list(range(0, 3600, 300))
    assert lines[2] == (600, "a: 0 of 1 jobs done; 1 waiting (PartitionDown)")
    learn(run, in_state("RUNNING"), 3400.0, troubles=["Slurm does not answer"])
    assert "Slurm does not answer, asking again" in told([run], 3400.0)[0]
    learn(run, in_state("RUNNING"), 3401.0)
    assert told([run], 3401.0) == ["a: 0 of 1 jobs done; 1n1g r1 starting"]
    for now, silent in ((3402.0, {JOB.format("a"): {"node2": 40}}), (3412.0, {JOB.format("a"): {"node2": 50}})):
        run.learn({**answer(in_state("RUNNING"), run_id="a"), "quiet": silent, "done": False, "answered": True}, now)
        assert len(told([run], now)) == (now == 3402.0)
    learn(run, in_state("RUNNING"), 3420.0, done=True)  # it wrote its end down before its queue knows
    assert len(told([run], 3420.0)) == 1


def test_jobs_that_are_stuck_are_given_up_when_they_were_for_long():
    run = Watched(PLAN, {}, answered=0.0)
    for now, stuck in ((10.0, "a"), (20.0, "ab"), (700.0, "ab")):
        run.learn({**answer(), "done": False, "answered": False, "stuck": dict.fromkeys(stuck, "held")}, now)
    assert (run.given_up(685, 700.0), run.given_up(600, 700.0), run.answered) == (["a"], ["a", "b"], 0.0)


@pytest.mark.parametrize("plan", [{**PLAN, "dialect": "klingon"}, {**PLAN, "steps": "many"}])
def test_logs_that_nobody_can_read_end_no_watch(plan):
    step = {"event": "step", "time": 1.0, "step": 4, "samples": 8, "seconds": 0.5, "loss": 7.0}
    shown = line_on(plan, answer(tail=f"RACKMARK {json.dumps(step)}\n"))
    assert "how far they are cannot be read (" in shown


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"msg": "The plan is torn."}, "The plan is torn."),
        ({"exception": "Traceback:\n  x\nPermissionError: [Errno 13]\n\n"}, "PermissionError: [Errno 13]"),
        ({"module_stderr": "bash: python3: not found\n"}, "bash: python3: not found"),
        ({}, "it has not said why"),
    ],
)
def test_a_module_that_fails_is_quoted(watch, said, sentence):
    assert sentence in watch.error_in({"failed": True, **said})


def test_a_module_that_breaks_down_leaves_a_sentence_and_the_way_back():
    arguments = json.dumps({"plan": {"run_id": "r"}, "run_dir": "/nonexistent", "launcher": "local"})
    command = [str(Path(sys.executable).parent / "ansible"), "localhost", "-m", "benchmark_watch", "-a", arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "None The jobs keep running" not in said
    assert "'jobs'" in said
    assert "The jobs keep running; resume the run with -e run_id=r -e launcher=local." in said


class Followed:
    """The action with answers put into its mouth, each as long in coming as it was told to wait at most."""

    def __init__(self, watch, monkeypatch, *answers, launcher="slurm"):
        self.now, self.lines, self.answers = 1000.0, [], list(answers)
        monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))
        arguments = {"plan": PLAN, "run_dir": "/runs/r", "launcher": launcher}
        task = SimpleNamespace(args=arguments, async_val=0, check_mode=False, action="benchmark_watch")
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/tmp/of/it"))
        self.action = watch.ActionModule(task, connection, None, None, None)
        self.action._execute_module = self.answer
        self.action._display = SimpleNamespace(display=self.lines.append)
        self.result = self.action.run(task_vars={})

    def sleep(self, seconds):
        self.now += seconds

    def answer(self, _name, module_args, task_vars):
        self.now += module_args["wait"]
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, Exception):
            raise said
        return said


def of_run(state=RUNNING, *, done=False, answered=True, troubles=()):
    return {**answer(state, troubles=troubles), "done": done, "answered": answered}


OVER = of_run({**RUNNING, "state": "COMPLETED"}, done=True)
CLOSED = "/runs/r/cases/1n1g/r1 cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (of_run(answered=False, troubles=[CLOSED]), CLOSED),
        ({"failed": True, "msg": "Module failed: [Errno 116] Stale file handle: '/runs/r'"}, "Stale file handle"),
        (
            {"failed": True, "exception": "Traceback:\n  x\nOSError: [Errno 28] No space left on device\n"},
            "No space left",
        ),
        (OSError(28, "No space left on device", "/tmp/ansible"), "No space left on device: '/tmp/ansible'"),
        (AnsibleConnectionFailure("ssh: no route to host"), "The connection is lost (ssh: no route to host)"),
        (AnsibleError("failed to open a file: [Errno 5] Input/output error"), "Input/output error"),
    ],
)
def test_what_cannot_be_asked_now_is_said_and_asked_again_until_all_jobs_have_ended(watch, monkeypatch, trouble, words):
    followed = Followed(watch, monkeypatch, of_run(), *[trouble] * 9, OVER)
    assert not followed.result.get("failed")
    assert followed.result["states"] == OVER["states"]
    told = [line for line in followed.lines if words in line]
    assert told, followed.lines
    assert all("asking again" in line for line in told)


@pytest.mark.parametrize(
    "trouble", [of_run(answered=False, troubles=[CLOSED]), OSError(13, "Permission denied", "/runs/r")]
)
def test_a_silence_that_does_not_end_ends_the_watch_with_a_sentence(watch, monkeypatch, trouble):
    followed = Followed(watch, monkeypatch, of_run(), trouble)
    assert followed.result["failed"]
    assert 1800 < followed.now - 1000 < 1900
    said = followed.result["msg"]
    assert said.startswith("There was no answer for 30 min: ")
    assert "Permission denied" in said
    assert "asking again" not in said
    assert ". The jobs keep running; resume the run with -e run_id=" in said


def test_a_cloud_that_is_away_is_waited_for_five_minutes(watch, monkeypatch):
    away = of_run(answered=False, troubles=["ModelArts at https://127.0.0.1 does not answer (refused)"])
    followed = Followed(watch, monkeypatch, of_run(), away, launcher="modelarts")
    assert followed.result["failed"]
    assert 300 < followed.now - 1000 < 400
    assert followed.result["msg"].startswith("There was no answer for 5 min: ModelArts at https://127.0.0.1 does not")
    again = f"resume the run with run_modelarts.yml -e run_id={PLAN['run_id']}."
    assert followed.result["msg"].endswith(f" The jobs keep running; {again}")
    assert followed.lines[0].strip() == f"Ctrl-C leaves the jobs alone; {again}"


def test_a_fault_that_no_waiting_mends_ends_the_watch_at_once(watch, monkeypatch):
    followed = Followed(watch, monkeypatch, {"failed": True, "msg": "The plan is torn."})
    assert followed.result["msg"].startswith("The plan is torn. The jobs keep running; resume the run with")
    with pytest.raises(AnsibleError, match="no such module"):
        Followed(watch, monkeypatch, AnsibleError("no such module"))
