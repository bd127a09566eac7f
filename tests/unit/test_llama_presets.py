"""The presets of the decoder, as its training script reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rackmark.dialects.catalog import known_names
from rackmark.flagperf.nominal import nominal_parameters
from rackmark.run.asked import Asked
from rackmark.run.place import Place
from rackmark.run.plan import make_plan
from rackmark.run.suite import SuiteRun, runs_of_cases
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import models, read_folder
from workload_code import code_of

WORKLOADS = Path(__file__).parents[2] / "workloads"
LLAMA = workload_from(read_folder(WORKLOADS / "llama", dict.fromkeys(known_names())))
GPUS = Place(nodes=4, devices_per_node=8, accelerator="nvidia", resource="gpu", device="cuda")
PARSE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import flags
asked = flags.parse("test", None, sys.argv[2:])
print(json.dumps({**asked.facts(), "sequences": asked.sequences}))
"""


def told(**asked):
    """What the script of the first job takes from its words."""
    plan = make_plan(LLAMA, Asked(**asked), "run", GPUS)
    program = plan.program_of(plan.jobs[0], "/runs/r", "/env/python")
    assert program[:2] == ["/env/python", "/runs/r/code/train_llama.py"]
    command = [sys.executable, "-c", PARSE, str(code_of(WORKLOADS / "llama")), *program[2:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return plan, json.loads(done.stdout)


@pytest.mark.parametrize("preset", LLAMA.presets)
def test_every_size_of_a_preset_reaches_the_script(preset):
    plan, facts = told(preset=preset)
    settings = dict(LLAMA.presets[preset].settings)
    peak, nominal = settings.pop("peak_tflops"), settings.pop("nominal_parameters")
    assert {name: facts[name] for name in settings} == settings
    assert (peak, facts["peak_tflops"]) == ("none", None)
    assert facts["nominal_parameters"] == (None if nominal == "none" else nominal)
    assert (facts["steps"], facts["warmup"]) == (plan.steps, plan.warmup)


def test_a_peak_that_an_operator_gives_reaches_the_script():
    assert told(preset="lab", settings={"peak_tflops": 312})[1]["peak_tflops"] == 312


def test_a_step_of_llama3_has_the_sequences_of_flagperf():
    plan, facts = told(cases="llama3_8B:pytorch:A100:1:8:1")
    assert (plan.preset, [case.case for case in plan.cases]) == ("8b", ["1n8g"])
    assert facts["sequences"] * 8 == 512 and facts["steps"] + facts["warmup"] == 300


def test_names_of_flagperf_lead_to_presets_of_their_size():
    nominal = {name: LLAMA.presets[preset].settings["nominal_parameters"] for name, preset in LLAMA.also_called.items()}
    assert len(nominal) == 7
    assert nominal == {name: nominal_parameters(name, "megatron") for name in nominal}


def test_a_model_says_the_preset_unless_the_operator_does():
    case = "llama2_7b:pytorch:A100:1:8:1"
    assert told(cases=case)[0].preset == "7b"
    assert told(cases=case, preset="lab")[0].preset == "lab"


def test_a_run_has_one_preset():
    both = "llama2_7b:pytorch:A100:1:8:1,llama3_8B:pytorch:A100:2:8:1"
    with pytest.raises(ValueError, match=r"one preset, and the cases are of 7b, 8b: playbooks/suite\.yml starts a run"):
        told(cases=both)
    assert told(cases=both, preset="tiny")[0].preset == "tiny"
    runs = runs_of_cases(both, models(WORKLOADS), SuiteRun("", asked={"preset": ""}))
    assert [(run.workload, run.asked["preset"]) for run in runs] == [("llama", "7b"), ("llama", "8b")]
    (run,) = runs_of_cases(both, models(WORKLOADS), SuiteRun("", asked={"preset": "lab"}))
    assert (run.asked["preset"], run.asked["cases"]) == ("lab", both)


def test_without_a_model_a_preset_has_to_be_named():
    with pytest.raises(
        ValueError, match=r"llama has no preset full: choose one of .*7b, 8b, .*lab.* with -e preset=\."
    ):
        told(cases="1n8g")


@pytest.mark.parametrize("model", ["baichuan2_13b", "gpt2", "mixtral_8x7B"])
def test_other_decoders_are_not_taken_for_this_one(model):
    with pytest.raises(ValueError, match=f"There is no workload for the model '{model}': use one of .*llama2_7b"):
        runs_of_cases(f"{model}:pytorch:A100:1:8:1", models(WORKLOADS), SuiteRun("", asked={}))
