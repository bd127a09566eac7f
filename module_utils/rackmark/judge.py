"""Says what one repeat is worth. Only a repeat that is `ok` may enter a number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from .dialects import Reader, Sample
from .evidence import decisive_line, memory_line
from .manifest import PlannedCase
from .repeat import Rank, Repeat, read_repeat


@dataclass(frozen=True)
class Plan:
    """What every rank of a case has to show."""

    case: PlannedCase
    warmup: int
    steps: int
    device: str

    @property
    def all_steps(self) -> int:
        return self.warmup + self.steps


class Verdict(NamedTuple):
    state: str
    reason: str


@dataclass(frozen=True)
class Result:
    case: str
    repeat: int
    state: str
    reason: str | None
    throughput: float | None
    whole: float | None
    no_eval: float | None
    ranks_seen: int
    job_id: int | None
    nodes: str | None
    finished: float | None


def judge(folder: Path, number: int, plan: Plan, read_log: Reader) -> Result:
    repeat = read_repeat(folder, read_log)
    verdict = find_fault(repeat, plan)
    throughput = whole = None
    if verdict is None:
        throughput = rate(repeat.ranks, after_step=plan.warmup)
        whole = rate(repeat.ranks, after_step=0)
    job = repeat.job or {}
    return Result(
        case=plan.case.case,
        repeat=number,
        state=verdict.state if verdict else "ok",
        reason=verdict.reason if verdict else None,
        throughput=throughput,
        whole=whole,
        no_eval=whole,  # no workload evaluates while it is measured
        ranks_seen=sum(rank.log.start is not None for rank in repeat.ranks),
        job_id=job.get("job_id"),
        nodes=job.get("nodes"),
        finished=max((sample.time for sample in _samples(repeat.ranks)), default=None),
    )


def rate(ranks: Sequence[Rank], after_step: int) -> float:
    """Samples of all ranks over the time of the slowest: a mean of rates would hide slow steps and slow ranks."""
    measured = [[sample for sample in rank.log.samples if sample.step > after_step] for rank in ranks]
    samples = sum(sample.samples for rank in measured for sample in rank)
    return samples / max(math.fsum(sample.seconds for sample in rank) for rank in measured)


def find_fault(repeat: Repeat, plan: Plan) -> Verdict | None:
    """The first fault in the order of how much it explains: a cause comes before what follows from it."""
    for look in (_not_run, _nan_loss, _ended_by_slurm, _logs, _ranks, _steps, _exits, _rules):
        verdict = look(repeat, plan)
        if verdict is not None:
            return verdict
    return None


def _not_run(repeat: Repeat, _plan: Plan) -> Verdict | None:
    if repeat.job is None:
        return Verdict("launch_failed", "There is no final word from Slurm: the job was not submitted or not followed.")
    return None


def _nan_loss(repeat: Repeat, _plan: Plan) -> Verdict | None:
    for rank in repeat.ranks:
        for sample in rank.log.samples:
            if sample.loss is not None and not math.isfinite(sample.loss):
                return Verdict("nan_loss", f"The loss of step {sample.step} on rank {rank.number} is {sample.loss}.")
    return None


def _ended_by_slurm(repeat: Repeat, plan: Plan) -> Verdict | None:
    slurm_state = _slurm_state(repeat)
    verdict = _SLURM_VERDICTS.get(slurm_state)
    if verdict is not None:
        return Verdict(verdict.state, f"{verdict.reason} {_progress(repeat, plan)}{_quote(repeat)}")
    memory = memory_line(repeat.texts)
    if slurm_state == "OUT_OF_MEMORY" or (memory is not None and not _ended_well(repeat)):
        return Verdict("oom", f"Memory ran out. {_progress(repeat, plan)}" + _quoted(memory))
    if slurm_state not in ("COMPLETED", "FAILED"):
        return Verdict("incomplete", f"Slurm says {slurm_state}, which is no end that can be judged.")
    return None


def _logs(repeat: Repeat, plan: Plan) -> Verdict | None:
    planned = range(plan.case.world_size)
    present = {rank.number for rank in repeat.ranks}
    missing = [number for number in planned if number not in present]
    if missing and not present:
        if _slurm_state(repeat) == "FAILED":
            return Verdict("launch_failed", f"The job failed before any rank wrote a log.{_quote(repeat)}")
        return Verdict("no_log", f"None of the {len(planned)} ranks left a log.{_quote(repeat)}")
    if missing:
        names = ", ".join(str(number) for number in missing)
        return Verdict("no_log", f"Of {len(planned)} ranks these left no log: {names}.{_quote(repeat)}")
    surplus = sorted(present.difference(planned))
    if surplus:
        return Verdict("wrong_world_size", f"There is a log of rank {surplus[0]}, the case has {len(planned)} ranks.")
    return None


def _ranks(repeat: Repeat, plan: Plan) -> Verdict | None:
    planned = plan.case.world_size
    for rank in repeat.ranks:
        start = rank.log.start
        if start is None:
            if rank.exit_status == "0":
                return Verdict("no_data", f"Rank {rank.number} ended well, and its log holds no start of a training.")
            return Verdict("launch_failed", f"Rank {rank.number} never started to train.{_quote(repeat)}")
        if start.get("world_size") != planned or start.get("rank") != rank.number:
            seen = f"rank {start.get('rank')} of {start.get('world_size')}"
            return Verdict("wrong_world_size", f"Rank {rank.number} of {planned} believed to be {seen}.")
    return None


def _steps(repeat: Repeat, plan: Plan) -> Verdict | None:
    if not _samples(repeat.ranks):
        return Verdict("no_data", f"No rank finished a step.{_quote(repeat)}")
    for rank in repeat.suspects:
        steps = [sample.step for sample in rank.log.samples]
        if len(steps) < plan.all_steps:
            ending = f"Rank {rank.number} logged {len(steps)} of {plan.all_steps} steps and {_ending(rank)}."
            return Verdict("incomplete", ending + ("" if _ended_well(repeat) else _quote(repeat)))
        if steps != list(range(1, plan.all_steps + 1)):
            return Verdict(
                "incomplete",
                f"The log of rank {rank.number} does not hold the steps 1 to {plan.all_steps} once each and in order.",
            )
    return None


def _exits(repeat: Repeat, _plan: Plan) -> Verdict | None:
    for rank in repeat.ranks:
        if rank.exit_status != "0":
            return Verdict("incomplete", f"Rank {rank.number} did all steps but {_ending(rank)}.{_quote(repeat)}")
    if _slurm_state(repeat) != "COMPLETED":
        code = (repeat.job or {}).get("exit_code")
        return Verdict("incomplete", f"All ranks ended well but the job failed with exit code {code}.{_quote(repeat)}")
    return None


def _rules(repeat: Repeat, plan: Plan) -> Verdict | None:
    asked = {"device": plan.device, "batch": plan.case.batch_per_device, "precision": plan.case.precision}
    starts = [rank.log.start or {} for rank in repeat.ranks]
    for number, start in enumerate(starts):
        for name, value in asked.items():
            if start.get(name) != value:
                return Verdict("rule_failed", f"Rank {number} ran with {name}={start.get(name)}, asked was {value}.")
    ranks_per_host = Counter(str(start.get("host")) for start in starts)
    if len(ranks_per_host) != plan.case.nodes or set(ranks_per_host.values()) != {plan.case.devices_per_node}:
        seen = ", ".join(f"{count} on {host}" for host, count in sorted(ranks_per_host.items()))
        return Verdict("rule_failed", f"The ranks were not spread as {plan.case.case} says: {seen}.")
    return None


_SLURM_VERDICTS: Mapping[str, Verdict] = {
    "CANCELLED": Verdict("cancelled", "The job was cancelled."),
    "PREEMPTED": Verdict("cancelled", "The job was cancelled in favour of another one."),
    "TIMEOUT": Verdict("timeout", "The job reached its time limit."),
    "DEADLINE": Verdict("timeout", "The job reached its deadline."),
    "NODE_FAIL": Verdict("node_fail", "A node failed while the job ran."),
    "BOOT_FAIL": Verdict("node_fail", "A node did not boot for the job."),
}


def _slurm_state(repeat: Repeat) -> str:
    """sacct writes "CANCELLED by 0" and "CANCELLED+" too."""
    state = str((repeat.job or {}).get("state") or "nothing")
    return state.split()[0].rstrip("+")


def _ended_well(repeat: Repeat) -> bool:
    return _slurm_state(repeat) == "COMPLETED" and all(rank.exit_status == "0" for rank in repeat.ranks)


def _ending(rank: Rank) -> str:
    return "left no exit status" if rank.exit_status is None else f"ended with exit status {rank.exit_status}"


def _samples(ranks: Sequence[Rank]) -> list[Sample]:
    return [sample for rank in ranks for sample in rank.log.samples]


def _progress(repeat: Repeat, plan: Plan) -> str:
    done = min((len(rank.log.samples) for rank in repeat.ranks), default=0)
    return f"The slowest rank had logged {done} of {plan.all_steps} steps."


def _quote(repeat: Repeat) -> str:
    return _quoted(decisive_line(repeat.texts))


def _quoted(line: str | None) -> str:
    return "" if line is None else f" The log says: {line}"
