"""What the benchmark engine itself costs, on a provisioned virtual cluster of 4 nodes.

python bench/engine.py [rounds]   about 6 minutes with the default of 3 rounds

Throughput: the same training under run_resnet.yml and under a bare srun, in turns.
Start: from the typed command to the first training step, against a bare sbatch of the same training.
End: from the end of the last job to the report.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ["RACKMARK_BENCH"] = "bench"  # a cluster of its own, whatever tests do meanwhile
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "module_utils")]
from lab.cluster import NAME, Cluster  # noqa: E402
from rackmark.dialects.catalog import dialect_named  # noqa: E402
from rackmark.judging.repeat import rank_log, rank_numbers, read_rank_log  # noqa: E402
from rackmark.logs.digest import RankDigest  # noqa: E402
from rackmark.logs.series import Window  # noqa: E402

NODES = 2
STEPS = 20


@dataclass(frozen=True)
class Took:
    """Seconds to the first step, samples/s, and seconds from the last job's end to the report."""

    start: float
    rate: float
    end: float | None = None


def first_step(logs: list[RankDigest]) -> float:
    return min(log.begin for log in logs if log.begin is not None)


def rate(logs: list[RankDigest]) -> float:
    return sum(log.samples for log in logs) / max(log.seconds for log in logs)


def logs_in(folder: Path) -> list[RankDigest]:
    dialect = dialect_named("rackmark")
    numbers = rank_numbers(folder)
    logs = [read_rank_log(rank_log(folder, number), number, dialect, Window(0, None), 1) for number in numbers]
    return [rank for log in logs for rank in log.ranks.values()]


def by_playbook(cluster: Cluster) -> Took:
    options = {"cases": f"{NODES}n1g", "repeats": 1, "steps": STEPS, "warmup": 0, "preset": "lab"}
    environment = {
        **os.environ,
        "RACKMARK_LAB": NAME,
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(cluster.artifacts / "facts"),
    }
    extra = json.dumps({**options, "benchmark_runs_dir": str(cluster.runs_dir)})
    began = time.time()
    subprocess.run(
        ["ansible-playbook", "run_resnet.yml", "-e", extra], cwd=ROOT, env=environment, check=True, capture_output=True
    )
    over = time.time()
    folder = cluster.latest_run() / f"cases/{NODES}n1g/r1"
    ended = json.loads((folder / "end.json").read_text())["ended"]
    logs = logs_in(folder)
    return Took(first_step(logs) - began, rate(logs), over - ended)


def bare(cluster: Cluster, round_number: int) -> Took:
    """The training of the last run, as somebody would start it by hand."""
    run = cluster.latest_run().name
    source = f"/userhome/rackmark/runs/{run}"
    folder = f"/userhome/rackmark/bare-{round_number}"
    record = json.loads(cluster.on("head", f"cat {source}/cases/{NODES}n1g/r1/record.json"))
    command = shlex.join(record["program"])
    script = f"""#!/bin/bash
#SBATCH --nodes={NODES}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --chdir={folder}
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1) MASTER_PORT=29500 OMP_NUM_THREADS=1
export GLOO_SOCKET_IFNAME=host0
srun --output=rank-%t.log bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID exec {command}'
"""
    cluster.on("head", f"install -d -o rackmark {folder} && cat >{folder}/job.sh <<'END'\n{script}\nEND")
    began = time.time()
    cluster.on("head", f"cd {folder} && runuser -u rackmark -- sbatch --wait job.sh")
    kept = Path(tempfile.mkdtemp(dir=cluster.artifacts))
    for number in range(NODES):
        (kept / f"rank-{number}.log").write_text(cluster.on("head", f"cat {folder}/rank-{number}.log"))
    logs = logs_in(kept)
    return Took(first_step(logs) - began, rate(logs))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="rackmark-bench-")))
    cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    try:
        cluster.play("site.yml").succeeded()
        by_playbook(cluster)  # the environment is built, files are in memory
        engine, plain = [], []
        for number in range(rounds):
            engine.append(by_playbook(cluster))
            plain.append(bare(cluster, number))
    finally:
        cluster.play("playbooks/lab_down.yml")
    ours, theirs = (statistics.median(took.rate for took in side) for side in (engine, plain))
    print(f"throughput   {ours:6.1f} samples/s in a run, {theirs:6.1f} under bare srun: ratio {ours / theirs:.3f}")
    ours, theirs = (statistics.median(took.start for took in side) for side in (engine, plain))
    print(
        f"first step   {ours:6.1f} s after ansible-playbook, {theirs:6.1f} s after sbatch: {ours - theirs:.1f} s more"
    )
    ends = [took.end for took in engine if took.end is not None]
    print(f"report       {statistics.median(ends):6.1f} s after the end of the last job, and the playbook is over")


if __name__ == "__main__":
    main()
