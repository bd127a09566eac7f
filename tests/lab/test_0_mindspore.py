"""MindSpore's training script, one rank and two on the loopback, in the environment that a run would have."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from rackmark.dialects.catalog import dialect_named
from rackmark.logs.series import Window
from unit.dialect_fixture import intervals
from workload_code import code_of

ROOT = Path(__file__).parents[2]
WORKLOAD = ROOT / "workloads/resnet50"
CODE = code_of(WORKLOAD)
ENVIRONMENTS = ROOT / ".cache/test-envs"
SMALL = ["--device=cpu", "--batch=2", "--image-size=33", "--warmup=1"]
PATIENCE = 90


class Log:
    """What a rank says, as the dialect reads it, and its records of the start and the end as they stand."""

    def __init__(self, text):
        reading = dialect_named("mindspore").read_text(text.encode(), Window(0, None))
        self.samples, self.evaluations = intervals(reading), reading.evaluations
        records = [json.loads(line[9:]) for line in text.splitlines() if line.startswith("RACKMARK {")]
        by_event = {record["event"]: record for record in records}
        self.start, self.end = by_event.get("start"), by_event.get("end")


read = Log

DRAW_TREE = """
import sys
from pathlib import Path
import numpy
from PIL import Image
chance = numpy.random.default_rng(0)
for part, count in (("train", 4), ("val", 3)):
    for channel, name in enumerate(("blue", "green", "red")):
        folder = Path(sys.argv[1], part, name)
        folder.mkdir(parents=True)
        for number in range(count - (part == "val" and channel == 0)):
            pixels = chance.integers(0, 90, (40, 50, 3), dtype=numpy.uint8)
            pixels[..., channel] += 150
            Image.fromarray(pixels).save(folder / f"{number}.png")
"""

# The script under a learning rate that no training survives.
DIVERGE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import train_mindspore, trainer_mindspore, outcome
trainer_mindspore.LEARNING_RATE = 1e20
outcome.run(train_mindspore.PROGRAM, train_mindspore.main)
"""

# The script, while somebody sets the clock back by an hour.
SET_CLOCK = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
import train_mindspore, outcome
wall, set_back = time.time, [0]
time.time = lambda: wall() - set_back[0]
begin = train_mindspore.TimeLine.on_train_epoch_begin
def begin_and_set_clock(self, context):
    begin(self, context)
    set_back[0] = 3600
train_mindspore.TimeLine.on_train_epoch_begin = begin_and_set_clock
outcome.run(train_mindspore.PROGRAM, train_mindspore.main)
"""


@pytest.fixture(scope="session")
def python():
    """The interpreter of the environment that a run would build from the workload's pins."""
    needs = yaml.safe_load((WORKLOAD / "workload.yml").read_text())["frameworks"]["mindspore"]["environment"]
    asked = {
        "directory": str(ENVIRONMENTS),
        "name": "resnet50-mindspore",
        "requirements": needs["requirements"]["cpu"],
    }
    command = ["ansible", "localhost", "-i", "/dev/null", "-m", "benchmark_environment", "-a", json.dumps(asked)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.partition("=>")[2])["python"]


@pytest.fixture
def training(python, tmp_path):
    training = Training(python, tmp_path)
    yield training
    training.kill()


class Training:
    def __init__(self, python, folder):
        self.python, self.folder = python, folder
        self.processes = []

    def start(self, *flags, ranks=1, program=(str(CODE / "train_mindspore.py"),)):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.kill()
        command = [self.python, *program, *SMALL, *flags]
        self.processes = [self._start_rank(rank, ranks, port, command) for rank in range(ranks)]

    def _start_rank(self, rank, ranks, port, command):
        given = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": ranks,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "OMP_NUM_THREADS": 1,
        }
        env = {**os.environ, **{name: str(value) for name, value in given.items()}}
        with self._log(rank).open("w") as log:
            return subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=subprocess.STDOUT)

    def _log(self, rank):
        return self.folder / f"rank-{rank}.log"

    def said(self, rank=0):
        return self._log(rank).read_text()

    def ended(self):
        return [process.wait(timeout=PATIENCE) for process in self.processes]

    def run(self, *flags, ranks=1):
        """The log of each rank of a training that goes well."""
        self.start(*flags, ranks=ranks)
        statuses = self.ended()
        assert set(statuses) == {0}, self.said(statuses.index(max(statuses)))
        return [read(self.said(rank)) for rank in range(ranks)]

    def wait_for_samples(self):
        deadline = time.monotonic() + PATIENCE
        while not all(read(self.said(rank)).samples for rank in range(len(self.processes))):
            assert time.monotonic() < deadline and self.processes[0].poll() is None, self.said()
            time.sleep(0.05)

    def schedulers(self):
        """MindSpore's meeting place: a process that the first rank starts."""
        first = str(self.processes[0].pid)
        commands = [path.read_bytes().split(b"\0") for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path)]
        return [words for words in commands if words[-2:-1] == [first.encode()] and b"scheduler" in words[-3]]

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()


def readable(path):
    try:
        return path.read_bytes().count(b"\0") >= 3
    except OSError:  # the process has ended
        return False


def losses(log):
    return {sample.step: sample.loss for sample in log.samples}


@pytest.fixture(scope="session")
def pictures(python, tmp_path_factory):
    root = tmp_path_factory.mktemp("pictures") / "tree"
    subprocess.run([python, "-c", DRAW_TREE, root], check=True)
    return root


@pytest.fixture(scope="session")
def alone(python, tmp_path_factory):
    training = Training(python, tmp_path_factory.mktemp("alone"))
    (log,) = training.run("--steps=4")
    return training.said(), log


def test_a_rank_prints_mindspores_own_lines_and_they_are_read(alone):
    text, log = alone
    assert "\nepoch: 5 step: 1, loss is " in text and "\nTrain epoch time: " in text
    assert (log.start["framework"], log.start["parameters"], log.start["data"]) == (
        "mindspore",
        25_557_032,
        "synthetic",
    )
    assert [sample.step for sample in log.samples] == [1, 2, 3, 4, 5]
    assert sum(sample.samples for sample in log.samples) == 2 * 5
    assert log.end["steps"] == 5


def test_seconds_of_the_samples_add_up_to_the_time_they_took(alone):
    _, log = alone
    assert sum(sample.seconds for sample in log.samples) == pytest.approx(log.end["time"] - log.start["time"], abs=0.3)
    assert log.samples[-1].time == pytest.approx(log.end["time"], abs=0.3)


def test_a_clock_that_is_set_changes_no_time(training):
    training.start("--steps=4", program=("-c", SET_CLOCK, str(CODE)))
    assert training.ended() == [0], training.said()
    log = read(training.said())
    assert log.end["time"] < log.start["time"]
    assert [sample.step for sample in log.samples] == [1, 2, 3, 4, 5]
    passed = log.end["monotonic"] - log.start["monotonic"]
    assert sum(sample.seconds for sample in log.samples) == pytest.approx(passed, abs=0.3)
    assert log.samples[-1].time == pytest.approx(log.start["time"] + passed, abs=0.3)


def test_two_ranks_train_one_model_and_count_every_validation_image(training, pictures):
    flags = [f"--data={pictures}", "--workers=2", "--evaluate-every=2", f"--checkpoint={training.folder}/kept"]
    logs = training.run(*flags, "--steps=2", ranks=2)
    for rank, log in enumerate(logs):
        assert (log.start["rank"], log.start["world_size"]) == (rank, 2)
        assert log.start["data"] == "12 training and 8 validation images of 3 classes"
        assert sum(sample.samples for sample in log.samples) == 2 * 3
        assert [evaluation.step for evaluation in log.evaluations] == [2, 3]
        assert all(evaluation.accuracy * 8 == int(evaluation.accuracy * 8) for evaluation in log.evaluations)
    assert logs[0].evaluations[-1].loss == logs[1].evaluations[-1].loss
    assert losses(logs[0]) != losses(logs[1])
    assert not training.schedulers()


def test_a_training_goes_on_from_its_checkpoint_as_if_nothing_had_happened(training, alone):
    flags = [f"--checkpoint={training.folder}/kept", "--resume"]
    (before,) = training.run("--steps=2", *flags)
    (after,) = training.run("--steps=4", *flags)
    assert (before.start["resumed_from"], after.start["resumed_from"]) == (0, 3)
    assert list(losses(after)) == [4, 5]
    assert {**losses(before), **losses(after)} == losses(alone[1])


def test_a_loss_that_is_no_number_ends_the_training_and_is_in_its_log(training):
    training.start("--steps=9", program=("-c", DIVERGE, str(CODE)))
    assert training.ended() == [1]
    last = read(training.said()).samples[-1]
    assert abs(last.loss) == float("inf")  # which stands for nan, too
    said = rf"^train_mindspore\.py: the loss of step {last.step} is (nan|-?inf): training cannot go on from there$"
    assert re.search(said, training.said(), re.MULTILINE)


def test_nothing_stays_behind_when_the_first_rank_is_killed(training):
    training.start("--steps=999", ranks=2)
    training.wait_for_samples()
    assert len(training.schedulers()) == 1
    training.processes[0].send_signal(signal.SIGKILL)
    training.processes[0].wait()
    training.processes[1].terminate()
    assert training.processes[1].wait(timeout=10) == 128 + signal.SIGTERM
    assert not training.schedulers()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--device=cuda"], "--device cuda is not for MindSpore here: use cpu or npu, or train_pytorch.py for cuda"),
        (["--precision=bf16"], "--precision bf16 needs an NPU: on the CPU use fp32"),
    ],
)
def test_what_mindspore_cannot_do_is_refused(training, flags, sentence):
    training.start(*flags)
    assert training.ended() == [2]
    assert training.said() == f"train_mindspore.py: {sentence}\n"
