"""The training script of the decoder: two ranks on this machine's loopback, in the environment of the tests."""

from __future__ import annotations

import json
import subprocess
from statistics import fmean

import pytest
import yaml
from lab.trainings import RESNET50, ROOT, Training, environment, losses, needs_of, perf_log
from rackmark.dialects.catalog import dialect_named
from rackmark.logs.log_file import LogFile
from rackmark.logs.series import Window
from workload_code import code_of

WORKLOAD = ROOT / "workloads/llama"
CODE = code_of(WORKLOAD)
SCRIPT = CODE / "train_llama.py"
BY_HAND = ROOT / "tests/lab/decoder_by_hand.py"
PRESETS = yaml.safe_load((WORKLOAD / "workload.yml").read_text())["presets"]
SIZES = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq")
WARMUP, STEPS, BATCH, SEQ = 2, 22, 8, 64
PARAMETERS = 61_888
ATTENTION = 12 * 1 * 64 * SEQ  # operations per token, of one layer as wide as 64
TINY = [
    "--device=cpu",
    *(f"--{name.replace('_', '-')}={PRESETS['tiny']['settings'][name]}" for name in SIZES),
    *(f"--warmup={WARMUP}", f"--steps={STEPS}", "--learning-rate=0.02"),
]

PARAMETER_COUNTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
from flags import Shape
from model import Decoder
with torch.device("meta"):
    decoders = [Decoder(Shape(**shape), torch.bfloat16, None, False) for shape in json.loads(sys.argv[2])]
print(json.dumps([sum(weight.numel() for weight in decoder.parameters()) for decoder in decoders]))
"""

TEXTS = """
import json, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy, flags, train_llama, texts
from outcome import TrainingError, UsageError
from ranks import Ranks

folder, asked = Path(sys.argv[2]), json.loads(sys.argv[3])
tokens = (numpy.arange(11 * 4 + 3) % 128).astype(numpy.uint16)
numpy.save(folder / "tokens.npy", tokens)
numpy.save(folder / "flat.npy", tokens.astype(float))
(folder / "torn.npy").write_bytes((folder / "tokens.npy").read_bytes()[:90])
numpy.save(folder / "beyond.npy", numpy.full(64, 128))
small = [*asked, "--seq=4", "--batch=2", "--accumulate=1", "--warmup=0", "--steps=4"]

def rows(rank, data):
    given = flags.parse("test", None, [*small, f"--data={data}"])
    return [step.tolist() for step in texts.open_text(given, Ranks(rank, 0, 2)).steps()]

def refused(action):
    try:
        action()
    except (TrainingError, UsageError) as error:
        return str(error)

too_long = flags.parse("test", None, [*asked, f"--data={folder}/tokens.npy"])
follow = {}
for step in texts.open_text(flags.parse("test", None, asked), Ranks(1, 1, 2)).steps():
    for row in step.tolist():
        for last, token in zip(row, row[1:]):
            follow.setdefault(last, []).append(token)
often = [max(map(tokens.count, set(tokens))) for tokens in follow.values()]
print(json.dumps({
    "rows": [rows(0, folder / "tokens.npy"), rows(1, folder / "tokens.npy")],
    "share": sum(often) / sum(map(len, follow.values())),
    "refused": [
        *(refused(lambda: rows(0, folder / name)) for name in ("flat.npy", "torn.npy", "beyond.npy", "gone.npy", "")),
        refused(lambda: texts.TokenFile(too_long, Ranks(0, 0, 2))),
        refused(lambda: train_llama.require_version("2.5.1+cu124")),
    ],
    "accepted": [train_llama.require_version(version) for version in ("2.6.0", "2.13.0+cpu", "3.0")],
}))
"""


@pytest.fixture(scope="session")
def python():
    ours, theirs = (needs_of(workload)["requirements"]["cpu"] for workload in (WORKLOAD, RESNET50))
    assert set(ours) <= set(theirs)  # one environment is enough for the tests of both
    return environment()


@pytest.fixture(scope="session")
def whole(python, tmp_path_factory):
    """What two ranks log that have all weights each and take a batch at once."""
    return Training(python, SCRIPT, tmp_path_factory.mktemp("whole")).run(*TINY, f"--batch={BATCH}")


def told(python, program, *words):
    done = subprocess.run([python, "-c", program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_event(records, event):
    return [record for record in records if record["event"] == event]


def measured_seconds(records):
    return sum(step["seconds"] for step in of_event(records, "step")[WARMUP:])


def assert_same_losses(found, expected, **tolerance):
    for ours, theirs in zip(found, expected):
        assert losses(ours) == pytest.approx(losses(theirs), **tolerance)


def test_each_rank_logs_its_start_every_step_and_its_end(whole):
    for rank, records in enumerate(whole):
        stated = ["stated", "stated"] if rank == 0 else []
        assert [record["event"] for record in records] == ["start", *["step"] * (WARMUP + STEPS), *stated, "end"]
        start = records[0]
        assert (start["rank"], start["world_size"], start["batch"], start["data"]) == (rank, 2, BATCH, "synthetic")
        assert (start["parameters"], start["seq"], start["layers"]) == (PARAMETERS, SEQ, 1)
        assert start["flops_per_token"] == 6 * PARAMETERS
        assert start["flops_per_token_with_attention"] == 6 * PARAMETERS + ATTENTION
        assert {step["samples"] for step in of_event(records, "step")} == {BATCH * SEQ}


def test_tokens_per_second_are_those_of_all_ranks_in_the_time_of_the_slowest(whole):
    seconds = max(map(measured_seconds, whole))
    rate = of_event(whole[0], "stated")[0]["tokens_per_second_device"]
    assert 2 * rate == pytest.approx(STEPS * BATCH * 1 * SEQ * 2 / seconds)


def test_readers_of_flagperf_find_the_same_rate_in_the_log_of_the_first_rank(training):
    both = training.run(*TINY, "--batch=2", "--steps=6")
    (record,) = perf_log(training.said(0))
    assert perf_log(training.said(1)) == []
    value = record["value"]
    assert (record["event"], value["converged"]) == ("FINISHED", None)
    assert value["final_loss"] == pytest.approx(fmean(losses(records)[WARMUP + 6] for records in both))
    reading = dialect_named("flagperf").read(LogFile(training.folder / "rank-0.log"), Window(0, None), {"rank": 0})
    assert (reading.faults, reading.facts["unit"]) == ([], "tokens/s")
    rate = of_event(both[0], "stated")[0]["tokens_per_second_device"]
    assert reading.stated["throughput"] == pytest.approx(2 * rate)
    assert 0 < reading.stated["whole"] == reading.stated["no_eval"]
    assert reading.stated["e2e_s"] > value["train_time"]


def test_without_a_peak_mfu_is_null_and_the_reason_is_said(whole):
    missing = of_event(whole[0], "stated")[1]
    assert [missing[name] for name in ("mfu", "mfu_with_attention", "mfu_flagperf")] == [None] * 3
    assert missing["reason"].startswith("No peak of the device is known: give the setting peak_tflops")


def test_the_loss_falls_to_the_entropy_of_the_text_and_not_below(whole):
    floor = whole[0][0]["loss_floor"]
    assert floor == pytest.approx(0.804, abs=0.001)
    assert losses(whole[0]) != losses(whole[1])
    last = [losses(records)[step] for records in whole for step in range(WARMUP + STEPS - 7, WARMUP + STEPS + 1)]
    assert losses(whole[0])[1] > 4.8  # the logarithm of 128 is 4.85
    # Of 8,000 tokens, whose losses are 2.1 apart, the mean is within 0.07 of what is expected.
    assert floor - 0.07 < fmean(last) < floor + 0.3


def test_sharded_over_the_ranks_the_training_is_the_same(training, whole):
    both = training.run(*TINY, f"--batch={BATCH}", "--shard=full")
    assert both[0][0]["parameters"] == PARAMETERS
    assert_same_losses(both, whole, rel=1e-4)


def test_several_passes_with_one_exchange_are_one_batch(training, whole):
    both = training.run(*TINY, "--batch=2", f"--accumulate={BATCH // 2}")
    assert {step["samples"] for step in of_event(both[1], "step")} == {BATCH * SEQ}
    assert_same_losses(both, whole, rel=1e-4)


def test_bf16_sharded_with_activations_computed_twice_comes_out_alike(training, whole):
    both = training.run(
        *TINY, "--batch=4", "--accumulate=2", "--shard=full", "--precision=bf16", "--checkpointing=full"
    )
    assert losses(both[0]) != losses(whole[0])
    assert_same_losses(both, whole, rel=0.05)


def test_mfu_is_of_the_peak_by_three_formulas_and_bf16_alone_learns_too(training):
    peak = ["--peak-tflops=0.25", "--nominal-parameters=7e4"]
    (records,) = training.run(*TINY, f"--batch={BATCH}", "--precision=bf16", *peak, ranks=1)
    rate, of_own, of_theirs = of_event(records, "stated")
    rate = rate["tokens_per_second_device"]
    assert rate == pytest.approx(STEPS * BATCH * SEQ / measured_seconds(records))
    assert of_own["mfu"] == pytest.approx(100 * rate * 6 * PARAMETERS / 0.25e12)
    assert of_own["mfu_with_attention"] == pytest.approx(100 * rate * (6 * PARAMETERS + ATTENTION) / 0.25e12)
    assert of_theirs["mfu_flagperf"] == pytest.approx(100 * rate * 6 * 7e4 / 0.25e12)
    assert losses(records)[WARMUP + STEPS] < 1.5 < losses(records)[1]


def test_the_decoder_is_what_its_formulas_say(python):
    asked = ["--layers=2", "--hidden=24", "--heads=4", "--kv-heads=2", "--ffn=20", "--vocab=17", "--seq=6", "--seed=5"]
    by_hand, ours = told(python, BY_HAND.read_text(), CODE, json.dumps(asked))
    assert ours == pytest.approx(by_hand, rel=1e-5)


PUBLISHED = {
    "llama1-7b": 6_738_415_616,
    "llama1-13b": 13_015_864_320,
    "7b": 6_738_415_616,
    "llama2-70b": 68_976_648_192,
    "8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "aquila2-7b": 7_295_537_152,
}


def test_presets_have_the_parameters_that_their_names_promise(python):
    shapes = [{name: preset["settings"][name] for name in (*SIZES, "rope_base")} for preset in PRESETS.values()]
    counts = dict(zip(PRESETS, told(python, PARAMETER_COUNTS, CODE, json.dumps(shapes))))
    assert counts == {"lab": 494_208, "tiny": PARAMETERS, **PUBLISHED}


@pytest.fixture(scope="session")
def of_texts(python, tmp_path_factory):
    return told(python, TEXTS, CODE, tmp_path_factory.mktemp("texts"), json.dumps([*TINY, f"--batch={BATCH}"]))


def test_a_made_up_token_follows_from_the_last_nine_times_in_ten(of_texts):
    assert of_texts["share"] == pytest.approx(0.9008, abs=0.015)


def test_tokens_of_a_file_are_read_by_global_rank_each_item_once_in_an_epoch(of_texts):
    first, second = of_texts["rows"]
    items = {tuple(range(begin, begin + 4)): begin // 4 for begin in range(0, 44, 4)}
    # Eleven items are two steps of four sequences, and three are left over; the next epoch has another order.
    epochs = [
        [items[tuple(row)] for rows in (first, second) for step in rows[part] for row in step]
        for part in (slice(0, 2), slice(2, 4))
    ]
    assert all(len(epoch) == len(set(epoch)) == 8 for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_what_is_no_text_for_this_training_is_refused_with_a_sentence(of_texts):
    flat, torn, beyond, gone, several, few, old = of_texts["refused"]
    assert flat.endswith("flat.npy is an array of float64 in 1 dimensions: tokens are whole numbers in one")
    assert "torn.npy cannot be read as a .npy of tokens: " in torn
    assert "beyond.npy has the token 128 in its sequence " in beyond and beyond.endswith("--vocab 128 ends before it")
    assert "gone.npy cannot be read as a .npy of tokens: " in gone
    assert several.endswith("holds 4 files *.npy: name one of tokens, or a folder with one")
    assert few.endswith("has 0 sequences of --seq 64, too few for a step of 2 x --batch 8 x --accumulate 1")
    assert old == "PyTorch 2.5.1+cu124 is too old for this training: it takes 2.6 or newer"
    assert of_texts["accepted"] == [None] * 3


def test_a_rank_that_is_done_leaves_the_interpreter_no_time_to_fail(training):
    """Threads of Gloo may abort a process whose interpreter is taken apart."""
    (training.folder / "sitecustomize.py").write_text("import atexit, os\natexit.register(os.abort)\n")
    (records,) = training.run(*TINY, "--steps=1", ranks=1, PYTHONPATH=training.folder)
    assert records[-1]["event"] == "end"


def test_layers_are_compiled_where_that_is_asked_for_and_not_without_a_compiler(training):
    nowhere = {"CXX": "/nowhere/c++", "TORCHINDUCTOR_CACHE_DIR": training.folder / "cache"}
    training.start(*TINY, f"--batch={BATCH}", "--compile", ranks=1, **nowhere)
    assert training.ended() == [1]
    assert "train_llama.py: rank 0 of 1 cannot go on: " in training.said()
    assert "No working C++ compiler found" in training.said() and "Traceback" not in training.said()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--precision=fp16"], "--precision fp16 needs an accelerator: on the CPU use fp32 or bf16"),
        (["--hidden=66", "--heads=4"], "--hidden 66 cannot be divided among --heads 4: every head takes an even part"),
        (["--heads=4", "--kv-heads=3"], "--heads 4 cannot share --kv-heads 3: give a divisor of the heads"),
        (["--peak-tflops=0"], "argument --peak-tflops: '0' is not a number above 0, or none where it is not known"),
        (["--data=/nowhere"], "--data /nowhere cannot be read as a .npy of tokens: "),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_sentence(training, flags, sentence):
    training.start("--device=cpu", *flags, ranks=1)
    assert training.ended() == [2]
    assert sentence in training.said()
    assert training.said().count("\n") == 1
