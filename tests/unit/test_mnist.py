"""What the programs of MNIST have in common, without a framework: their data, its order, and the lines of a rank."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from rackmark.dialects.catalog import dialect_named, known_names
from rackmark.logs.series import Window
from rackmark.run.asked import Asked
from rackmark.run.place import Place
from rackmark.run.plan import make_plan
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import read_folder
from unit.dialect_fixture import intervals
from unit.idx_fixture import idx, packed, write_mnist
from workload_code import code_of

WORKLOAD = Path(__file__).parents[2] / "workloads/mnist"
MNIST = workload_from(read_folder(WORKLOAD, dict.fromkeys(known_names())))
CPUS = Place(nodes=4, devices_per_node=1, accelerator="none", resource="", device="cpu")

# Indices of each rank's batches, and what the test images of all ranks are: an image is as bright as its index.
READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
import digits, flags
from outcome import UsageError
from ranks import Ranks
asked = flags.parse("", None, sys.argv[3:])
def indices(batches):
    return [[round(float(pixels[0, 0]) * 255) for pixels in batch.pixels] for batch in batches]
try:
    ranks = [digits.open_digits(asked, Ranks(rank, rank, int(sys.argv[2]))) for rank in range(int(sys.argv[2]))]
except UsageError as error:
    print(json.dumps(str(error)))
else:
    first = next(ranks[0].training())
    print(json.dumps({
        "about": str(ranks[0]), "size": ranks[0].size, "classes": ranks[0].classes, "epoch": ranks[0].epoch,
        "training": [indices(one.training()) for one in ranks],
        "test": [indices(one.test()) for one in ranks],
        "labels": first.labels.tolist(), "shape": first.pixels.shape, "type": str(first.pixels.dtype),
    }))
"""

# A training whose network is a number that each step makes smaller.
TRAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import digits, flags, outcome, training
from ranks import Ranks
class Halving:
    loss = 8.0
    def facts(self): return {"device": "cpu"}
    def parameter_count(self): return 1
    def step(self, batch):
        Halving.loss = Halving.loss / 2 if sys.argv[2] == "well" else float("inf")
        return Halving.loss
    def scores(self, batches):
        labels = [int(label) for batch in batches for label in batch.labels]
        return len(labels), sum(label == 0 for label in labels), 0.5 * len(labels)
    def total(self, numbers): return numbers
    def weights(self): return Halving.loss
    def save(self, epoch): open(f"checkpoint-{epoch}", "x").close()
class Board:
    def draw(self, name, step, number): print("drawn", name, step, number)
    def close(self): print("closed")
def main(arguments):
    asked, ranks = flags.parse("", None, arguments[2:]), Ranks(0, 0, 1)
    training.Training(asked, ranks, digits.open_digits(asked, ranks), Halving(), Board).run()
outcome.run("train.py", main)
"""


def python(program, *words, folder=None, status=0):
    command = [sys.executable, "-c", program, code_of(WORKLOAD), *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def read(ranks, *flags):
    return json.loads(python(READ, ranks, *flags).stdout)


def test_images_are_read_as_they_are_and_shuffled_once_an_epoch(tmp_path):
    folder = write_mnist(tmp_path / "data", train=50, test=7)
    found = read(1, f"--data={folder}", "--batch=10", "--warmup=0", "--steps=10")
    assert found["about"].startswith("50 training and 7 test images (")
    assert (found["size"], found["classes"], found["epoch"]) == ([28, 28], 10, 5)
    assert (found["shape"], found["type"]) == ([10, 28, 28], "float32")
    (steps,) = found["training"]
    assert found["labels"] == [index % 10 for index in steps[0]]
    first, second = (list(chain(*steps[begin : begin + 5])) for begin in (0, 5))
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second and first != sorted(first)
    assert list(chain(*found["test"][0])) == list(range(7))


def test_ranks_share_the_images_of_an_epoch_and_those_of_the_test(tmp_path):
    folder = write_mnist(tmp_path / "data", train=50, test=7)
    found = read(3, f"--data={folder}", "--batch=5", "--warmup=0", "--steps=3")
    seen = [index for rank in found["training"] for step in rank for index in step]
    assert len(seen) == len(set(seen)) == 45  # what is left is too little for a step
    assert sorted(index for rank in found["test"] for batch in rank for index in batch) == list(range(7))
    assert read(3, f"--data={folder}", "--batch=5", "--warmup=0", "--steps=3") == found
    assert read(3, f"--data={folder}", "--batch=5", "--warmup=0", "--steps=3", "--seed=2") != found


def test_without_data_every_rank_has_noise_of_its_own():
    found = read(2, "--batch=3", "--warmup=0", "--steps=2")
    assert (found["about"], found["size"], found["classes"], found["epoch"]) == ("synthetic", [28, 28], 10, None)
    assert found["training"][0][0] == found["training"][0][1] != found["training"][1][0]
    assert found["test"] == [[], []]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("train-images-idx3-ubyte", None, "{} has no train-images-idx3-ubyte (or .gz): --data is the folder"),
        ("train-images-idx3-ubyte", idx(6, (28, 28))[:-1], "holds 4704 bytes after its head, and holds 4703"),
        ("train-images-idx3-ubyte", idx(6), "{}/train-images-idx3-ubyte is no IDX file of images"),
        ("train-images-idx3-ubyte", b"", "{}/train-images-idx3-ubyte is no IDX file of images"),
        ("t10k-images-idx3-ubyte", idx(2, (9, 9)), "are (28, 28) in train-* and (9, 9) in t10k-*"),
        ("t10k-labels-idx1-ubyte.gz", packed(idx(2))[:-9], "{}/t10k-labels-idx1-ubyte.gz cannot be read: "),
        ("t10k-labels-idx1-ubyte.gz", packed(idx(3)), "{}/t10k-* has 2 images and 3 labels"),
        ("t10k-labels-idx1-ubyte.gz", packed(b"\0\0"), "{}/t10k-labels-idx1-ubyte.gz is no IDX file of labels"),
    ],
)
def test_files_that_are_not_whole_are_named(tmp_path, name, content, sentence):
    folder = write_mnist(tmp_path / "data")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    assert sentence.format(folder) in read(1, f"--data={folder}", "--batch=2")


def test_images_that_are_too_few_or_too_small(tmp_path):
    few = write_mnist(tmp_path / "few")
    assert read(2, f"--data={few}", "--batch=4") == "6 training images are too few for a step of 2 x --batch 4"
    small = write_mnist(tmp_path / "small", size=(5, 28))
    assert read(1, f"--data={small}", "--batch=2") == (
        f"the images of {small} are 5 x 28: this network takes 6 x 6 or more"
    )


def test_a_rank_says_its_steps_its_evaluation_and_its_weights(tmp_path):
    folder = write_mnist(tmp_path / "data", train=8, test=20)
    text = python(TRAIN, "well", f"--data={folder}", "--batch=4", "--warmup=1", "--steps=4", folder=tmp_path).stdout
    reading = dialect_named("rackmark").read_text(text.encode(), Window(1, None))
    steps = intervals(reading)
    assert [(step.step, step.samples, step.loss) for step in steps] == [
        (number, 4, 8 / 2**number) for number in range(1, 6)
    ]
    (evaluation,) = reading.evaluations
    assert (evaluation.step, evaluation.accuracy, evaluation.loss) == (5, 0.1, 0.5)
    assert reading.facts["weights"] == 8 / 2**5
    assert "drawn" not in text and not list(tmp_path.glob("checkpoint-*"))


def test_a_model_is_kept_after_each_epoch_and_numbers_are_drawn_where_that_is_asked_for(tmp_path):
    folder = write_mnist(tmp_path / "data", train=8, test=20)
    flags = [f"--data={folder}", "--batch=4", "--warmup=1", "--steps=4", "--checkpoints", "--tensorboard"]
    lines = python(TRAIN, "well", *flags, folder=tmp_path).stdout.splitlines()
    records = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("RACKMARK ")]
    assert [one["step"] for one in records if one["event"] == "checkpoint"] == [2, 4, 5]
    assert sorted(path.name for path in tmp_path.glob("checkpoint-*")) == [f"checkpoint-{n}" for n in (1, 2, 3)]
    drawn = [line.split() for line in lines if not line.startswith("RACKMARK ")]
    assert drawn[:5] == [["drawn", "loss", str(n), str(8 / 2**n)] for n in range(1, 6)]
    assert drawn[5:] == [["drawn", "test_accuracy", "5", "0.1"], ["closed"]]


def test_a_loss_that_is_no_number_ends_the_training_and_is_in_its_log():
    done = python(TRAIN, "badly", "--batch=4", "--warmup=0", "--steps=4", status=1)
    (step,) = intervals(dialect_named("rackmark").read_text(done.stdout.encode(), Window(0, None)))
    assert (step.step, step.loss) == (1, math.inf)
    assert done.stderr == "train.py: the loss of step 1 is inf: training cannot go on from there\n"


@pytest.mark.parametrize("framework", MNIST.frameworks)
@pytest.mark.parametrize("preset", MNIST.presets)
def test_a_preset_reaches_both_programs(preset, framework):
    plan = make_plan(MNIST, Asked(preset=preset, framework=framework), "run", CPUS)
    _, script, *words = plan.program_of(plan.jobs[0], "/runs/r", "/env/python")
    assert script == f"/runs/r/code/train_{framework}.py"
    parse = "import json, sys; sys.path.insert(0, sys.argv[1]); import flags\n"
    told = json.loads(
        python(f"{parse}print(json.dumps(vars(flags.parse('', None, sys.argv[2:])), default=str))", *words).stdout
    )
    assert (told["batch"], told["warmup"], told["steps"]) == (plan.cases[0].batch_per_device, plan.warmup, plan.steps)
    assert (told["device"], told["tensorboard"], told["checkpoints"]) == ("cpu", False, False)
    data = MNIST.presets[preset].data
    assert (told["data"], plan.data_package) == ((data.folder, data.package) if data else (None, ""))
    assert plan.meet == {"horovod": "horovod", "pytorch": "torch"}[framework]


def test_data_of_ones_own_takes_the_place_of_the_presets():
    plan = make_plan(MNIST, Asked(preset="lab", data="/digits"), "run", CPUS)
    assert plan.program_of(plan.jobs[0], "/runs/r", "/env/python")[-2:] == ["--data", "/digits"]
    assert (plan.data, plan.data_package) == ("/digits", "")


def test_horovod_is_built_with_nccl_for_gpus_alone():
    software = MNIST.frameworks["horovod"].software
    (on_cpu,), (on_cuda,) = (software.on(device)["build"] for device in ("cpu", "cuda"))
    assert "HOROVOD_GPU_OPERATIONS" not in on_cpu["environ"] and "libnccl-dev" not in on_cpu["needs"]
    assert on_cuda["environ"] == {**on_cpu["environ"], "HOROVOD_GPU_OPERATIONS": "NCCL"}


def test_what_does_without_horovod_where_it_cannot_be_built():
    assert MNIST.instead_of("horovod", "cpu") == ["-e framework=pytorch", "-e runtime=docker and an image that has it"]
