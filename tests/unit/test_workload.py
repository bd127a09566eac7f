"""What workload.yml may say, and the sentence for each thing that it says wrong."""

from __future__ import annotations

import copy

import pytest
from rackmark.run.rules import Condition, condition
from rackmark.run.workload import workload_from

DIALECTS = {"flagperf": ("throughput", "mfu"), "mindspore": (), "rackmark": None}
PRESET = {
    "batch": 4,
    "precision": "fp32",
    "warmup": 1,
    "steps": 4,
    "repeats": 2,
    "minutes": 5,
    "stalled_after": 60,
    "settings": {"seconds": 0.05},
}
TIMES = {"repeats": 2, "minutes": 5, "stalled_after": 60}
STEPS = {
    "name": "counting",
    "title": "Counting",
    "unit": "samples/s",
    "default_framework": "python",
    "frameworks": {
        "python": {
            "program": "count.py --batch {batch} --seconds {seconds}",
            "dialect": "rackmark",
            "precisions": {"cpu": ["fp32"]},
            "environment": {"package": "", "requirements": {"cpu": []}},
        }
    },
    "presets": {"lab": PRESET, "full": copy.deepcopy(PRESET)},
}


def changed(content=STEPS, **paths):
    """A copy in which the value at each path, as in presets__lab__batch, is another; ... removes it."""
    content = copy.deepcopy(content)
    for path, value in paths.items():
        *folders, name = path.split("__")
        place = content
        for folder in folders:
            place = place.setdefault(folder, {})
        if value is ...:
            del place[name]
        else:
            place[name] = value
    return content


def of_kind(kind, measures=None, **paths):
    measures = {"unit": ...} if measures is None else {"unit": ..., "measures": measures}
    presets = {"lab": {**TIMES, "target": "loss <= 1"} if kind == "target" else TIMES}
    if kind == "target":
        presets = {"lab": {**PRESET, "target": "accuracy >= 0.72"}}
    program = {"frameworks__python__program": "run.sh"}
    return changed(measure=kind, presets=presets, **program, **measures, **paths)


def problems(content):
    with pytest.raises(ValueError) as error:
        workload_from(content, "w/workload.yml", DIALECTS)
    lines = str(error.value).splitlines()
    assert all(line.startswith("w/workload.yml: ") for line in lines)
    return [line[len("w/workload.yml: ") :] for line in lines]


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
        ("presets__lab__settings__layers", [1], "presets.lab.settings.layers=[1] is not a single text or number."),
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


def measure(source, **more):
    return {"m": {"unit": "x", "better": "higher", "from": source, **more}}


@pytest.mark.parametrize(
    ("kind", "measures", "sentence"),
    [
        ("steps", measure("trials"), "from=trials is nothing that measure: steps gives: use one of accuracy,"),
        ("steps", measure("time_to_target"), "is nothing that measure: steps gives"),
        ("steps", measure("thruput"), "did you mean throughput?"),
        ("stated", measure("throughput"), "gives: use one of stated.<word>."),
        ("stated", measure("stated."), "measures.m.from=stated. is nothing that measure: stated gives"),
        ("search", measure("trials.best score"), "is nothing that measure: search gives"),
        ("steps", measure("stated.x", over="all"), "m.over=all is unknown: use one of first, max, mean, median"),
        ("steps", measure("whole", over="sum"), "measures.m.over=sum is of no use: whole is one number already"),
        ("steps", measure("whole", better="more"), "measures.m.better=more is unknown: use one of higher, lower."),
        ("steps", measure("whole", bettr="more"), "measures.m.bettr is not a key: did you mean better?"),
        ("search", None, "measures is missing: give a mapping."),
    ],
)
def test_a_measure_that_nobody_gives_is_refused(kind, measures, sentence):
    (problem,) = [line for line in problems(of_kind(kind, measures)) if "measures" in line]
    assert sentence in problem


def test_a_measure_that_logs_of_the_dialect_never_state_is_refused():
    content = changed(of_kind("stated", measure("stated.mfu")), frameworks__python__dialect="flagperf")
    assert workload_from(content, dialects=DIALECTS).measures["m"].word == "mfu"
    content["measures"]["m"]["from"] = "stated.score"
    assert problems(content) == [
        "frameworks.python.dialect is flagperf, which never gives stated.score, where the measure m comes from: it"
        " states throughput, mfu."
    ]


def test_of_several_measures_one_is_the_headline():
    several = {name: {"unit": "x", "better": "lower", "from": f"stated.{name}"} for name in ("p50", "p99")}
    (problem,) = problems(of_kind("stated", several))
    assert problem == "headline is missing: give a text."
    assert workload_from(of_kind("stated", several, headline="p99")).headline == "p99"
    assert problems(of_kind("stated", several, headline="p90"))[0].startswith(
        "headline=p90 is unknown: did you mean p99?"
    )


def test_a_search_takes_the_best_of_its_trials_and_the_first_of_what_is_stated():
    kinds = {
        "best": {"unit": "", "better": "higher", "from": "trials.accuracy"},
        "fastest": {"unit": "s", "better": "lower", "from": "trials.seconds"},
        "middle": {"unit": "s", "better": "lower", "from": "trials.seconds", "over": "median"},
        "failed": {"unit": "trials", "better": "lower", "from": "trials.failed"},
        "score": {"unit": "GFLOPS", "better": "higher", "from": "stated.score"},
    }
    for each in kinds.values():
        each["unit"] = each["unit"] or "1"
    found = workload_from(of_kind("search", kinds, headline="best"))
    assert [measure.over for measure in found.measures.values()] == ["max", "min", "median", "first", "first"]


def test_rules_are_a_list_or_profiles():
    found = workload_from(changed(rules=["precision >= bf16", "throughput >= 1e2"]))
    assert found.rules == {"default": (Condition("precision", ">=", "bf16"), Condition("throughput", ">=", 100.0))}
    found = workload_from(changed(rules={"short": ["minutes >= 1"], "aiperf": ["hours >= 12", "steps >= 2"]}))
    assert [str(rule) for rule in found.rules["aiperf"]] == ["hours >= 12", "steps >= 2"]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("accurcy >= 0.7", "cannot be computed: accurcy is no measure of this workload. Use one of hours, minutes,"),
        ("throughputs >= 1", "Did you mean throughput?"),
        ("trials >= 30", "'trials >= 30' cannot be computed: trials is no measure of this workload."),
        ("throughput > 1", "'throughput > 1' is not a rule: write <name> >= <number> or <name> <= <number>."),
        ("throughput >= fast", "'throughput >= fast' is not a rule: fast is not a number."),
        ("throughput >= nan", "nan is not a number."),
        ("precision >= fp17", "names a precision fp17 that is unknown: did you mean fp16?"),
    ],
)
def test_a_rule_that_cannot_be_computed_is_refused(rule, sentence):
    for rules, place in (([rule], "rules: "), ({"strict": [rule]}, "rules.strict: ")):
        (problem,) = problems(changed(rules=rules))
        assert problem.startswith(place)
        assert sentence in problem


@pytest.mark.parametrize("target", ["accuracy <= 0.7", "throughput >= 7", "72 %"])
def test_a_target_that_no_training_runs_to(target):
    content = of_kind("target")
    content["presets"]["lab"]["target"] = target
    (problem,) = problems(changed(content, unit="images/s"))
    assert problem.startswith(f"presets.lab.target: {target!r} is not a")


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
