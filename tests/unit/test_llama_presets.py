"""The presets of the decoder, as its training script reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rackmark.dialects.catalog import known_names
from rackmark.run.asked import Asked
from rackmark.run.place import Place
from rackmark.run.plan import make_plan
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import models, read_folder
from workload_code import code_of

WORKLOADS = Path(__file__).parents[2] / "workloads"
LLAMA = workload_from(read_folder(WORKLOADS / "llama", dict.fromkeys(known_names())))
GPUS = Place(nodes=2, devices_per_node=8, accelerator="nvidia", resource="gpu", device="cuda")
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


def test_names_of_flagperf_lead_to_presets_of_their_size():
    assert {name for name, folder in models(WORKLOADS).items() if folder == "llama"} == {
        "llama",
        "llama2_7b",
        "llama3_8B",
    }
    plan, facts = told(preset="8b", cases="llama3_8B:pytorch:A100:1:8:1")
    assert [case.case for case in plan.cases] == ["1n8g"]
    assert facts["sequences"] * 8 == 512 and facts["steps"] + facts["warmup"] == 300
