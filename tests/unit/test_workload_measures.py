"""What workload.yml says of measures, rules and targets."""

from __future__ import annotations

import pytest
from rackmark.run.rules import Condition
from rackmark.run.workload import workload_from
from unit.workload_fixture import DIALECTS, changed, of_kind, problems


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
