"""With which words and variables benchmarks of FlagPerf are started."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRAINING = ROOT / "tests/flagperf_like/training"


@pytest.fixture(scope="module")
def launches():
    spec = importlib.util.spec_from_file_location("flagperf_launches", ROOT / "workloads/flagperf/launches.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def launch(launches, tmp_path):
    """Of rank 3 of four, the second one on the second node."""
    training = shutil.copytree(TRAINING, tmp_path / "training")

    def made(base, model="tinylm", rank=3, local_rank=1):
        process = launches.Process(rank, local_rank, 1, 2, 2, "node1", 29631, ["node1", "node2"])
        config = "config_CPUx1x2"
        benchmark = launches.Benchmark(training, model, base, "homemade", config, "/data", tmp_path / "node1")
        return launches.LAUNCHES[base](benchmark, process)

    return made


def options(words):
    return dict(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)


def test_pytorch_gets_the_options_of_flagperfs_launcher(launch, tmp_path):
    started = launch("pytorch", "tiny")
    of_vendor = tmp_path / "training/homemade/tiny-pytorch"
    assert started.words[1:] == [
        *("-u", str(tmp_path / "training/benchmarks/tiny/pytorch/run_pretraining.py")),
        *("--extern_config_dir", str(of_vendor / "config"), "--extern_config_file", "config_CPUx1x2.py"),
        *("--vendor", "homemade", "--data_dir", "/data", "--extern_module_dir", str(of_vendor / "extern")),
        "--enable_extern_config",
    ]
    assert (started.folder, started.variables) == (tmp_path / "training", {})


def test_paddle_has_an_endpoint_of_its_own_for_every_rank(launch):
    variables = launch("paddle").variables
    endpoints = ["node1:29631", "node1:29632", "node2:29631", "node2:29632"]
    assert variables["PADDLE_TRAINER_ENDPOINTS"].split(",") == endpoints
    assert (variables["PADDLE_TRAINER_ID"], variables["PADDLE_CURRENT_ENDPOINT"]) == ("3", "node2:29632")
    assert variables["FLAGS_selected_gpus"] == "1"


def test_deepspeed_meets_at_the_jobs_port_with_the_vendors_configuration(launch, tmp_path):
    started = launch("deepspeed")
    shell, _, line, *words = started.words
    assert (shell, line) == ("bash", 'export NCCL_SOCKET_IFNAME=enp; exec "$0" "$@"')
    assert words[2:4] == ["-m", "torch.distributed.run"]
    wanted = {"--nproc_per_node": "2", "--nnodes": "2", "--node_rank": "1", "--master_addr": "node1"}
    assert options(words) == {**wanted, "--master_port": "29631"}
    assert words[-4:] == ["--deepspeed_config", "ds_config_tmp.json", "--data_dir", "/data"]
    merged = json.loads((tmp_path / "training/benchmarks/tinylm/deepspeed/ds_config_tmp.json").read_text())
    assert merged["both"] == "homemade/tinylm-deepspeed/config"
    assert len(merged) == 3


def test_a_line_of_the_network_is_set_for_the_program(launch):
    started = launch("deepspeed")
    said = subprocess.run([*started.words[:3], "printenv", "NCCL_SOCKET_IFNAME"], capture_output=True, text=True)
    assert (said.stdout, said.returncode) == ("enp\n", 0)


def test_megatron_and_flagscale_know_their_place(launch, tmp_path):
    of_case = {
        "--vendor": "homemade",
        "--data_dir": "/data",
        "--log_dir": str(tmp_path / "node1"),
        "--flagperf_config_file": str(tmp_path / "training/homemade/tinylm-megatron/config/config_CPUx1x2.py"),
    }
    place = {"--nproc_per_node": "2", "--nnodes": "2", "--node_rank": "1", "--master_addr": "node1"}
    assert options(launch("megatron").words) == {**place, "--master_port": "29631", **of_case}
    said = options(launch("flagscale").words)
    assert {name: said[name] for name in ("--world_size", "--hosts", "--host_addr")} == {
        "--world_size": "4",
        "--hosts": "node1,node2",
        "--host_addr": "node2",
    }


def test_the_place_is_what_the_job_says(launches, tmp_path):
    (tmp_path / "hostfile").write_text("node1 slots=2\nnode2 slots=2\n")
    said = {"RANK": 3, "LOCAL_RANK": 1, "NODE_RANK": 1, "RACKMARK_NODES": 2, "RACKMARK_DEVICES_PER_NODE": 2}
    said |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29631, "RACKMARK_HOSTFILE": tmp_path / "hostfile"}
    process = launches.Process.of_environment({name: str(value) for name, value in said.items()})
    assert process == launches.Process(3, 1, 1, 2, 2, "127.0.0.1", 29631, ["127.0.0.1", "node2"])
