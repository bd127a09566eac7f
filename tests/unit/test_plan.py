from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rackmark.run.asked import Asked
from rackmark.run.place import Place
from rackmark.run.run_plan import as_data, plan_from
from rackmark.run.workload import workload_from
from unit.resnet_plan_fixture import GPUS, LAB, RESNET_CONTENT, plan


def words(made, number=0):
    return made.program_of(made.jobs[number], "/runs/r", "/env/python")


def flag(made, name, number=0):
    said = words(made, number)
    return said[said.index(name) + 1]


def test_the_lab_preset_measures_one_two_and_four_nodes_twice():
    made = plan()
    assert [(case.case, case.repeats) for case in made.cases] == [("1n1g", 3), ("2n1g", 3), ("4n1g", 3)]
    assert [job.name for job in made.jobs][:2] == [
        "rackmark:20261118-101500-resnet50:1n1g:1",
        "rackmark:20261118-101500-resnet50:1n1g:2",
    ]
    assert made.jobs[-1].folder == "cases/4n1g/r3"


def test_what_the_operator_gives_wins_over_the_preset():
    made = plan(replace(LAB, cases="2n1g", repeats="5", batch="32", precision="bf16", steps="7", warmup="0"))
    assert [(c.case, c.repeats, c.batch_per_device, c.precision) for c in made.cases] == [("2n1g", 5, 32, "bf16")]
    assert (len(made.jobs), made.steps, made.warmup) == (5, 7, 0)
    assert words(made)[:2] == ["/env/python", "/runs/r/code/train_pytorch.py"]
    assert [flag(made, name) for name in ("--batch", "--precision", "--steps", "--warmup")] == ["32", "bf16", "7", "0"]


def test_single_settings_and_further_flags():
    made = plan(replace(LAB, settings={"image_size": 96}, flags=["--deterministic", "--checkpoint", "a {b}"]))
    assert flag(made, "--image-size") == "96"
    assert words(made)[-3:] == ["--deterministic", "--checkpoint", "a {b}"]
    assert made.settings["image_size"] == 96


def test_data_of_ones_own_comes_with_its_options():
    assert "--data" not in words(plan())
    made = plan(replace(LAB, data="/userhome/imagenet"))
    assert flag(made, "--data") == "/userhome/imagenet"
    assert made.data == "/userhome/imagenet"


def test_dlperf_protocol():
    made = plan(Asked(preset="dlperf"), GPUS)
    assert [case.case for case in made.cases] == ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]
    assert {(case.batch_per_device, case.precision, case.repeats) for case in made.cases} == {(128, "fp32", 5)}
    assert (made.warmup, made.warmup + made.steps) == (100, 200)
    half = plan(Asked(preset="dlperf", precision="fp16"), GPUS)
    assert {case.batch_per_device for case in half.cases} == {256}


def test_strong_scaling_divides_one_batch():
    made = plan(replace(LAB, scaling="strong", batch="32"))
    assert [case.batch_per_device for case in made.cases] == [32, 16, 8]
    assert [flag(made, "--batch", number) for number in (0, 3, 6)] == ["32", "16", "8"]
    with pytest.raises(ValueError, match="batch=6 cannot be divided among the 4 devices of 4n1g"):
        plan(replace(LAB, scaling="strong", batch="6"))


def test_flagperf_cases_bring_their_repeats_and_framework():
    made = plan(replace(LAB, cases="resnet50:pytorch_2.0:A100:1:8:2,2n8g"), GPUS)
    assert [(case.case, case.repeats) for case in made.cases] == [("1n8g", 2), ("2n8g", 3)]
    assert (made.framework, made.hardware) == ("pytorch", "A100")


def test_repeats_of_the_command_line_come_before_those_of_flagperfs_strings():
    made = plan(replace(LAB, cases="resnet50:pytorch_2.0:A100:1:8:2", repeats="5"), GPUS)
    assert [case.repeats for case in made.cases] == [5]


def test_costs_are_told():
    table = "\n".join(plan(replace(LAB, minutes="30")).table())
    assert "4n1g         3      4            16                  6.0" in table


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (replace(LAB, nodes="9"), "nodes=9 needs 9 nodes, the cluster has 4"),
        (replace(LAB, precision="fp7"), "precision=fp7 is unknown to pytorch on cpu: use bf16, fp32"),
        (replace(LAB, framework="caffe"), "framework=caffe is unknown: use mindspore, pytorch"),
        (replace(LAB, preset="huge"), "preset=huge is unknown: use dlperf, full, lab, tiny"),
        (replace(LAB, batch="0"), "batch=0 is not a whole number"),
        (replace(LAB, repeats="many"), "repeats=many is not a whole number"),
        (replace(LAB, cases="8x"), "'8x' is not a case"),
        (replace(LAB, scaling="odd"), "scaling=odd is unknown: use strong, weak"),
        (replace(LAB, baseline="1n8g"), "baseline=1n8g is not a case of this run: use one of 1n1g, 2n1g, 4n1g"),
        (replace(LAB, settings={"colour": 1}), "The preset lab has no setting colour: use image_size, seed, workers"),
        (replace(LAB, cases="bert:pytorch:A100:1:1:1"), "Case 1n1g is for the model 'bert'"),
        (replace(LAB, cases="resnet50:mindspore:A100:1:1:1", framework="pytorch"), "mindspore, pytorch were given"),
    ],
)
def test_nonsense_is_refused_with_what_is_valid(asked, words):
    with pytest.raises(ValueError, match=words):
        plan(asked)


def test_a_device_that_a_framework_has_no_precision_for_is_refused():
    with pytest.raises(
        ValueError, match="framework=mindspore does not run on cuda: use benchmark_device=cpu, npu or framework=pytorch"
    ):
        plan(replace(LAB, framework="mindspore"), GPUS)


def test_a_setting_that_only_another_preset_has_is_missed():
    presets = {
        **RESNET_CONTENT["presets"],
        "bare": {**RESNET_CONTENT["presets"]["lab"], "settings": {"image_size": 64}},
    }
    with pytest.raises(ValueError, match="has seed in braces, and the preset bare says nothing of it: add it there"):
        plan(Asked(preset="bare"), workload=workload_from({**RESNET_CONTENT, "presets": presets}))


TIMES = {"repeats": 1, "minutes": 30, "stalled_after": 60}


SEARCH = {
    "name": "search",
    "title": "A search",
    "measure": "search",
    "ranks": "job",
    "data": "none",
    "measures": {"score": {"unit": "GFLOPS", "better": "higher", "from": "stated.score"}},
    "frameworks": {"own": {"program": "mpirun -np {world_size} --hostfile {hostfile} {code}/s", "dialect": "rackmark"}},
    "presets": {"full": TIMES},
}


TARGET = {
    "name": "bert",
    "title": "BERT",
    "measure": "target",
    "data": "tokens",
    "unit": "tokens/s",
    "frameworks": {
        "pytorch": {
            "program": "{python} -m bert --until {target} --most {steps} --batch {batch} {precision}",
            "data_options": "--data {data}",
            "dialect": "rackmark",
            "image": {"cuda": "bert:cuda"},
        }
    },
    "rules": {"default": ["accuracy >= 0.5"], "strict": ["precision >= bf16", "hours <= 1"]},
    "presets": {
        "full": {**TIMES, "batch": 8, "precision": "fp32", "steps": 300, "target": "accuracy >= 0.72"},
        "open": {**TIMES, "batch": 8, "precision": "fp32", "steps": 300},
    },
}


TARGET["measures"] = {
    "accuracy": {"unit": "1", "better": "higher", "from": "accuracy"},
    "time_to_target": {"unit": "s", "better": "lower", "from": "time_to_target"},
}


TARGET["headline"] = "time_to_target"


del TARGET["unit"]


def of(content, asked=None, place=None, image=None):
    return plan(asked or Asked(), place, workload_from(content), image)


def test_a_program_that_starts_its_own_ranks_is_told_where():
    made = of(SEARCH, Asked(cases="2n1g"))
    assert words(made) == ["mpirun", "-np", "2", "--hostfile", "/runs/r/cases/2n1g/r1/hostfile", "/runs/r/code/s"]
    assert (made.ranks, made.meet, made.measure) == ("job", "none", "search")
    assert made.sentence().endswith("Each job searches, and gives score in GFLOPS; a job may take 30 minutes.")
    assert "2n1g         1      2             -                  1.0" in "\n".join(made.table())
    (case,) = made.cases
    assert (case.batch_per_device, case.precision, made.steps, made.warmup) == (None, None, 0, 0)


def test_a_training_runs_to_the_target_of_the_preset_or_of_the_operator():
    made = of(TARGET)
    assert words(made)[:6] == ["/env/python", "-m", "bert", "--until", "0.72", "--most"]
    assert made.sentence().endswith("batches of 8 in fp32 until accuracy >= 0.72, for 300 steps at most.")
    assert flag(of(TARGET, Asked(target="loss <= 1.5")), "--until") == "1.5"
    assert str(of(TARGET, Asked(preset="open", target="loss <= 1.5")).target) == "loss <= 1.5"


WITH_TARGETS = {
    **{name: value for name, value in TARGET.items() if name not in ("measure", "measures", "headline", "rules")},
    "unit": "samples/s",
    "data": "none",
    "frameworks": {
        "pytorch": {
            "program": "train --steps {steps}",
            "target_options": "--until-{target_name} {target}",
            "dialect": "rackmark",
        }
    },
    "presets": {"full": {**TIMES, "batch": 8, "precision": "fp32", "warmup": 2, "steps": 300}},
}


def test_a_workload_of_steps_that_can_end_at_a_target_does_so_where_one_is_given():
    made = of(WITH_TARGETS, Asked(target="loss <= 1.5"))
    assert words(made) == ["train", "--steps", "300", "--until-loss", "1.5"]
    assert (made.measure, made.measures["time_to_train"].source) == ("target", "time_to_target")
    plain = of(WITH_TARGETS)
    assert (words(plain), plain.measure, list(plain.measures)) == (["train", "--steps", "300"], "steps", ["throughput"])


def test_a_target_may_be_required():
    assert of(TARGET, Asked(require_target="true")).require_target
    assert not of(TARGET, Asked(require_target="false")).require_target
    assert not of(TARGET).require_target
    assert list(of(TARGET).measures) == ["accuracy", "time_to_target"]  # its own name for the time


def test_rules_are_those_named_default_or_those_asked_for():
    made = of(TARGET)
    assert ([str(rule) for rule in made.rules], made.rules_profile) == (["accuracy >= 0.5"], "default")
    made = of(TARGET, Asked(rules="strict"))
    assert ([str(rule) for rule in made.rules], made.rules_profile) == (["precision >= bf16", "hours <= 1"], "strict")
    assert (plan().rules, plan().rules_profile) == ((), None)


def test_containers_have_the_operators_image_or_that_of_the_workload_for_the_device():
    cuda = Place(nodes=1, devices_per_node=1, accelerator="nvidia", device="cuda")
    assert of(TARGET, place=cuda).image == ""
    assert of(TARGET, place=cuda, image="").image == "bert:cuda"
    assert of(TARGET, place=cuda, image="mine:1").image == "mine:1"


@pytest.mark.parametrize(
    ("content", "asked", "sentence"),
    [
        (SEARCH, Asked(data="/d"), "data=/d cannot be used: search takes no data"),
        (SEARCH, Asked(batch="4"), "batch=4 changes nothing: the program of search is not told it"),
        (SEARCH, Asked(target="loss <= 1"), "target=loss <= 1 has no use: search does not train to a target"),
        (TARGET, Asked(require_target="yes"), "require_target=yes is neither true nor false"),
        (WITH_TARGETS, Asked(require_target="true"), "require_target=true has no use without a target: give one"),
        (
            {**WITH_TARGETS, "data": "imagefolder"},
            Asked(target="loss <= 1"),
            "target=loss <= 1 is looked for in evaluations, which take -e data=<imagefolder>.",
        ),
        (SEARCH, Asked(rules="strict"), "rules=strict is unknown: search has no rules"),
        (SEARCH, Asked(scaling="strong"), "scaling=strong divides a batch, and the preset full has none: give one"),
        (TARGET, Asked(rules="lax"), "rules=lax is unknown: use default, strict"),
        (TARGET, Asked(preset="open"), "The preset open has no target: give one with -e target="),
        (TARGET, Asked(target="0.9"), "'0.9' is not a target: write accuracy >= <number> or loss"),
        ({**SEARCH, "rules": ["precision >= fp16"]}, Asked(), "precision >= fp16 cannot be computed: the run has no"),
        (
            {**SEARCH, "frameworks": {"own": {"program": "s {steps} {precision}", "dialect": "rackmark"}}},
            Asked(),
            "has precision, steps in braces, and the preset full says nothing of it",
        ),
    ],
)
def test_what_a_workload_has_no_use_for_is_refused(content, asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        of(content, asked)


def test_an_image_is_needed_where_there_are_containers():
    with pytest.raises(ValueError, match=r"runtime=docker needs an image that is on every node: -e image=NAME\.$"):
        of(TARGET, image="")


@pytest.mark.parametrize("made", [plan(), of(SEARCH), of(TARGET, Asked(rules="strict"))])
def test_a_plan_is_the_same_after_its_journey_to_the_host_that_submits(made):
    assert plan_from(json.loads(json.dumps(as_data(made)))) == replace(made, rules=list(made.rules))
