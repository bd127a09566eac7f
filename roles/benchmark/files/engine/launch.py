"""How programs are started on the nodes of a job: by Slurm, through ssh, or here."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Sequence

from processes import die_with_parent

ENGINE = Path(__file__).resolve().parent
LOOPBACK = "127.0.0.1"
# A node that has gone is noticed after half a minute.
SSH = (
    *("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"),
)


@dataclass(frozen=True)
class Job:
    """`number` tells this job from others on the same machines."""

    number: str
    folder: Path
    nodes: Sequence[str]
    launcher: str
    ranks_per_node: int
    threads: int
    accelerator: str
    command: Sequence[str]
    package: str | None = None
    dataset: str | None = None
    image: str | None = None
    shm_size: str | None = None
    mounts: Sequence[str] = field(default=())
    telemetry: float = 0

    @property
    def world_size(self) -> int:
        return len(self.nodes) * self.ranks_per_node

    def name_of(self, rank: int) -> str:
        return f"rank {rank} on {self.nodes[rank // self.ranks_per_node]}"


def nodes_of(launcher: str, hosts: Sequence[str]) -> list[str]:
    if launcher == "slurm":
        command = ["scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return list(hosts) if launcher == "ssh" else [socket.gethostname()]


def preflight_commands(job: Job, token: str) -> list[list[str]]:
    """One command for all nodes where Slurm spreads it, else one for each."""
    flags = [
        *("--folder", str(job.folder), "--token", token, "--first-node", job.nodes[0], "--job", job.number),
        *("--ranks-per-node", str(job.ranks_per_node), "--accelerator", job.accelerator),
        *("--program", job.command[0]),
        *(["--package", job.package] if job.package else []),
        *(["--dataset", job.dataset] if job.dataset else []),
        *(["--image", job.image] if job.image else []),
    ]
    if job.launcher == "slurm":
        return [[*_srun(job, 1), "--label", *_program("preflight.py", flags)]]
    return [_on_node(job, place, _program("preflight.py", [*flags, "--index", str(place)])) for place in _places(job)]


def rank_commands(job: Job, port: int) -> list[list[str]]:
    address = LOOPBACK if job.launcher == "local" else job.nodes[0]
    common = [
        *("--ranks-per-node", str(job.ranks_per_node), "--master", f"{address}:{port}"),
        *("--threads", str(job.threads)),
    ]
    node_flags = ["--nodes", str(len(job.nodes)), *common]
    if job.launcher == "slurm":
        if job.image:
            container = _in_container(job, [*node_flags, "--", *job.command], _sampling(job))
            return [[*_srun(job, 1), "--kill-on-bad-exit=1", *container]]
        output = f"--output={job.folder}/rank-%t.log"
        ranks = _program("rank.py", [*common, *_sampling(job, accelerator=True), "--", *job.command])
        return [[*_srun(job, job.ranks_per_node), "--kill-on-bad-exit=1", output, *ranks]]
    commands = []
    for place in _places(job):
        own = address if job.launcher == "local" else job.nodes[place]
        arguments, command = ["--node-rank", str(place), "--address", own, *node_flags], ["--", *job.command]
        if job.image:
            program = _in_container(job, [*arguments, *command], _sampling(job, place))
        else:
            program = _program("node.py", [*arguments, *_sampling(job, place, accelerator=True), *command])
        commands.append(_on_node(job, place, program))
    return commands


def start(command: list[str], **streams: int) -> subprocess.Popen[bytes]:
    """Its standard input stays open as long as this program lives, by which the other end can tell."""
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, start_new_session=True, preexec_fn=die_with_parent(), **streams
    )


def _places(job: Job) -> range:
    return range(len(job.nodes))


def _srun(job: Job, tasks_per_node: int) -> list[str]:
    nodes = len(job.nodes)
    layout = (f"--nodes={nodes}", f"--ntasks={nodes * tasks_per_node}", f"--ntasks-per-node={tasks_per_node}")
    crowded = tasks_per_node > int(os.environ.get("SLURM_CPUS_ON_NODE", tasks_per_node))
    return ["srun", "--input=none", *(["--overcommit"] if crowded else []), *layout]


def _program(name: str, arguments: list[str]) -> list[str]:
    return [sys.executable, "-SE", str(ENGINE / name), *arguments]


def _sampling(job: Job, place: int | None = None, accelerator: bool = False) -> list[str]:
    """Under Slurm a node knows its name."""
    if not job.telemetry:
        return []
    return [
        *("--telemetry", f"{job.telemetry:g}"),
        *(["--node-name", job.nodes[place]] if place is not None else []),
        *(["--accelerator", job.accelerator] if accelerator else []),
    ]


def _in_container(job: Job, node_arguments: list[str], sampling: list[str]) -> list[str]:
    flags = [
        *("--image", str(job.image), "--shm-size", str(job.shm_size), "--job", job.number),
        *("--ranks-per-node", str(job.ranks_per_node), "--accelerator", job.accelerator),
        *(word for mount in (*job.mounts, *filter(None, [job.dataset])) for word in ("--mount", mount)),
        *([] if job.launcher == "slurm" else ["--until-stdin-closes"]),
        *sampling,
    ]
    return _program("container.py", [*flags, "--", *node_arguments])


def _on_node(job: Job, place: int, program: list[str]) -> list[str]:
    """The first node is this one."""
    if place == 0:
        return program
    return [*SSH, job.nodes[place], f"cd {shlex.quote(str(job.folder))} && exec {shlex.join(program)}"]
