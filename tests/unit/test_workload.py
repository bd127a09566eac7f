"""What workload.yml may say, and the sentence for each thing that it says wrong."""

from __future__ import annotations

import pytest
from rackmark.run.rules import Condition, condition
from rackmark.run.workload import workload_from
from unit.workload_fixture import DIALECTS, STEPS, changed, of_kind, problems


def test_a_workload_needs_to_say_little():
    found = workload_from(STEPS, dialects=DIALECTS)
    assert (found.measure, found.data, found.scaling, found.rules) == ("steps", "none", "weak", {})
    assert found.measures["throughput"].data() == {
        "unit": "samples/s",
        "better": "higher",
        "from": "throughput",
        "over": "first",
    }
    assert (found.headline, found.unit) == ("throughput", "samples/s")
    python = found.frameworks["python"]
    assert (python.ranks, python.meet, python.data_options, python.images) == ("device", "torch", "", {})


def test_what_was_said_before_is_still_understood_where_dialects_are_not_known():
    workload_from(changed(frameworks__python__dialect="one_that_only_the_controller_knows"))


PYTHON = "frameworks__python__"


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("name", ..., "name is missing: give a text."),
        ("name", "../up", "name=../up is not a name: use letters, digits, dots, _ and -, and begin with no dot."),
        ("titel", "x", "titel is not a key: did you mean title? Known are "),
        (PYTHON + "dialect", "flagpref", "frameworks.python.dialect=flagpref is unknown: did you mean flagperf? Known"),
        (PYTHON + "dialect", "klingon", "use one of flagperf, mindspore, rackmark."),
        (PYTHON + "precision", 1, "frameworks.python.precision is not a key: did you mean precisions?"),
        (PYTHON + "program", "a.py {bach}", "program has {bach}, which is no setting of a preset: did you mean batch?"),
        (PYTHON + "program", "a.py {batch", "frameworks.python.program=a.py {batch is not a program: "),
        (PYTHON + "program", "a.py 'a", "program=a.py 'a is not a program: no closing quotation."),
        (PYTHON + "data_options", "--data {data}", "frameworks.python.data_options has no use: say with data"),
        (PYTHON + "target_options", "--until {tarket}", "target_options has {tarket}, which is no setting of a preset"),
        (PYTHON + "environment__build", [{"name": "x"}], "environment.build[1].requirement is missing: give a text."),
        (PYTHON + "environment__build", "x", "frameworks.python.environment.build=x is not a list."),
        (
            PYTHON + "environment__build",
            [{"name": "x", "requirement": "x==1", "devices": ["cpu", "gpu"]}],
            "environment.build[1].devices=['cpu', 'gpu'] is unknown in gpu: use cpu, cuda, npu.",
        ),
        (PYTHON + "environment__requirements__gpu", [], "requirements.gpu is not known here: use cpu, cuda, npu."),
        (PYTHON + "environment__requirements", [], "environment.requirements=[] is not a mapping."),
        (PYTHON + "image", {"tpu": "x"}, "frameworks.python.image.tpu is not known here"),
        ("frameworks__python", None, "frameworks.python is not a mapping of names to values."),
        ("frameworks", {}, "frameworks is empty: it takes at least one entry."),
        ("default_framework", "pithon", "default_framework=pithon is unknown: did you mean python?"),
        ("ranks", "gpu", "ranks=gpu is unknown: use one of device, job, node."),
        ("data", "imagefolders", "data=imagefolders is unknown: did you mean imagefolder?"),
        ("presets__lab__repeats", ..., "presets.lab.repeats is missing: give a whole number of at least 1."),
        ("presets__lab__minutes", "ten", "presets.lab.minutes=ten is not a whole number of at least 1."),
        ("presets__lab__steps", True, "presets.lab.steps=True is not a whole number of at least 1."),
        ("presets__lab__batch", {"fp32": 0}, "presets.lab.batch.fp32=0 is not a whole number of at least 1."),
        ("presets__lab__warmup", ..., "presets.lab.warmup is missing: give a whole number of at least 0."),
        ("presets__lab__precision", 32, "presets.lab.precision=32 is not a text."),
        ("presets__lab__settings__steps", 3, "presets.lab.settings.steps has the name of something else in braces"),
        (
            "presets__lab__settings__layers",
            [[1]],
            "presets.lab.settings.layers=[[1]] is neither a text, nor a number, nor a list of such.",
        ),
        ("presets__lab__target", "loss <= 1", "presets.lab.target=loss <= 1 has no use with measure: steps."),
        ("unit", ..., "unit is missing: give a text."),
        ("measures", {"t": {"unit": "s", "better": "lower", "from": "whole"}}, "unit=samples/s has no use beside"),
        ("also_called", "resnet", "also_called=resnet is not a list of texts."),
        ("also_called", {"count_2": "lap"}, "also_called.count_2=lap is unknown: did you mean lab?"),
        ("also_called", {"count_2": None}, "also_called.count_2 is missing: give a text."),
    ],
)
def test_every_wrong_key_has_a_sentence(path, value, sentence):
    (problem,) = problems(changed(**{path: value}))
    assert sentence in problem


def test_options_for_a_target_have_no_use_where_there_always_is_one():
    content = of_kind("target", {"time": {"unit": "s", "better": "lower", "from": "time_to_target"}})
    content["frameworks"]["python"]["target_options"] = "--until {target}"
    assert problems(content) == ["frameworks.python.target_options has no use with measure: target."]


def test_who_starts_the_ranks_also_tells_them_of_each_other():
    (problem,) = problems(changed(ranks="job", meet="torch"))
    assert (
        problem
        == "frameworks.python.meet is torch, and with ranks: job the program starts its own ranks: leave it out."
    )
    found = workload_from(changed(frameworks__python__ranks="job"), dialects=DIALECTS)
    assert found.frameworks["python"].meet == "none"


def test_all_problems_are_told_at_once():
    content = changed(title=..., frameworks__python__dialect="x", presets__lab__minutes=0, presets__full__stepz=1)
    assert [problem.split("=")[0].split(" ")[0] for problem in problems(content)] == [
        "presets.lab.minutes",
        "presets.full.stepz",
        "frameworks.python.dialect",
        "title",
    ]


def test_the_key_of_an_earlier_version_is_told_its_new_name():
    content = changed(frameworks__python__program=..., frameworks__python__command="count.py {batch}")
    assert problems(content) == ["frameworks.python.command is called program: rename it."]


def test_a_file_that_is_no_mapping():
    with pytest.raises(ValueError, match=r"^workload\.yml is not a mapping of names to values\.$"):
        workload_from(["name"])


@pytest.mark.parametrize("kind", ["stated", "search"])
def test_what_counts_no_steps_needs_no_sizes_of_them(kind):
    word = "stated.score" if kind == "stated" else "trials.score"
    content = of_kind(kind, {"score": {"unit": "GFLOPS", "better": "higher", "from": word}}, ranks="job")
    found = workload_from(content, dialects=DIALECTS)
    lab = found.presets["lab"]
    assert (lab.batch, lab.precision, lab.warmup, lab.steps) == (None, "", 0, 0)
    assert (found.headline, found.unit, found.frameworks["python"].meet) == ("score", "GFLOPS", "none")


def test_a_program_that_states_its_result_may_leave_the_measure_to_its_unit():
    found = workload_from(changed(of_kind("stated"), unit="images/s"), dialects=DIALECTS)
    assert found.measures["throughput"].data() == {
        "unit": "images/s",
        "better": "higher",
        "from": "stated.throughput",
        "over": "first",
    }


def test_a_measure_may_say_what_it_means():
    mfu = {"unit": "%", "better": "higher", "from": "stated.mfu", "means": "6 N per token, of the peak"}
    found = workload_from(of_kind("stated", {"mfu": mfu}), dialects=DIALECTS)
    assert found.measures["mfu"].means == mfu["means"]


def test_a_target_is_that_of_a_preset():
    found = workload_from(
        of_kind("target", {"minutes_to_target": {"unit": "s", "better": "lower", "from": "time_to_target"}}),
        dialects=DIALECTS,
    )
    assert found.presets["lab"].target == Condition("accuracy", ">=", 0.72)


@pytest.mark.parametrize(
    ("text", "fits", "fails"),
    [
        ("accuracy >= 0.72", [0.72, 1], [0.7199]),
        ("loss<=1.0", [1.0, -1], [1.01]),
        ("precision >= bf16", ["bf16", "fp16", "tf32", "fp64"], ["fp8", "int8", "klingon"]),
        ("precision <= fp16", ["bf16", "fp8"], ["tf32", "fp32"]),
    ],
)
def test_conditions_hold_or_do_not(text, fits, fails):
    rule = condition(text)
    assert [rule.holds(value) for value in fits] == [True] * len(fits)
    assert [rule.holds(value) for value in fails] == [False] * len(fails)
    assert condition(str(rule)) == rule
