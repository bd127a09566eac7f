"""BERT's training script: one and two ranks on this machine's loopback, until a target is reached."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path

import pytest
from lab.trainings import Training, perf_log
from rackmark.dialects.catalog import dialect_named
from rackmark.logs.log_file import LogFile
from rackmark.logs.series import Window
from rackmark.run.measures import default_measure, with_time_to_target
from rackmark.run.rules import condition
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import read_folder
from unit.judged import ASKED, judged
from workload_code import code_of

ROOT = Path(__file__).parents[2]
WORKLOAD = ROOT / "workloads/bert"
CODE = code_of(WORKLOAD)
SCRIPT = CODE / "train_pytorch.py"
SMALL = ["--device=cpu", "--deterministic"]  # the defaults of its flags are the preset lab
TARGET = "--target-accuracy=0.72"
EVALUATED = 256
PLACES = 10  # masked of 64

# Runs the script, and rank 0 keeps the network as it was at its first evaluation.
KEEPING = """
import sys
sys.path.insert(0, sys.argv[1])
kept = sys.argv[2]
sys.argv = sys.argv[2:]
import torch, outcome, train_pytorch, trainer
evaluate = trainer.Trainer.evaluate
def keeping(self, batches):
    if self.ranks.rank == 0:
        torch.save(self.network.state_dict(), kept)
    return evaluate(self, batches)
trainer.Trainer.evaluate = keeping
outcome.run("train_pytorch.py", train_pytorch.main)
"""

# Accuracy and loss of that network, sequence by sequence, with the network and the masked text alone of the code under
# test.
RECOMPUTE = """
import math, sys
sys.path.insert(0, sys.argv[1])
import torch, flags, model, text
asked = flags.parse("", None, [])
network = model.Bert(layers=2, hidden=64, heads=2, ffn=256, vocabulary=128, sequence=64, dropout=0.0)
network.load_state_dict(torch.load(sys.argv[2]))
network.eval()
batch = text.masked(text.Synthetic(asked).evaluation(), asked, torch.Generator().manual_seed(asked.seed))
right, losses = 0, []
for tokens, places, labels in zip(*batch):
    with torch.no_grad():
        of_places = network(tokens[None], places[None])[0].tolist()
    for scores, label in zip(of_places, labels.tolist()):
        right += scores.index(max(scores)) == label
        losses.append(math.log(math.fsum(math.exp(score) for score in scores)) - scores[label])
print(right / len(losses), sum(losses) / len(losses), len(losses))
"""

MASKING = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch, flags, text
asked = flags.parse("", None, [])
from ranks import Ranks
source = text.Synthetic(asked)
sequences = source.evaluation()
masked = text.masked(sequences, asked, torch.Generator().manual_seed(1))
distinct = [len(set(places)) for places in masked.places.tolist()]
untouched = sequences.scatter(1, masked.places, masked.labels).equal(sequences)
shown = masked.tokens.gather(1, masked.places)
hidden = (shown == asked.mask_token).float().mean().item()
changed = ((shown != masked.labels) & (shown != asked.mask_token)).float().mean().item()
repeated = (sequences[:, 1:] == sequences[:, :-1]).float().mean().item()
two = [source.training(3, Ranks(rank, rank, 2)).tolist() for rank in (0, 1)]
print(json.dumps([distinct, untouched, hidden, changed, repeated, two[0] != two[1]]))
"""

# The sentences on flags, one line each; as JSON come lists of flags.
REFUSED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import flags, text
from outcome import UsageError
from ranks import Ranks
for asked in json.loads(sys.argv[2]):
    try:
        text.open_text(flags.parse("", None, asked), Ranks(0, 0, 2))
        print("nothing")
    except UsageError as error:
        print(error)
"""

WRITE_TOKENS = """
import sys, numpy
chance = numpy.random.default_rng(0)
tokens = numpy.repeat(chance.integers(0, 127, 12000), 10)
numpy.save(sys.argv[1], tokens.astype(sys.argv[2]))
"""


def of(records, event):
    return [record for record in records if record["event"] == event]


def numbers_of_run(training, ranks, **changes):
    """What a run reports of these logs, judged as those of a job."""
    case = dataclasses.replace(
        ASKED.case, case=f"1n{ranks}g", nodes=1, devices_per_node=ranks, world_size=ranks, batch_per_device=16
    )
    measures = with_time_to_target({"throughput": default_measure("target", "samples/s")})
    for rank in range(ranks):
        (training.folder / f"rank-{rank}.exit").write_text("0")
    (training.folder / "end.json").write_text('{"state": "ok"}')
    asked = {"case": case, "measure": "target", "warmup": 0, "measures": measures, **changes}
    return judged(training.folder, dataclasses.replace(ASKED, **asked))


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_reaches_its_target_and_both_logs_of_it_tell_the_same(training, ranks):
    logs = training.run(*SMALL, TARGET, ranks=ranks)
    ends = {of(records, "end")[0]["steps"] for records in logs}
    (steps,) = ends  # all ranks end at the same step
    assert steps < 300 and steps % 10 == 0
    for records in logs:
        evaluations = of(records, "eval")
        assert [one["step"] for one in evaluations] == list(range(10, steps + 1, 10))
        assert all(one["images"] == EVALUATED for one in evaluations)
        assert evaluations[-1]["accuracy"] >= 0.72 > max((one["accuracy"] for one in evaluations[:-1]), default=0)
        assert len(of(records, "step")) == steps

    result = numbers_of_run(training, ranks, steps=300, target=condition("accuracy >= 0.72"))
    assert (result.state, result.reason, result.converged) == ("ok", None, True)
    assert result.whole <= result.no_eval <= result.throughput

    (record,) = perf_log(training.said(0))
    assert not any(perf_log(training.said(rank)) for rank in range(1, ranks))
    assert (record["event"], record["value"]["converged"], record["metadata"]["rank"]) == ("FINISHED", True, 0)
    read = dialect_named("flagperf").read(LogFile(training.folder / "rank-0.log"), Window(0, None), {"rank": 0})
    assert read.faults == []
    of_flagperf = read.stated
    for name in ("throughput", "no_eval", "whole", "loss", "accuracy", "time_to_train_s"):
        # Of several ranks each side takes begin and end from another one, milliseconds apart on a busy machine.
        close = pytest.approx(getattr(result, name), rel=2e-3 if ranks == 1 else 2e-2)
        assert of_flagperf[name] == close, name
    assert of_flagperf["e2e_s"] > of_flagperf["time_to_train_s"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_evaluation_is_that_of_every_masked_place_whatever_the_ranks(python, tmp_path, ranks):
    keeping = tmp_path / "keeping.py"
    keeping.write_text(KEEPING)
    training = Training(python, keeping, tmp_path)
    kept = tmp_path / "kept.pt"
    flags = ["--steps=60", "--evaluate-every=60"]
    logs = training.run(CODE, kept, *SMALL, *flags, ranks=ranks)
    command = [python, "-c", RECOMPUTE, CODE, kept]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    accuracy, loss, places = map(float, told.split())
    assert places == EVALUATED * PLACES
    assert accuracy > 0.05  # it has learned something: chance is below 0.01
    for records in logs:
        (evaluation,) = of(records, "eval")
        assert evaluation["accuracy"] == pytest.approx(accuracy, abs=1.5 / places)
        assert evaluation["loss"] == pytest.approx(loss, rel=1e-4)


def test_a_target_out_of_reach_is_trained_for_to_the_last_step(training):
    logs = training.run(*SMALL, "--target-accuracy=1.01", "--steps=25")
    for records in logs:
        assert [one["step"] for one in of(records, "eval")] == [10, 20, 25]
        assert of(records, "end")[0]["steps"] == 25
    (record,) = perf_log(training.said(0))
    assert record["value"]["converged"] is False
    result = numbers_of_run(training, 2, steps=25, target=condition("accuracy >= 1.01"))
    assert (result.state, result.converged, result.time_to_train_s) == ("ok", False, None)
    assert "The target accuracy >= 1.01 was not reached" in result.missing["time_to_train"]


def test_a_target_of_the_loss_and_a_training_without_one(training):
    (records,) = training.run(*SMALL, "--target-loss=4.9", "--steps=40", ranks=1)
    assert of(records, "end")[0]["steps"] < 40 and of(records, "eval")[-1]["loss"] <= 4.9
    (records,) = training.run(*SMALL, "--steps=10", ranks=1)
    (record,) = perf_log(training.said())
    assert (of(records, "end")[0]["steps"], record["value"]["converged"]) == (10, None)


def test_parts_of_a_batch_add_up_to_the_batch(training):
    flags = [*SMALL, "--steps=3", "--batch=8"]
    (whole,) = training.run(*flags, ranks=1)
    (parts,) = training.run(*flags, "--accumulate=4", ranks=1)
    for one, other in zip(of(whole, "step"), of(parts, "step")):
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-4)


def test_bf16_trains(training):
    logs = training.run(*SMALL, "--steps=4", "--precision=bf16")
    assert all(one["loss"] < 10 for records in logs for one in of(records, "step"))


def test_text_is_masked_as_it_is_told(python):
    told = subprocess.run([python, "-c", MASKING, CODE], capture_output=True, text=True, check=True).stdout
    distinct, untouched, hidden, changed, repeated, ranks_differ = json.loads(told)
    assert set(distinct) == {PLACES} and untouched and ranks_differ
    assert (hidden, changed) == (pytest.approx(0.8, abs=0.03), pytest.approx(0.1, abs=0.03))
    assert repeated == pytest.approx(0.9, abs=0.02)


def refused(python, *flags):
    command = [python, "-c", REFUSED, CODE, json.dumps([list(map(str, asked)) for asked in flags])]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def write_tokens(python, path, kind="uint16"):
    subprocess.run([python, "-c", WRITE_TOKENS, path, kind], check=True)
    return path


def test_tokens_of_a_file_are_trained_on_and_its_end_is_evaluated(training, python):
    data = write_tokens(python, training.folder / "tokens.npy")
    both = training.run(*SMALL, f"--data={data}", TARGET, "--steps=200")
    assert both[0][0]["data"] == "1619 training and 256 validation sequences"  # of 120000 // 64
    assert of(both[0], "eval")[-1]["accuracy"] > 0.5
    (folder,) = training.run(*SMALL, f"--data={data.parent}", "--steps=10", ranks=1)
    assert folder[0]["data"] == both[0][0]["data"]

    training.start(*SMALL, f"--data={data}", "--vocabulary=100", "--mask-token=99", ranks=1)
    assert training.ended() == [1]
    assert "has the token 126: with --vocabulary 100 tokens are 0 to 99" in training.said()


def test_what_is_no_file_of_tokens_is_refused(python, tmp_path):
    floats = write_tokens(python, tmp_path / "floats.npy", "float32")
    few = write_tokens(python, tmp_path / "few.npy")
    (tmp_path / "text.npy").write_text("no array")
    asked = [["--data", path] for path in (floats, tmp_path / "text.npy", "/nowhere")]
    said = refused(python, *asked, ["--data", few, "--batch=900"])
    assert said[0] == f"--data {floats} holds float32: tokens are whole numbers"
    assert said[1].startswith(f"--data {tmp_path}/text.npy cannot be read as .npy: ")
    assert said[2] == "--data /nowhere is no .npy file of tokens and no folder with such files"
    assert said[3].endswith("has 1875 sequences of 64 tokens: it takes at least 1800 for a step and 256 to evaluate")


SENTENCES = {
    "--batch=0": "argument --batch: '0' is not a whole number of at least 1",
    "--learning-rate=-1": "argument --learning-rate: '-1' is not a number above 0",
    "--target-accuracy=72%": "argument --target-accuracy: '72%' is not a number above 0",
    "--target-loss=1 --target-accuracy=1": "argument --target-accuracy: not allowed with argument --target-loss",
    "--hidden=64 --heads=3": "--hidden 64 cannot be divided among --heads 3",
    "--batch=16 --accumulate=3": "--batch 16 cannot be divided into --accumulate 3 parts",
    "--mask-token=128": "--mask-token 128 must be below --vocabulary 128",
    "--dropout=1": "--dropout 1 must be below 1",
}


def test_wrong_flags_are_sentences(python):
    assert refused(python, *(flags.split() for flags in SENTENCES)) == list(SENTENCES.values())


def test_what_cannot_be_run_is_refused_with_a_sentence_and_no_more(training):
    training.start("--precision=fp16", "--device=cpu", ranks=1)
    assert training.ended() == [2]
    sentence = "--precision fp16 needs an accelerator: on the CPU use fp32 or bf16"
    assert training.said() == f"train_pytorch.py: {sentence}\n"


def test_its_workload_is_declared_as_the_engine_wants_it():
    workload = workload_from(read_folder(WORKLOAD, {"rackmark": None}))
    assert (workload.measure, str(workload.presets["lab"].target)) == ("target", "accuracy >= 0.72")
    assert workload.presets["full"].settings["hidden"] == 1024
