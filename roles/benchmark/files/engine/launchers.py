"""How programs are started on the nodes of a job: by Slurm's srun, through ssh, or here."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterable, List, Protocol, Sequence

from allocation import Allocation, log_of
from rackmark.node.job_record import JobRecord, RecordError
from rackmark.node.processes import die_with_parent

ENGINE = Path(__file__).resolve().parent
LOOPBACK = "127.0.0.1"
# A node that has gone is noticed after half a minute.
SSH = (
    *("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"),
)
Command = List[str]
Lines = List[str]

_LABELLED = re.compile(r"\s*(\d+): (.*)")


class Launcher(Protocol):
    """`title` is what failed when nothing could be started. Where a scheduler `ends_at_limit`, the engine leaves a job
    that has reached its limit to it; one that `shows_comments` is told how far a search is.
    """

    title: str
    ends_at_limit: bool
    shows_comments: bool

    def nodes(self) -> list[str]:
        """The nodes of the job, this one first."""

    def master(self, nodes: Sequence[str]) -> str:
        """The address of this node at which ranks meet."""

    def preflights(self, job: Allocation, flags: Sequence[str]) -> list[Command]:
        """Commands that put the questions to all nodes."""

    def answers(self, job: Allocation, outputs: Sequence[str]) -> list[Lines]:
        """What these commands printed, by node."""

    def processes(self, job: Allocation, master: str) -> list[Command]:
        """Commands that run the program's processes on all nodes."""

    def samplers(self, job: Allocation) -> list[Command]:
        """Commands that sample the nodes on which none of the program's processes runs: all but this one."""


class Srun:
    title = "srun"
    ends_at_limit = True
    shows_comments = True

    def __init__(self, _record: JobRecord) -> None:
        """Slurm's environment says all."""

    def nodes(self) -> list[str]:
        command = ["scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()

    def master(self, nodes: Sequence[str]) -> str:
        return nodes[0]

    def preflights(self, job: Allocation, flags: Sequence[str]) -> list[Command]:
        return [[*self._srun(job, 1), "--label", *_program("preflight.py", flags)]]

    def answers(self, job: Allocation, outputs: Sequence[str]) -> list[Lines]:
        """Lines have the number of their node; srun's own words, without one, concern all."""
        lines = outputs[0].splitlines()
        found = [[line for line in lines if not _LABELLED.match(line)] for _ in job.nodes]
        for match in filter(None, map(_LABELLED.match, lines)):
            found[int(match.group(1))].append(match.group(2))
        return found

    def processes(self, job: Allocation, master: str) -> list[Command]:
        if job.record.independent:
            return [self._alone(job, place, master) for place in range(len(job.nodes))]
        ending = "--kill-on-bad-exit=1"
        if job.record.image:
            container = _program("container.py", ["--job", job.number, "--", "--master", master])
            return [[*self._srun(job, 1), ending, *container]]
        output = f"--output={job.folder}/{log_of('%t')}"
        ranks = _program("rank.py", ["--master", master])
        return [[*self._srun(job, job.record.processes_per_node), ending, output, *ranks]]

    @staticmethod
    def _alone(job: Allocation, place: int, master: str) -> Command:
        """A step of its own for each node, which goes on when another node dies, or this one."""
        node = job.nodes[place]
        layout = ("--nodes=1", "--ntasks=1", "--ntasks-per-node=1", f"--nodelist={node}", "--no-kill")
        return ["srun", "--input=none", *layout, *node_program(job, place, node, master, by_itself=True)]

    def samplers(self, job: Allocation) -> list[Command]:
        """In a step that takes no resources from those of the program (which Slurm has since 20.11)."""
        others = job.nodes[1:]
        layout = [f"--nodes={len(others)}", f"--ntasks={len(others)}", "--ntasks-per-node=1"]
        return [["srun", "--overlap", *layout, f"--nodelist={','.join(others)}", *_program("sampler.py", [])]]

    @staticmethod
    def _srun(job: Allocation, tasks_per_node: int) -> Command:
        nodes = len(job.nodes)
        layout = (f"--nodes={nodes}", f"--ntasks={nodes * tasks_per_node}", f"--ntasks-per-node={tasks_per_node}")
        crowded = tasks_per_node > int(os.environ.get("SLURM_CPUS_ON_NODE", tasks_per_node))
        return ["srun", "--input=none", *(["--overcommit"] if crowded else []), *layout]


class OverSsh:
    """A command for each node; the first one is this."""

    title = "ssh"
    ends_at_limit = False
    shows_comments = False

    def __init__(self, record: JobRecord) -> None:
        self._hosts = list(record.hosts)
        if len(self._hosts) != record.nodes:
            raise RecordError(f"launcher=ssh needs {record.nodes} hosts, not {len(self._hosts)}.")

    def nodes(self) -> list[str]:
        return self._hosts

    def master(self, nodes: Sequence[str]) -> str:
        return nodes[0]

    def preflights(self, job: Allocation, flags: Sequence[str]) -> list[Command]:
        programs = (_program("preflight.py", [*flags, "--index", str(place)]) for place in range(len(job.nodes)))
        return [_on_node(job, place, program) for place, program in enumerate(programs)]

    def answers(self, job: Allocation, outputs: Sequence[str]) -> list[Lines]:
        return [output.splitlines() for output in outputs]

    def processes(self, job: Allocation, master: str) -> list[Command]:
        addresses = [master.rpartition(":")[0], *job.nodes[1:]]
        return [
            _on_node(job, place, node_program(job, place, address, master)) for place, address in enumerate(addresses)
        ]

    def samplers(self, job: Allocation) -> list[Command]:
        places = range(1, len(job.nodes))
        return [_on_node(job, place, _program("sampler.py", ["--node", job.nodes[place]])) for place in places]


class Here(OverSsh):
    title = "The launcher"

    def __init__(self, record: JobRecord) -> None:
        self._hosts = [socket.gethostname()]
        if record.nodes != 1:
            raise RecordError(
                f"launcher=local has one node, this machine, and not {record.nodes}: take launcher slurm or ssh."
            )

    def master(self, nodes: Sequence[str]) -> str:
        return LOOPBACK


LAUNCHERS: dict[str, Callable[[JobRecord], Launcher]] = {"slurm": Srun, "ssh": OverSsh, "local": Here}


def launcher_of(record: JobRecord) -> Launcher:
    if record.launcher not in LAUNCHERS:
        raise RecordError(f"launcher={record.launcher} is unknown: use one of {', '.join(LAUNCHERS)}.")
    return LAUNCHERS[record.launcher](record)


def process_commands(launcher: Launcher, job: Allocation, port: int) -> list[Command]:
    """A program that is one for the whole job starts here, in no step of Slurm, so that it can begin steps itself."""
    master = f"{launcher.master(job.nodes)}:{port}"
    if job.record.ranks == "job":
        return [node_program(job, 0, launcher.master(job.nodes), master)]
    return launcher.processes(job, master)


def sampler_commands(launcher: Launcher, job: Allocation) -> list[Command]:
    """A node with processes of the program is sampled by what runs them."""
    needed = job.record.ranks == "job" and job.record.telemetry and len(job.nodes) > 1
    return launcher.samplers(job) if needed else []


def node_program(job: Allocation, place: int, address: str, master: str, by_itself: bool = False) -> Command:
    """One that works `by_itself` does not end with who started it."""
    words = ["--node-rank", str(place), "--address", address, "--node-name", job.nodes[place], "--master", master]
    words += ["--by-itself"] if by_itself else []
    if not job.record.image:
        return _program("node.py", words)
    own = ["--job", job.number, "--node-name", job.nodes[place], *([] if by_itself else ["--until-stdin-closes"])]
    return _program("container.py", [*own, "--", *words])


def start(command: Command, stdout: int | None = None, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """Its standard input stays open as long as this program lives, by which the other end can tell."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=die_with_parent(),
    )


def _program(name: str, arguments: Iterable[str]) -> Command:
    return [sys.executable, "-SE", str(ENGINE / name), *arguments]


def _on_node(job: Allocation, place: int, program: Command) -> Command:
    """The first node is this one."""
    if place == 0:
        return program
    return [*SSH, job.nodes[place], f"cd {shlex.quote(str(job.folder))} && exec {shlex.join(program)}"]
