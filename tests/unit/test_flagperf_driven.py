"""FlagPerf's own programs as workloads, made of the parts of a checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from rackmark.dialects import catalog
from rackmark.flagperf.commit import commit_of
from rackmark.flagperf.driven import driven_suite
from rackmark.flagperf.importing import read_flagperf
from rackmark.logs.reading import STATED
from rackmark.run.asked import Asked
from rackmark.run.place import Place
from rackmark.run.plan import make_plan
from rackmark.run.suite import SuiteRun
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import read_folder

ROOT = Path(__file__).parents[2]
LIKE = ROOT / "tests/flagperf_like"
DIALECTS = {one.name: (*STATED, *(measure.word for measure in one.measures)) for one in catalog.DIALECTS}
COMMON = SuiteRun("", asked={"preset": "lab", "data": "/data/mine"})


@pytest.fixture
def checkout(tmp_path):
    return shutil.copytree(LIKE, tmp_path / "FlagPerf")


def made(checkout, cases, common=COMMON):
    imported = read_flagperf(checkout, cases)
    return driven_suite(imported, common, "0123456789ab", ROOT / "workloads/flagperf", checkout.parent / "made")


def refusal(checkout, cases, common=COMMON):
    with pytest.raises(ValueError) as refused:
        made(checkout, cases, common)
    return str(refused.value).replace(f"{checkout}/training/", "").splitlines()


def plan_of(run):
    declared = read_folder(Path(run.workload), DIALECTS)
    asked = {name: value for name, value in run.asked.items() if value}
    workload = workload_from(declared, "workload.yml", DIALECTS)
    return make_plan(workload, Asked(**asked), "id", Place(nodes=2, devices_per_node=2))


def test_a_benchmark_is_a_workload_of_the_parts_that_it_needs(checkout):
    (run,) = made(checkout, "tiny:pytorch_1.8:CPU:1:1:3,tiny:pytorch_1.8:CPU:2:1:1").runs
    folder = Path(run.workload)
    parts = {str(path.relative_to(folder)) for path in folder.rglob("*.*") if path.is_file()}
    assert {"drive.py", "launches.py", "drive.json", "workload.yml"} <= parts
    assert {
        "training/benchmarks/tiny/pytorch/run_pretraining.py",
        "training/benchmarks/driver/perf_records.py",
        "training/homemade/tiny-pytorch/extern/trainer_adapter.py",
    } <= parts
    assert not any("tinylm" in part for part in parts)
    plan = plan_of(run)
    assert [(case.case, case.repeats, case.batch_per_device, case.precision) for case in plan.cases] == [
        ("1n1g", 3, 4, "fp32"),
        ("2n1g", 1, 4, "fp32"),
    ]
    assert (plan.dialect, plan.measure, plan.ranks, plan.unit) == ("flagperf", "stated", "device", "samples/s")
    assert plan.settings == {"flagperf": "tiny:pytorch_1.8:CPU", "vendor": "homemade", "commit": "0123456789ab"}
    assert list(plan.measures) == [
        "throughput",
        "whole",
        "no_eval",
        "time_to_train",
        "final_acc1",
        "converged",
        "e2e_s",
    ]
    assert plan.program_of(plan.jobs[0], "/run", "/env/python") == [
        "/env/python",
        "/run/code/drive.py",
        "--data",
        "/data/mine",
    ]


def test_a_checkout_that_has_changed_is_another_workload(checkout):
    case = "tiny:pytorch:CPU:1:1:1"
    first = made(checkout, case).runs[0].workload
    assert made(checkout, case).runs[0].workload == first
    with (checkout / "training/benchmarks/driver/perf_records.py").open("a") as file:
        file.write("# changed\n")
    assert made(checkout, case).runs[0].workload != first


def test_a_language_model_runs_once_on_each_node_and_states_tokens(checkout):
    plan = plan_of(made(checkout, "tinylm:megatron:CPU:2:1:1").runs[0])
    assert (plan.ranks, plan.unit) == ("node", "tokens/s")
    assert list(plan.measures) == ["throughput", "tokens_per_s_device", "mfu_flagperf"]


def test_cases_that_differ_in_batch_are_runs_of_their_own(checkout):
    config = checkout / "training/homemade/tiny-pytorch/config/config_CPUx2x1.py"
    config.write_text(config.read_text().replace("= 4", "= 8"))
    runs = made(checkout, "tiny:pytorch:CPU:1:1:1,tiny:pytorch:CPU:1:2:1,tiny:pytorch:CPU:2:1:1").runs
    assert [[case.case for case in plan_of(run).cases] for run in runs] == [["1n1g", "1n2g"], ["2n1g"]]
    assert [plan_of(run).cases[0].batch_per_device for run in runs] == [4, 8]


def test_everything_that_is_missing_is_said_at_once(checkout):
    shutil.rmtree(checkout / "training/homemade/tiny-pytorch/extern")
    (checkout / "training/homemade/tinylm-deepspeed/config/net.sh").unlink()
    (checkout / "training/benchmarks/tinylm/deepspeed/ds_config.json").unlink()
    cases = "tiny:pytorch:B200:1:1:1,tinylm:deepspeed:CPU:1:2:1,tiny:in_container:CPU:1:1:1"
    assert refusal(checkout, cases) == [
        "tiny:pytorch:B200:1:1:1: the file homemade/tiny-pytorch/config/config_B200x1x1.py is not there."
        " There are config_CPUx1x1, config_CPUx1x2, config_CPUx2x1.",
        "tiny:pytorch:B200:1:1:1: the folder homemade/tiny-pytorch/extern is not there.",
        "tinylm:deepspeed:CPU:1:2:1: the file benchmarks/tinylm/deepspeed/ds_config.json is not there.",
        "tinylm:deepspeed:CPU:1:2:1: the file homemade/tinylm-deepspeed/config/net.sh is not there.",
        "tiny:in_container:CPU:1:1:1: in_container is none of the frameworks that can be driven: pytorch, paddle,"
        " deepspeed, deepspeed-torch, megatron, megatron-deepspeed, flagscale.",
    ]
    assert not (checkout.parent / "made").exists()


def test_a_model_that_the_checkout_does_not_have_is_one_sentence(checkout):
    (said,) = refusal(checkout, "tini:pytorch:CPU:1:1:1")
    assert said == (
        "tini:pytorch:CPU:1:1:1: the checkout has no benchmark tini: did you mean tiny? Known are tiny, tinylm."
    )


@pytest.mark.parametrize(
    ("cases", "asked", "sentence"),
    [
        (
            "tiny:pytorch:CPU:1:1:1",
            {},
            "tiny:pytorch:CPU:1:1:1 has no folder of data: CASES names none for it, so give one with -e data=.",
        ),
        ("tiny:pytorch:CPU:1x1:1", {"data": "/x"}, "-e cases: 'tiny:pytorch:CPU:1x1:1' is not a case"),
        ("tiny:pytorch:CPU:1:1:1", {"data": "/x", "preset": "dlperf"}, "preset=dlperf has no use with driver=flagperf"),
    ],
)
def test_what_cannot_be_driven_is_a_sentence(checkout, cases, asked, sentence):
    (said,) = refusal(checkout, cases, SuiteRun("", asked=asked))
    assert said.startswith(sentence)


def test_cases_of_the_file_have_their_data_and_settings_are_told(checkout):
    suite = made(checkout, "", SuiteRun("", asked={"preset": "full"}))
    assert suite.runs[0].asked["data"] == "/data/tiny"
    told = {entry.key: entry.new for entry in suite.entries}
    assert (told["train_batch_size"], told["max_steps"]) == ("batch=4", "read by FlagPerf's own program")


def test_sources_of_a_checkout_are_compiled_elsewhere_and_that_is_said(checkout):
    (checkout / "training/homemade/tiny-pytorch/csrc").mkdir()
    (note,) = made(checkout, "tiny:pytorch:CPU:1:1:1").notes
    assert note.startswith("tiny: FlagPerf compiles") and "Here the image, or the Python" in note


def test_the_commit_is_told_with_what_has_changed(checkout):
    def git(*words):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", str(checkout), *identity, *words], check=True, capture_output=True)

    assert commit_of(checkout) == "unknown"
    git("init")
    git("add", ".")
    git("commit", "-m", "x")
    clean = commit_of(checkout / "training")
    assert len(clean) == 12
    (checkout / "training/utils/__init__.py").write_text("")
    assert commit_of(checkout) == f"{clean}-dirty"


def test_the_record_of_a_driver_names_the_settings_of_each_case(checkout):
    (run,) = made(checkout, "tiny:pytorch_1.8:CPU:1:1:3,tiny:pytorch_1.8:CPU:2:1:1").runs
    told = json.loads((Path(run.workload) / "drive.json").read_text())
    configs = {"1n1g": "config_CPUx1x1", "2n1g": "config_CPUx2x1"}
    assert told == {"model": "tiny", "base": "pytorch", "vendor": "homemade", "configs": configs}
    assert yaml.safe_load((Path(run.workload) / "workload.yml").read_text())["also_called"] == {"tiny": "flagperf"}
