"""run_mnist.yml with processes of this machine: Horovod and PyTorch, and what becomes of runs that go wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab.local_runs import Runs, wait_for
from lab.mnist_runs import MNIST, fashion_mnist, horovod, one, records
from lab.trainings import environment
from workload_code import code_of

SYNTHETIC = {"preset": "tiny", "cases": "1n2g", "repeats": 1}

# A stranger has the port that the ranks are to meet at.
PORT_TAKEN = """
if os.environ.get("RANK") == "0":
    stranger = socket.socket()
    stranger.bind((socket.gethostbyname(os.environ["MASTER_ADDR"]), int(os.environ["MASTER_PORT"])))
    stranger.listen()
    stranger.set_inheritable(True)
os.execv(PYTHON, [PYTHON, *sys.argv[1:]])
"""

# The program as it is, but for a line that is easily forgotten: ranks begin with weights of their own.
OWN_WEIGHTS = """
if sys.argv[1].endswith("train_horovod.py"):
    import horovod.tensorflow
    horovod.tensorflow.broadcast_variables = lambda variables, root_rank: None
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
os.execv(PYTHON, [PYTHON, *sys.argv[1:]])
"""


class MnistRuns(Runs):
    seconds_to_run, seconds_to_begin = 600, 200  # TensorFlow takes seconds to start, on a busy machine a minute

    def command(self, playbook, **variables):
        given = {"benchmark_workload": str(MNIST), "benchmark_devices_per_node": 2, **variables}
        return super().command(playbook, **given)

    def repeat(self, case="1n2g"):
        return self.shared() / "cases" / case / "r1"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one rank and of two, with everything that can be asked for."""
    runs = MnistRuns(tmp_path_factory.mktemp("finished"))
    flags = ["--tensorboard", "--checkpoints"]
    told = {"cases": "1n1g,1n2g", "repeats": 1, "benchmark_flags": flags, "benchmark_python": horovod()}
    done = runs.play("run.yml", data=str(fashion_mnist()), **told)
    assert done.returncode == 0, done.stdout
    return runs, done.stdout


@pytest.fixture
def runs(tmp_path):
    yield (made := MnistRuns(tmp_path))
    if made.processes():
        made.play("stop.yml", run_id=made.shared().name)


def wrapped(folder, program):
    """A Python that does something else first."""
    python = folder / "python"
    head = f"#!{horovod()}\nimport os, runpy, socket, sys\nPYTHON = {horovod()!r}\n"
    python.write_text(head + program)
    python.chmod(0o755)
    return str(python)


def test_one_rank_and_two_learn_what_clothes_look_like(finished):
    runs, _ = finished
    summary = runs.summary()
    assert (summary["state"], [case["case"] for case in summary["cases"]]) == ("ok", ["1n1g", "1n2g"])
    for case, ranks in (("1n1g", 1), ("1n2g", 2)):
        (run,) = next(each for each in summary["cases"] if each["case"] == case)["runs"]
        assert 0.75 <= run["accuracy"] <= 0.90
        said = [one(runs.repeat(case), rank, "eval") for rank in range(ranks)]
        assert {(each["images"], each["accuracy"]) for each in said} == {(10_000, run["accuracy"])}
        for rank in range(ranks):
            assert [step["step"] for step in records(runs.repeat(case), rank, "step")] == list(range(1, 96))
            start = one(runs.repeat(case), rank, "start")
            assert (start["framework"], start["parameters"], start["world_size"]) == ("horovod", 1_199_882, ranks)


def test_ranks_see_other_images_and_have_the_same_weights_in_the_end(finished):
    runs, _ = finished
    losses = [[step["loss"] for step in records(runs.repeat(), rank, "step")] for rank in (0, 1)]
    assert losses[0] != losses[1]
    assert all(sum(each[-10:]) < sum(each[:10]) / 2 for each in losses)
    ends = [one(runs.repeat(), rank, "end")["weights"] for rank in (0, 1)]
    assert ends[0] == ends[1] != one(runs.repeat("1n1g"), 0, "end")["weights"]


def test_the_first_rank_writes_for_tensorboard_and_keeps_the_model(finished):
    runs, told = finished
    assert (
        f"TensorBoard shows 2 repeats over the steps, on localhost: tensorboard --logdir {runs.shared()}/cases" in told
    )
    for case in ("1n1g", "1n2g"):
        assert len(list((runs.repeat(case) / "tensorboard").iterdir())) == 1
        assert [path.name for path in (runs.repeat(case) / "checkpoints").iterdir()] == ["checkpoint-1.keras"]
    (read,) = (runs.repeat() / "tensorboard").iterdir()
    words = "from tensorflow.compat.v1.train import summary_iterator as read; import sys\n"
    words += "print(*sorted({(v.tag, e.step) for e in read(sys.argv[1]) for v in e.summary.value}))"
    drawn = subprocess.run([horovod(), "-c", words, read], capture_output=True, text=True, check=True).stdout
    assert "('loss', 1)" in drawn and "('loss', 95)" in drawn and "('test_accuracy', 95)" in drawn


def test_horovodrun_starts_the_same_program_by_hand_on_the_hosts_of_a_repeat(finished, tmp_path):
    """As docs/mnist.md shows it."""
    runs, _ = finished
    hosts = runs.repeat() / "hostfile"
    assert hosts.read_text() == f"{os.uname().nodename} slots=2\n"
    code = runs.shared() / "code"
    horovodrun = [Path(horovod()).with_name("horovodrun"), "-np", "2", "-hostfile", hosts, horovod()]
    program = [code / "train_horovod.py", "--device=cpu", "--batch=4", "--warmup=1", "--steps=3"]
    done = subprocess.run(
        [*horovodrun, *program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition("RACKMARK ")[2] for line in done.stdout.splitlines() if "RACKMARK " in line]
    ends = [record["weights"] for record in map(json.loads, lines) if record["event"] == "end"]
    assert len(ends) == 2 and len(set(ends)) == 1


def test_pytorch_trains_the_same_network_and_both_can_be_compared(finished, runs):
    of_horovod, _ = finished
    told = {"framework": "pytorch", "cases": "1n2g", "repeats": 1, "benchmark_python": environment()}
    done = runs.play(data=str(fashion_mnist()), **told)
    assert done.returncode == 0, done.stdout
    (run,) = runs.repeats()
    assert run["state"] == "ok" and 0.75 <= run["accuracy"] <= 0.90
    start = one(runs.repeat(), 0, "start")
    assert (start["framework"], start["parameters"]) == ("pytorch", 1_199_882)
    assert start["data"] == one(of_horovod.repeat(), 0, "start")["data"]
    ends = [one(runs.repeat(), rank, "end")["weights"] for rank in (0, 1)]
    assert ends[0] == ends[1]

    compared = runs.play(
        "compare.yml", baseline=str(of_horovod.latest()), run=str(runs.latest()), tolerance="99%", cases=None
    )
    assert "1n2g passed: " in compared.stdout and "They also differ in framework, " in compared.stdout


def test_a_rank_that_is_killed_is_named_and_the_others_end_soon(runs):
    run = runs.begin(**{**SYNTHETIC, "steps": 100_000}, benchmark_python=horovod())
    killed = next(pid for pid in runs.ranks() if b"\0RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes())
    began = time.monotonic()
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: not runs.ranks(), seconds=30)
    assert time.monotonic() - began < 30
    assert run.wait(timeout=60) != 0
    (repeat,) = runs.repeats()
    assert (repeat["state"], repeat["throughput"]) == ("incomplete", None)
    assert repeat["reason"].startswith("Rank 1 logged ")


def test_a_port_that_is_taken_is_no_start(runs, tmp_path):
    done = runs.play(**SYNTHETIC, benchmark_python=wrapped(tmp_path, PORT_TAKEN))
    assert done.returncode != 0
    (repeat,) = runs.repeats()
    assert repeat["state"] == "launch_failed"
    assert "train_horovod.py: the ranks cannot meet at " in repeat["reason"]
    assert ": Address already in use" in repeat["reason"]
    assert runs.processes() == {}


def test_ranks_with_unequal_weights_are_no_result(runs, tmp_path):
    done = runs.play(**SYNTHETIC, benchmark_python=wrapped(tmp_path, OWN_WEIGHTS))
    assert done.returncode != 0
    (repeat,) = runs.repeats()
    assert (repeat["state"], repeat["throughput"]) == ("rule_failed", None)
    assert "In the end the weights of rank 1 add up to " in repeat["reason"]


def test_data_that_is_cut_off_is_named_before_anything_starts(runs, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(fashion_mnist(), data)
    cut = data / "train-images-idx3-ubyte.gz"
    os.truncate(cut, cut.stat().st_size // 2)
    done = runs.play(cases="1n2g", repeats=1, data=str(data), benchmark_python=horovod())
    assert done.returncode != 0
    (repeat,) = runs.repeats()
    assert repeat["state"] == "preflight_failed"
    assert f"{cut} is a compressed file that is cut off or damaged." in repeat["reason"]
    assert not list(runs.repeat().glob("rank-*.log"))


def test_what_the_programs_cannot_do_is_a_sentence(tmp_path):
    code = code_of(MNIST)
    for python, script, flags, sentence in (
        (horovod(), "train_horovod.py", ["--device=cuda"], "--device cuda needs an NVIDIA GPU and a TensorFlow made"),
        (environment(), "train_pytorch.py", ["--tensorboard"], "--tensorboard needs framework=horovod, whose"),
    ):
        command = [python, code / script, *flags]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{script}: {sentence}" in done.stderr and "Traceback" not in done.stderr
