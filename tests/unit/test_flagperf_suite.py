"""A configuration of FlagPerf as a suite of our own workloads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rackmark.flagperf.as_suite import as_suite, offer_of
from rackmark.flagperf.importing import read_flagperf
from rackmark.run.suite import SuiteRun
from unit.test_flagperf_import import BERT, checkout

DECLARED = {
    "frameworks": {"pytorch": {}},
    "presets": {"lab": {"settings": {"seed": 1}}, "full": {"settings": {"a": 2}}},
}
OFFERS = {"bert": offer_of("bert", DECLARED), "resnet50": offer_of("resnet50", {**DECLARED, "presets": {}})}
COMMON = SuiteRun("", asked={"preset": "lab", "nodes": "4", "cases": ""}, settings={"a": 3}, flags=["--fast"])
CONFIG = "train_batch_size = 24\nfp16 = True\nseed = 9031\ntarget_mlm_accuracy = 0.71\n"


def made(tmp_path, *cases, common=COMMON, **files):
    return as_suite(read_flagperf(checkout(tmp_path, *cases, **files)), OFFERS, common)


def test_a_model_becomes_our_workload_with_the_settings_that_it_has(tmp_path):
    case = "bert:pytorch_1.8:A100:1:8:3"
    suite = made(tmp_path, case, config_A100x1x8=CONFIG)
    (run,) = suite.runs
    assert (run.workload, run.flags, run.settings) == ("bert", ["--fast"], {"seed": 9031, "a": 3})
    expected = {"preset": "lab", "framework": "pytorch", "data": "/data/bert", "batch": "24", "precision": "fp16"}
    assert {name: run.asked[name] for name in expected} == expected
    assert (run.asked["cases"], run.asked["nodes"]) == ("bert:pytorch:A100:1:8:3", "")
    told = {entry.key: entry.new for entry in suite.entries}
    assert told["seed"] == "settings.seed=9031"
    assert told["target_mlm_accuracy"].startswith("not used, because the workload that takes the model's place has no")
    assert suite.notes == []


def test_the_command_line_comes_first(tmp_path):
    common = replace(COMMON, asked={**COMMON.asked, "batch": "8", "data": "/mine"}, settings={"seed": 5})
    (run,) = made(tmp_path, "bert:pytorch:A100:1:8:3", common=common, config_A100x1x8=CONFIG).runs
    assert (run.asked["batch"], run.asked["data"], run.asked["precision"]) == ("8", "/mine", "fp16")
    assert run.settings == {"seed": 5}


def test_a_framework_that_our_workload_has_not_is_replaced_and_told(tmp_path):
    suite = made(tmp_path, "bert:paddle:A100:1:8:3")
    assert suite.runs[0].asked["cases"] == "bert:pytorch:A100:1:8:3"
    assert suite.notes == [
        "bert runs with pytorch in the place of paddle: bert is a program of our own, and its numbers are not those of"
        " FlagPerf's program."
    ]


def test_cases_choose_some_by_their_strings(tmp_path):
    cases = ("bert:pytorch:A100:1:8:3", "bert:pytorch:A100:2:8:1", "cpm:pytorch:A100:1:8:1")
    with pytest.raises(ValueError, match=r"line 15: there is no workload for the model 'cpm': .*\nChoose cases of"):
        made(tmp_path, *cases)
    chosen = replace(COMMON, asked={**COMMON.asked, "cases": f"{cases[1]}"})
    suite = made(tmp_path, *cases, common=chosen)
    assert [run.asked["cases"] for run in suite.runs] == [cases[1]]
    told = {entry.key: entry.new for entry in suite.entries}
    assert [told[case] == "not used, because cases= does not name it" for case in cases] == [True, False, True]
    with pytest.raises(ValueError, match="cases=glm:x is not among the cases of FlagPerf's file: bert:pytorch:A100:1"):
        made(tmp_path, *cases, common=replace(COMMON, asked={**COMMON.asked, "cases": "glm:x"}))


def test_nothing_of_a_checkout_is_executed(tmp_path):
    mark = tmp_path / "mark"
    made(tmp_path, "bert:pytorch:A100:1:8:3", config_A100x1x8=f"import os\nos.system('touch {mark}')\n{CONFIG}")
    assert (tmp_path / "FlagPerf/training" / BERT / "config_A100x1x8.py").is_file()
    assert not mark.exists()
