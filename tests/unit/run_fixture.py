"""Writes run folders as a real run leaves them; tests then damage what they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from rackmark.judging.judge_run import judge_run
from rackmark.judging.result import Judged
from rackmark.numbers.measurements import Measurements, measure
from rackmark.numbers.summary import summarize
from rackmark.numbers.summary_json import Summary
from rackmark.run.cases import Case
from rackmark.run.manifest import Manifest, hosts_of_run, read_manifest

WARMUP = 2
STEPS = 4
BATCH = 8
STARTED = 1_794_996_900.0  # 2026-11-18T10:15:00Z


class Read(NamedTuple):
    manifest: Manifest
    judged: Sequence[Judged]
    measured: Mapping[str, Measurements]
    summary: Summary
    hosts: Sequence[Mapping[str, Any]]


def write_run(run_dir: Path, cases: dict[str, list[float]], **changes: Any) -> Path:
    """A run in which everything is ok: for every case the seconds per step of each of its repeats."""
    manifest = manifest_of({case: len(repeats) for case, repeats in cases.items()}, **changes)
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "manifest.json").write_text(json.dumps(manifest))
    for case, repeats in cases.items():
        for number, seconds in enumerate(repeats, start=1):
            write_repeat(run_dir / "cases" / case / f"r{number}", Case.parse(case), seconds)
    return run_dir


def write_repeat(folder: Path, case: Case, seconds: float) -> None:
    folder.mkdir(parents=True)
    for rank in range(case.world_size):
        (folder / f"rank-{rank}.log").write_text(rank_log(case, rank, seconds))
        (folder / f"rank-{rank}.exit").write_text("0\n")
    (folder / "slurm.log").write_text("")
    write_job(folder, "COMPLETED")


def write_job(folder: Path, state: str, exit_code: str = "0:0") -> None:
    job = {"job_id": 12, "state": state, "exit_code": exit_code, "reason": None, "nodes": "node[1-2]"}
    (folder / "job.json").write_text(json.dumps({**job, "start": STARTED, "end": STARTED + 60}))


def break_repeat(run_dir: Path, case: str, repeat: int, state: str = "TIMEOUT") -> None:
    write_job(run_dir / "cases" / case / f"r{repeat}", state)


def read_run(run_dir: Path) -> Read:
    manifest = read_manifest(run_dir)
    judged = judge_run(run_dir, manifest)
    measured = measure([case.case for case in manifest.cases], judged)
    return Read(manifest, judged, measured, summarize(manifest, judged, measured), hosts_of_run(run_dir, manifest))


def summary_of(run_dir: Path) -> Summary:
    return read_run(run_dir).summary


def rank_log(case: Case, rank: int, seconds: float, steps: int = WARMUP + STEPS) -> str:
    """Warm-up steps take three times as long, and every rank is a little slower than the one before it."""
    lines = ["[W] a line of the framework that means nothing", start_line(case, rank)]
    now = STARTED
    for step in range(1, steps + 1):
        duration = seconds * (1 + rank / 100) * (3 if step <= WARMUP else 1)
        now += duration
        lines.append(event("step", now, step=step, samples=BATCH, seconds=duration, loss=7 / step))
    if steps == WARMUP + STEPS:
        lines.append(event("end", now, steps=steps))
    return "\n".join(lines) + "\n"


def start_line(case: Case, rank: int) -> str:
    host, local_rank = divmod(rank, case.devices_per_node)
    return event(
        "start",
        STARTED,
        rank=rank,
        world_size=case.world_size,
        local_rank=local_rank,
        host=f"node{host + 1}",
        device="cpu",
        batch=BATCH,
        precision="fp32",
        warmup=WARMUP,
        steps=STEPS,
    )


def event(name: str, time: float, **facts: object) -> str:
    return "RACKMARK " + json.dumps({"event": name, "time": time, **facts})


def manifest_of(repeats: dict[str, int], **changes: Any) -> dict[str, Any]:
    return {
        "schema": "rackmark.manifest/1",
        "run_id": "20261118-101500-resnet50",
        "workload": "resnet50",
        "title": "ResNet-50 v1.5 training",
        "framework": "pytorch",
        "unit": "samples/s",
        "preset": "lab",
        "scaling": "weak",
        "device": "cpu",
        "simulated": ["nodes"],
        "notes": ["The nodes are containers on one machine and share its 2 processors."],
        "dialect": "rackmark",
        "warmup": WARMUP,
        "steps": STEPS,
        "settings": {"image_size": 64},
        "data": "synthetic",
        "launcher": "slurm",
        "runtime": "venv",
        "baseline": None,
        "command": "ansible-playbook run_resnet.yml -e nodes=4",
        "started": "2026-11-18T10:15:00Z",
        "cases": [planned_case(Case.parse(name), count) for name, count in repeats.items()],
        "software": {"PyTorch": "1.13.1", "Python": "3.11.2", "Slurm": "22.05.8"},
        "hosts": [
            {
                "name": f"node{number}",
                "cpus": 2,
                "memory_mb": 24000,
                "model": "AMD EPYC",
                "os": "Debian 12",
                "kernel": "6.1",
            }
            for number in (1, 2)
        ],
        "a_key_of_a_later_version": True,
        **changes,
    }


def planned_case(case: Case, repeats: int) -> dict[str, Any]:
    return {
        "case": case.name,
        "nodes": case.nodes,
        "devices_per_node": case.devices_per_node,
        "world_size": case.world_size,
        "batch_per_device": BATCH,
        "precision": "fp32",
        "repeats": repeats,
    }
