"""The script of a job: what Slurm is asked for, and the program that runs the ranks."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence


@dataclass(frozen=True)
class SlurmOptions:
    """Which part of a Slurm cluster is used, and at whose expense; an empty one is left to Slurm."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    more: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Launch:
    """How ranks are started. `python` is the interpreter of the workload, in the image if there is one.

    `engine_python` runs the programs around the ranks, on all nodes. `telemetry` are seconds between samples of a node.
    """

    launcher: str
    run_dir: str
    python: str
    package: str
    engine_python: str = "python3"
    threads: int = 0
    hosts: Sequence[str] = field(default=())
    image: str = ""
    shm_size: str = ""
    mounts: Sequence[str] = field(default=())
    telemetry: float = 0


def sbatch_options(job: Mapping[str, Any], plan: Mapping[str, Any], slurm: SlurmOptions) -> list[str]:
    """What Slurm is asked for. A job that lost its node is not put back: its repeat would mix two measurements."""
    named = {"partition": slurm.partition, "account": slurm.account, "qos": slurm.qos, "constraint": slurm.constraint}
    return [
        f"--job-name={job['name']}",
        f"--nodes={job['nodes']}",
        # Slurm promises every task a processor, and nodes may have fewer of them than devices: srun then overcommits.
        f"--ntasks-per-node={min(job['devices_per_node'], plan['cpus'] or job['devices_per_node'])}",
        *([f"--gres={plan['resource']}:{job['devices_per_node']}"] if plan["resource"] else []),
        "--exclusive",
        "--no-requeue",
        f"--time={plan['minutes']}",
        *(f"--{name}={value}" for name, value in named.items() if value),
        *slurm.more,
    ]


def job_script(job: Mapping[str, Any], plan: Mapping[str, Any], launch: Launch, slurm: SlurmOptions) -> str:
    folder = f"{launch.run_dir}/{job['folder']}"
    options = [*sbatch_options(job, plan, slurm), f"--chdir={folder}", f"--output={folder}/slurm.log"]
    engine = [
        *(
            "--launcher",
            launch.launcher,
            "--nodes",
            str(job["nodes"]),
            "--ranks-per-node",
            str(job["devices_per_node"]),
        ),
        *("--minutes", str(plan["minutes"]), "--stalled-after", str(plan["stalled_after"])),
        *("--device", plan["device"], "--accelerator", plan["accelerator"], "--threads", str(launch.threads)),
        *([] if plan["data"] == "synthetic" else ["--dataset", plan["data"]]),
        *(["--package", launch.package] if launch.package else []),
        *(word for host in launch.hosts[: job["nodes"]] for word in ("--host", host)),
        *(["--image", launch.image, "--shm-size", launch.shm_size] if launch.image else []),
        *(word for mount in launch.mounts if launch.image for word in ("--mount", mount)),
        *(["--telemetry", f"{float(launch.telemetry):g}"] if launch.telemetry else []),
    ]
    script, *flags = job["arguments"]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        f"cd {shlex.quote(folder)} || exit 1",
        f"exec {shlex.quote(launch.engine_python)} {shlex.quote(launch.run_dir)}/engine/job.py \\",
        *_broken(engine),
        f"    -- {shlex.join([launch.python, f'{launch.run_dir}/code/{script}'])} \\",
        f"    {shlex.join(flags)}",
    ]
    return "\n".join(lines) + "\n"


def _broken(words: Sequence[str]) -> list[str]:
    """One option per line, so that a person can read the script."""
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    ends = [*starts[1:], len(words)]
    return [f"    {shlex.join(words[start:end])} \\" for start, end in zip(starts, ends)]
