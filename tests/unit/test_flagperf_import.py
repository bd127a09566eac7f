"""What becomes of FlagPerf's configuration: runs with their cases, and a word on every key."""

from __future__ import annotations

from pathlib import Path

import pytest
from rackmark.flagperf.importing import read_flagperf
from unit.log_fixture import write

HEAD = """'''Test Configs'''
VENDOR = "nvidia"
ACCE_CONTAINER_OPT = " --gpus all"
ACCE_VISIBLE_DEVICE_ENV_NAME = "CUDA_VISIBLE_DEVICES"
PIP_SOURCE = "https://someone:secret@pypi.example.org/simple"
FLAGPERF_PATH = "/home/FlagPerf/training"
FLAGPERF_LOG_PATH = FLAGPERF_PATH + "/result/"
FLAGPERF_LOG_LEVEL = 'debug'
SHM_SIZE = "32G"
CLEAR_CACHES = True
OF_OUR_OWN = 1
CASES = {
"""
CLUSTER = """HOSTS = ["10.1.2.2", "10.1.2.3", "10.1.2.4"]
HOSTS_PORTS = ["2222"]
MASTER_PORT = "29501"
SSH_PORT = "22"
"""
BERT = "nvidia/bert-pytorch/config"


def checkout(folder: Path, *cases: str, data: str = "/data/bert", tests: str = "", **files: str) -> Path:
    """`files` are the vendor's, by their names below the folder of BERT."""
    listed = "".join(f'    "{case}": "{data}",\n' for case in cases)
    return write(
        folder / "FlagPerf",
        {
            "training/run_benchmarks/config/test_conf.py": tests or f"{HEAD}{listed}}}\n",
            "training/run_benchmarks/config/cluster_conf.py": CLUSTER,
            "training/nvidia/README.md": "",
            **{f"training/{BERT}/{name}.py": text for name, text in files.items()},
        },
    )


def refusal(folder: Path) -> str:
    with pytest.raises(ValueError) as refused:
        read_flagperf(folder)
    return str(refused.value).replace(f"{folder}/training/run_benchmarks/config/", "")


def new(folder: Path) -> dict[str, str]:
    return {entry.key: entry.new for entry in read_flagperf(folder).entries}


def test_a_case_string_is_a_case_of_a_run_with_its_hosts_and_data(tmp_path):
    folder = checkout(tmp_path, "llama3_8B:megatron:TG-V200:1:16:1", data="/datasets")
    for given in (folder, folder / "training"):
        (run,) = read_flagperf(given).runs
        assert (run.model, run.framework, run.hardware, run.data) == ("llama3_8B", "megatron", "TG-V200", "/datasets")
        assert [(case.name, case.request.repeats) for case in run.cases] == [("1n16g", 1)]
        assert (run.batch, run.precision) == (None, None)
    assert "there is no such file" in new(folder)["config_TG-V200x1x16.py"]


def test_cases_of_a_model_and_framework_are_one_run_and_others_their_own(tmp_path):
    cases = ["bert:pytorch_1.8:A100:1:8:3", "glm:pytorch_1.8:A100:1:8:1", "bert:pytorch_1.8:A100:2:8:1"]
    runs = read_flagperf(checkout(tmp_path, *cases, "bert:paddle:A100:1:1:2")).runs
    assert [(run.model, run.framework, [case.name for case in run.cases]) for run in runs] == [
        ("bert", "pytorch", ["1n8g", "2n8g"]),
        ("glm", "pytorch", ["1n8g"]),
        ("bert", "paddle", ["1n1g"]),
    ]
    assert [case.request.repeats for case in runs[0].cases] == [3, 1]


def test_versions_of_a_framework_have_images_and_so_runs_of_their_own(tmp_path):
    runs = read_flagperf(checkout(tmp_path, "bert:pytorch_1.8:A100:1:8:1", "bert:pytorch_2.0:A100:1:8:1")).runs
    assert [(run.framework, run.cases[0].framework) for run in runs] == [
        ("pytorch", "pytorch_1.8"),
        ("pytorch", "pytorch_2.0"),
    ]


def test_the_settings_of_a_case_are_batch_precision_and_what_both_know(tmp_path):
    files = {
        "config_common": "fp16 = True\nseed = 9031\nlr = 0.1\n",
        "config_A100x1x8": "from config_common import *\ntrain_batch_size = 24\ntarget_mlm_accuracy = 0.72\n"
        "max_steps = 30000\ntheoryflops = 312e12\ngrad_scaler = GradScaler()\n",
    }
    folder = checkout(tmp_path, "bert:pytorch_1.8:A100:1:8:1", **files)
    found = read_flagperf(folder)
    (run,) = found.runs
    assert (run.batch, run.precision) == (24, "fp16")
    assert run.settings == {"seed": 9031, "target_mlm_accuracy": 0.72, "max_steps": 30000, "theoryflops": 312e12}
    by_key = {entry.key: entry for entry in found.entries}
    assert by_key["train_batch_size"].new == "batch=24"
    assert by_key["fp16"].new == "precision=fp16"
    assert by_key["seed"].new == "settings.seed=9031"
    assert by_key["seed"].where.endswith("config_common.py, line 2")
    assert by_key["lr"].new.startswith("not used, because it is a setting of FlagPerf's own program")
    assert by_key["grad_scaler"].where.endswith("config_A100x1x8.py, line 6")
    assert by_key["grad_scaler"].new.endswith("cannot be read without running it: grad_scaler contains a call.")


@pytest.mark.parametrize(
    ("line", "key", "said"),
    [
        ("theoryflops = -1", "theoryflops", "not used, because it is no peak"),
        ("train_batch_size = 0", "train_batch_size", "not used, because it is no number of samples"),
        ("train_batch_size = 8\nbatch_size = 9", "batch_size", "not used, because train_batch_size counts"),
        ("bf16 = False", "bf16", "not used, because it leaves the precision to the benchmark"),
    ],
)
def test_settings_without_a_meaning_are_not_used(tmp_path, line, key, said):
    folder = checkout(tmp_path, "bert:pytorch_1.8:A100:1:8:1", config_A100x1x8=line)
    assert new(folder)[key] == said


def test_what_the_cases_of_a_run_do_not_share_is_named(tmp_path):
    files = {"config_A100x1x8": "train_batch_size = 24\nseed = 1", "config_A100x2x8": "train_batch_size = 16\nseed = 1"}
    folder = checkout(tmp_path, "bert:pytorch_1.8:A100:1:8:1", "bert:pytorch_1.8:A100:2:8:1", **files)
    (run,) = read_flagperf(folder).runs
    assert (run.batch, run.settings) == (None, {"seed": 1})
    assert [case.settings.batch for case in run.cases] == [24, 16]
    assert len(run.notes) == 1 and "its cases differ in batch (1n8g 24, 2n8g 16)" in run.notes[0]


def test_every_key_has_a_new_name_or_a_reason(tmp_path):
    folder = checkout(tmp_path, "bert:pytorch_1.8:A100:1:8:2:TP1:PP2")
    said = new(folder)
    assert "-e benchmark_shm_size=32g with runtime=docker" in said["SHM_SIZE"]
    assert """-e '{"benchmark_hosts": ["10.1.2.2", "10.1.2.3", "10.1.2.4"]}' with launcher=ssh""" in said["HOSTS"]
    assert said["VENDOR"] == "the folder with the settings of the cases"
    assert said["OF_OUR_OWN"] == "not used, because Rackmark knows no such key of FlagPerf"
    assert said["bert:pytorch_1.8:A100:1:8:2:TP1:PP2"] == (
        "case 1n8g of bert with pytorch, 2 repeats, data=/data/bert; what follows the repeats (TP1:PP2) is not used,"
        " because FlagPerf ignores it, too"
    )
    not_used = {key for key, words in said.items() if words.startswith("not used, because ")}
    keys = {line.split(" = ")[0] for line in (HEAD + CLUSTER).splitlines() if " = " in line} - {"CASES"}
    assert keys - not_used == {"VENDOR"}


def test_passwords_in_addresses_are_not_shown(tmp_path):
    found = read_flagperf(checkout(tmp_path, "bert:pytorch_1.8:A100:1:8:1"))
    assert not any("secret" in entry.old for entry in found.entries)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("bert:pytorch:A100:1x8:1", "test_conf.py, line 13: 'bert:pytorch:A100:1x8:1' is not a case: FlagPerf's"),
        ("bert:pytorch:A100:0:8:1", "test_conf.py, line 13: 'bert:pytorch:A100:0:8:1' is not a case"),
        ("1n8g", "test_conf.py, line 13: '1n8g' is not a case string of FlagPerf"),
        ("bert:pytorch:A100:4:8:1", "takes 4 hosts, cluster_conf.py, line 1 names 3."),
    ],
)
def test_a_malformed_case_is_named_with_its_line(tmp_path, case, problem):
    assert problem in refusal(checkout(tmp_path, case))


def test_all_problems_are_told_at_once(tmp_path):
    folder = checkout(tmp_path, "bert:pytorch:A100:1x8:1", "glm:pytorch:A100:1:8:1", "glm:pytorch:A100:1:8:3")
    config = folder / "training/run_benchmarks/config"
    tests = config / "test_conf.py"
    tests.write_text(tests.read_text().replace('"nvidia"', '"nvida"').replace('"32G"', '"lots"'))
    (config / "cluster_conf.py").write_text("HOSTS = 3\n")
    told = refusal(folder)
    assert "line 2: VENDOR='nvida' is not a folder of" in told
    assert "line 9: SHM_SIZE='lots' is not a size" in told
    assert "cluster_conf.py, line 1: HOSTS=3 is not a list" in told
    assert "line 13: 'bert:pytorch:A100:1x8:1'" in told
    assert "line 15: glm:pytorch:A100:1:8:3 is the same case as glm:pytorch:A100:1:8:1" in told


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ("CASES = {}", "line 2: CASES is empty"),
        ("CASES = 3", "line 2: CASES is no dict"),
        ("CASES = {'a:b:c:1:8:1': 3}", "line 2: 'a:b:c:1:8:1': 3 is not a case string with the path"),
        ("CASES = ['BERT']", "line 2: CASES names 'BERT', and there is no dict of that name"),
        ("OTHER = 1", "CASES is no dict"),
    ],
)
def test_cases_that_are_none_are_told(tmp_path, cases, problem):
    assert problem in refusal(checkout(tmp_path, tests=f"VENDOR = 'nvidia'\n{cases}\n"))


def test_a_folder_that_is_no_checkout_is_told(tmp_path):
    assert "is no checkout of FlagPerf" in refusal(tmp_path)


OF_2022 = """VENDOR = "nvidia"
SHM_SIZE = "32G"
CASES = [
    'BERT_PADDLE_DEMO_A100_1X8',
]
BERT_PADDLE_DEMO_A100_1X8 = {
    "model": "bert",
    "framework": "pytorch",
    "config": "config_A100x1x8",
    "repeat": 2,
    "nnodes": 1,
    "nproc": 8,
    "data_dir_host": "/home/datasets_ckpt/bert/train/",
    "data_dir_container": "/mnt/data/bert/train/",
}
GLM = {"model": "glm"}
"""


def test_the_form_of_2022_gives_the_same(tmp_path):
    folder = checkout(tmp_path, tests=OF_2022, config_A100x1x8="train_batch_size = 24")
    (run,) = read_flagperf(folder).runs
    (case,) = run.cases
    assert (run.model, run.framework, run.hardware, run.data) == (
        "bert",
        "pytorch",
        "A100",
        "/home/datasets_ckpt/bert/train/",
    )
    assert (case.name, case.request.repeats, run.batch) == ("1n8g", 2, 24)
    said = new(folder)
    assert said["BERT_PADDLE_DEMO_A100_1X8.repeat"] == "repeats of that case"
    assert said["BERT_PADDLE_DEMO_A100_1X8.data_dir_container"].startswith("not used, because containers see")
    assert said["GLM"] == "not used, because CASES does not name it"


def test_a_case_of_2022_that_lacks_something_is_named_with_its_line(tmp_path):
    folder = checkout(tmp_path, tests=OF_2022.replace('    "nproc": 8,\n', '    "nproc": "8",\n'))
    assert "line 6: BERT_PADDLE_DEMO_A100_1X8 has no usable nproc." in refusal(folder)


def test_a_file_with_a_call_is_refused_and_has_not_run(tmp_path):
    touched = tmp_path / "touched"
    tests = f'import os\nVENDOR = "nvidia"\nCASES = {{}}\nos.system("touch {touched}")\n'
    told = refusal(checkout(tmp_path, tests=tests))
    assert "test_conf.py, line 1: an import" in told and "test_conf.py, line 4: a call" in told
    assert not touched.exists()
