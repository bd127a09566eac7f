"""PyTorch's training script: two ranks on this machine's loopback, in the environment that a run would have."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from lab.training_programs import DEVICE_INDEX, DRAW_TREE, ORDERS, RECOMPUTE, SIZES
from lab.trainings import EVENT, Training, losses, perf_log
from lab.trainings import RESNET50 as WORKLOAD
from workload_code import code_of

CODE = code_of(WORKLOAD)
SCRIPT = CODE / "train_pytorch.py"
SMALL = ["--device=cpu", "--batch=2", "--image-size=33", "--warmup=1", "--deterministic"]
VALIDATION_IMAGES = 11


@pytest.fixture(scope="session")
def pictures(python, tmp_path_factory):
    """A tree of noise in three classes that differ in their colour."""
    root = tmp_path_factory.mktemp("pictures") / "tree"
    subprocess.run([python, "-c", DRAW_TREE, root], check=True)
    return root


@pytest.fixture(scope="session")
def uninterrupted(python, tmp_path_factory):
    """What two ranks log of twelve deterministic steps."""
    return Training(python, SCRIPT, tmp_path_factory.mktemp("uninterrupted")).run(*SMALL, "--steps=11")


def test_each_rank_logs_its_start_every_step_and_its_end(uninterrupted):
    for rank, records in enumerate(uninterrupted):
        assert [record["event"] for record in records] == ["start", *["step"] * 12, "end"]
        start = records[0]
        assert (start["rank"], start["world_size"], start["device"]) == (rank, 2, "cpu")
        assert (start["parameters"], start["data"], start["deterministic"]) == (25_557_032, "synthetic", True)
        assert "resumed_from" not in start
        assert list(losses(records)) == list(range(1, 13))
    assert losses(uninterrupted[0]) != losses(uninterrupted[1])


def test_seconds_of_the_steps_add_up_to_the_time_they_took(uninterrupted):
    steps = [record for record in uninterrupted[0] if record["event"] == "step"]
    assert sum(step["seconds"] for step in steps[1:]) == pytest.approx(steps[-1]["time"] - steps[0]["time"], abs=0.05)


def test_a_killed_training_goes_on_from_its_checkpoint_as_if_nothing_had_happened(training, uninterrupted):
    flags = [*SMALL, "--steps=11", f"--checkpoint={training.folder}/kept", "--checkpoint-every=3"]
    training.start(*flags)
    training.wait_for("checkpoint")
    training.kill()
    before = [losses(training.records(rank)) for rank in range(2)]
    after = training.run(*flags, "--resume")
    resumed_from = after[0][0]["resumed_from"]
    assert resumed_from % 3 == 0 < resumed_from < 12
    for rank in range(2):
        expected = losses(uninterrupted[rank])
        # The same seed gave the same losses in another process, up to the kill and after it.
        assert before[rank].items() <= expected.items() and resumed_from in before[rank]
        assert losses(after[rank]) == {step: loss for step, loss in expected.items() if step > resumed_from}
    assert [path.name for path in (training.folder / "kept").iterdir()] == ["resnet50.pt"]

    training.start(*SMALL, "--batch=3", "--steps=20", f"--checkpoint={training.folder}/kept", "--resume", ranks=1)
    assert training.ended() == [2]
    assert "was made with --batch 2 instead of 3, world size 2 instead of 1" in training.said()
    training.start(*flags)
    assert training.ended() == [2, 2]
    assert "holds a checkpoint: add --resume to go on from it, or name another folder" in training.said()
    training.start(*flags, "--resume")
    assert training.ended() == [2, 2]
    assert "is of step 12: --warmup and --steps ask for no more" in training.said()


def test_resume_without_a_checkpoint_begins_at_the_first_step_and_says_so(training):
    (records,) = training.run(*SMALL, "--steps=1", f"--checkpoint={training.folder}/kept", "--resume", ranks=1)
    assert records[0]["resumed_from"] == 0
    assert list(losses(records)) == [1, 2]


def test_images_in_folders_are_learned_and_every_one_is_evaluated_once(training, pictures):
    kept = training.folder / "kept"
    flags = [*SMALL, "--batch=8", "--steps=23", f"--data={pictures}", "--workers=1", f"--checkpoint={kept}"]
    both = training.run(*flags, "--evaluate-every=12")
    first, last = [record for record in both[0] if record["event"] == "eval"]
    assert both[0][0]["data"] == "25 training and 11 validation images of 3 classes"
    assert (first["step"], last["step"]) == (12, 24)
    assert first["images"] == last["images"] == VALIDATION_IMAGES
    for other in (record for record in both[1] if record["event"] == "eval"):
        assert any(other["accuracy"] == mine["accuracy"] and other["loss"] == mine["loss"] for mine in (first, last))

    (after,) = [record for record in both[0] if record["event"] == "step" and record["step"] == 13]
    assert after["seconds"] <= after["time"] - first["time"] + 0.01  # without the evaluation before it

    command = [training.python, "-c", RECOMPUTE, CODE, kept, pictures]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    accuracy, loss, images = map(float, told.split())
    assert images == VALIDATION_IMAGES
    assert last["accuracy"] == pytest.approx(accuracy)
    assert last["loss"] == pytest.approx(loss, rel=0.01, abs=1e-4)
    assert last["accuracy"] > 0.9


def test_mobilenetv2_is_another_network_of_the_same_training(training):
    both = training.run(*SMALL, "--network=mobilenetv2", "--steps=4")
    for records in both:
        assert (records[0]["model"], records[0]["parameters"]) == ("mobilenetv2", 3_504_872)
        assert len(losses(records)) == 5
    assert losses(both[0]) != losses(both[1])


def test_networks_have_the_published_parameters_and_operations(python):
    command = [python, "-c", SIZES, CODE]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told == {"resnet50": [25_557_032, 4.089], "mobilenetv2": [3_504_872, 0.301]}


def test_a_training_ends_at_its_target_which_is_looked_at_after_each_epoch(training, pictures):
    kept = training.folder / "kept"
    flags = [*SMALL, "--batch=4", "--steps=60", f"--data={pictures}", "--workers=1", f"--checkpoint={kept}"]
    both = training.run(*flags, "--target-accuracy=0.6")
    (steps,) = {records[-1]["steps"] for records in both}
    assert steps < 61 and steps % 3 == 0  # 25 images are three steps of two batches of four
    evaluations = [record for record in both[0] if record["event"] == "eval"]
    assert [record["step"] for record in evaluations] == list(range(3, steps + 1, 3))
    assert evaluations[-1]["accuracy"] >= 0.6 > max((one["accuracy"] for one in evaluations[:-1]), default=0)
    (record,) = perf_log(training.said())
    value = record["value"]
    assert (value["converged"], value["final_acc1"]) == (True, pytest.approx(100 * evaluations[-1]["accuracy"]))
    assert perf_log(training.said(1)) == []
    command = [training.python, "-c", RECOMPUTE, CODE, kept, pictures]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(told.split()[0]) == pytest.approx(evaluations[-1]["accuracy"])  # the checkpoint is of the end


def test_an_epoch_has_each_image_at_most_once_over_all_ranks_and_the_next_one_another_order(python):
    command = [python, "-c", ORDERS, CODE]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, second, late = json.loads(told)
    assert all(len(batch) == 2 for batch in first + second)
    epochs = {0: [], 1: [], 2: []}
    for batch in first + second:
        for epoch, index in batch:
            epochs[epoch].append(index)
    assert all(len(indices) == len(set(indices)) == 8 for indices in epochs.values())
    assert epochs[0] != epochs[1] != epochs[2]
    assert late == second[3:]


def test_an_image_that_cannot_be_read_is_named(training, pictures):
    broken = training.folder / "tree"
    for part in ("train", "val"):
        (broken / part / "red").mkdir(parents=True)
        (broken / part / "red/1.png").write_bytes(b"no image")
    training.start(*SMALL, "--batch=1", f"--data={broken}", "--workers=1", ranks=1)
    assert training.ended() == [1]
    (sentence,) = [line for line in training.said().splitlines() if not line.startswith(EVENT)]
    assert sentence.startswith(f"train_pytorch.py: the image {broken}/train/red/1.png cannot be read: ")


def test_sigterm_ends_a_rank_that_waits_for_another(training):
    training.start(*SMALL, "--steps=1000")
    training.wait_for("step")
    waiting, stopped = training.processes
    stopped.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    waiting.terminate()
    assert waiting.wait(timeout=10) == 128 + signal.SIGTERM
    assert training.said().endswith("train_pytorch.py: ended by SIGTERM before its last step\n")


def test_a_rank_whose_peer_is_gone_says_so_and_fails(training):
    training.start(*SMALL, "--steps=1000")
    training.wait_for("step")
    training.processes[1].kill()
    assert training.processes[0].wait(timeout=30) == 1
    assert "train_pytorch.py: rank 0 of 2 cannot go on: " in training.said()
    assert "Traceback" not in training.said()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--batch=0"], "argument --batch: '0' is not a whole number of at least 1"),
        (["--precision=fp16", "--device=cpu"], "--precision fp16 needs an accelerator: on the CPU use fp32 or bf16"),
        (["--device=cuda"], "LOCAL_RANK=0 has no cuda device of its own: this process sees none of them"),
        (["--device=npu"], "--device npu needs the package torch_npu, which cannot be loaded: "),
        (["--evaluate-every=5"], "--evaluate-every 5 needs --data: synthetic images are not evaluated"),
        (["--target-accuracy=0.7"], "--target-accuracy and --target-loss need --data: synthetic images are not"),
        (["--resume"], "--resume needs --checkpoint DIR"),
        (["--data=/nowhere"], "each with a folder per class: /nowhere/train is missing"),
        (["--checkpoint=/dev/null"], "--checkpoint /dev/null cannot be written to: "),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_sentence(training, flags, sentence):
    training.start(*flags, ranks=1)
    assert training.ended() == [2]
    assert sentence in training.said()
    assert training.said().count("\n") == 1


@pytest.mark.parametrize(
    ("local_rank", "visible", "outcome"),
    [
        (3, 8, "3\n"),
        (3, 1, "0\n"),  # the scheduler has left this rank a single device
        (3, 2, "LOCAL_RANK=3 has no cuda device of its own: this process sees 2 of them"),
    ],
)
def test_a_rank_takes_its_own_device_of_those_it_sees(local_rank, visible, outcome):
    command = [sys.executable, "-c", DEVICE_INDEX, str(CODE), str(local_rank), str(visible)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome in done.stdout + done.stderr


def test_too_few_images_for_a_step_are_refused(training, pictures):
    training.start(*SMALL, "--batch=13", f"--data={pictures}")
    assert training.ended() == [2, 2]
    assert "25 training images are too few for a step of 2 x --batch 13" in training.said()


def test_without_pillow_a_sentence_says_what_is_missing(training, pictures):
    (training.folder / "PIL.py").write_text("raise ImportError('PIL is not here')\n")
    training.start(*SMALL, f"--data={pictures}", ranks=1, PYTHONPATH=training.folder)
    assert training.ended() == [2]
    assert "--data needs Pillow and NumPy where the training runs: PIL is not here" in training.said()
