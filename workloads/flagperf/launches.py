"""How FlagPerf starts its benchmarks, by the base of the framework: the words, and the variables that go with them.

FlagPerf's own launchers pass on no exit status, use one port for all jobs and keep the output to themselves, so their
part is done here.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Mapping, Sequence

SCRIPT = "run_pretraining.py"


@dataclass(frozen=True)
class Process:
    """What the job tells this process. `hosts` are the nodes by their names, `devices` those of a node."""

    rank: int
    local_rank: int
    node_rank: int
    nodes: int
    devices: int
    master: str
    port: int
    hosts: Sequence[str]

    @classmethod
    def of_environment(cls, variables: Mapping[str, str]) -> Process:
        hostfile = Path(variables["RACKMARK_HOSTFILE"]).read_text()
        return cls(
            rank=int(variables["RANK"]),
            local_rank=int(variables["LOCAL_RANK"]),
            node_rank=int(variables["NODE_RANK"]),
            nodes=int(variables["RACKMARK_NODES"]),
            devices=int(variables["RACKMARK_DEVICES_PER_NODE"]),
            master=variables["MASTER_ADDR"],
            port=int(variables["MASTER_PORT"]),
            hosts=[variables["MASTER_ADDR"], *(line.split()[0] for line in hostfile.splitlines()[1:])],
        )


@dataclass(frozen=True)
class Benchmark:
    """`config` is the name of the case's file of settings, `logs` a folder for what the program writes by itself."""

    training: Path
    model: str
    base: str
    vendor: str
    config: str
    data: str
    logs: Path

    @property
    def folder(self) -> Path:
        return self.training / "benchmarks" / self.model / self.base

    @property
    def config_folder(self) -> Path:
        return self._of_vendor / "config"

    @property
    def config_file(self) -> Path:
        return self.config_folder / f"{self.config}.py"

    @property
    def extern(self) -> Path:
        return self._of_vendor / "extern"

    @property
    def _of_vendor(self) -> Path:
        return self.training / self.vendor / f"{self.model}-{self.base}"


@dataclass(frozen=True)
class Launch:
    words: Sequence[str]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def pytorch(benchmark: Benchmark, _process: Process) -> Launch:
    """One process for each device. Its place is in the variables that torch reads, which are there already."""
    benchmark.extern.mkdir(parents=True, exist_ok=True)  # an empty folder does not travel
    options = {
        "--extern_config_dir": benchmark.config_folder,
        "--extern_config_file": benchmark.config_file.name,
        "--vendor": benchmark.vendor,
        "--data_dir": benchmark.data,
        "--extern_module_dir": benchmark.extern,
    }
    words = [sys.executable, "-u", str(benchmark.folder / SCRIPT), *_words(options, " "), "--enable_extern_config"]
    return Launch(words, benchmark.training)


def paddle(benchmark: Benchmark, process: Process) -> Launch:
    """As pytorch, with every rank's own endpoint: FlagPerf's launcher gives all of them the same one."""
    endpoints = [f"{host}:{process.port + local}" for host in process.hosts for local in range(process.devices)]
    launch = pytorch(benchmark, process)
    variables = {
        "PADDLE_TRAINER_ID": str(process.rank),
        "PADDLE_TRAINERS_NUM": str(len(endpoints)),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_CURRENT_ENDPOINT": endpoints[process.rank],
        "PADDLE_RANK_IN_NODE": str(process.local_rank),
        "PADDLE_LOCAL_DEVICE_IDS": str(process.local_rank),
        "PADDLE_WORLD_DEVICE_IDS": ",".join(map(str, range(process.devices))),
        "FLAGS_selected_gpus": str(process.local_rank),
        "FLAGS_selected_accelerators": str(process.local_rank),
    }
    return Launch(launch.words, launch.folder, variables)


def deepspeed(benchmark: Benchmark, process: Process) -> Launch:
    """One process for each node, which starts those of its devices by torchrun, at the job's own port."""
    torchrun = {
        "--nproc_per_node": process.devices,
        "--nnodes": process.nodes,
        "--node_rank": process.node_rank,
        "--master_addr": process.master,
        "--master_port": process.port,
    }
    words = [sys.executable, "-u", "-m", "torch.distributed.run", *_words(torchrun), SCRIPT]
    return _with_deepspeed(
        benchmark, process, [*words, *_place(benchmark, process), "--deepspeed", "--deepspeed_config"]
    )


def deepspeed_torch(benchmark: Benchmark, process: Process) -> Launch:
    words = [sys.executable, "-u", SCRIPT, *_place(benchmark, process), "--deepspeed"]
    return _with_deepspeed(benchmark, process, words)


def megatron(benchmark: Benchmark, process: Process) -> Launch:
    """One process for each node, whose program starts those of its devices."""
    place = {
        "--nproc_per_node": process.devices,
        "--nnodes": process.nodes,
        "--node_rank": process.node_rank,
        "--master_addr": process.master,
        "--master_port": process.port,
    }
    return _of_node(benchmark, place)


def flagscale(benchmark: Benchmark, process: Process) -> Launch:
    place = {
        "--world_size": process.nodes * process.devices,
        "--hosts": ",".join(process.hosts),
        "--host_addr": process.hosts[process.node_rank],
    }
    return _of_node(benchmark, place)


LAUNCHES: Mapping[str, Callable[[Benchmark, Process], Launch]] = {
    "pytorch": pytorch,
    "paddle": paddle,
    "deepspeed": deepspeed,
    "deepspeed-torch": deepspeed_torch,
    "megatron": megatron,
    "megatron-deepspeed": megatron,
    "flagscale": flagscale,
}


def _of_node(benchmark: Benchmark, place: Mapping[str, object]) -> Launch:
    benchmark.logs.mkdir(exist_ok=True)
    of_case = {
        "--vendor": benchmark.vendor,
        "--data_dir": benchmark.data,
        "--log_dir": benchmark.logs,
        "--flagperf_config_file": benchmark.config_file,
    }
    return Launch([sys.executable, "-u", SCRIPT, *_words({**place, **of_case})], benchmark.folder)


def _place(benchmark: Benchmark, process: Process) -> list[str]:
    options = {
        "--flagperf_config": benchmark.config_file,
        "--node_rank": process.node_rank,
        "--nproc_per_node": process.devices,
        "--nnodes": process.nodes,
    }
    return _words(options, " ")


def _with_deepspeed(benchmark: Benchmark, _process: Process, words: Sequence[str]) -> Launch:
    """The vendor's configuration over the benchmark's own. Every node has its own file, and waits for nobody's.
    net.sh is one line of a shell, which sets variables of the network."""
    merged: dict[str, object] = {}
    for folder in (benchmark.folder, benchmark.config_folder):
        merged.update(json.loads((folder / "ds_config.json").read_text()))
    made = benchmark.folder / "ds_config_tmp.json"
    made.write_text(json.dumps(merged))
    network = [*(benchmark.config_folder / "net.sh").read_text().splitlines(), ""][0]
    line = f'{network} exec "$0" "$@"'
    full = [*words, made.name, "--data_dir", benchmark.data]
    return Launch(["bash", "-c", line, *full], benchmark.folder)


def _words(options: Mapping[str, object], between: str = "=") -> list[str]:
    if between == "=":
        return [f"{name}={value}" for name, value in options.items()]
    return [word for name, value in options.items() for word in (name, str(value))]
