"""What keeps a repeat from being worth its numbers: one function for each thing that is looked at."""

from __future__ import annotations

import math
import signal
from collections import Counter
from dataclasses import dataclass
from typing import Mapping, NamedTuple

from ..run.job_state import GIVEN_UP_HOPELESS, GIVEN_UP_NODES
from ..run.manifest import PlannedCase
from .evidence import cause_line, decisive_line, memory_line
from .repeat import Rank, Repeat

_LITTLE_SPACE_MB = 50


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


def find_fault(repeat: Repeat, plan: Plan) -> Verdict | None:
    """The first fault in the order of how much it explains: a cause comes before what follows from it."""
    looks = (_nothing_said, _given_up, _node_refused, _nan_loss, _ended_by_slurm, _memory, _ended_by_itself)
    for look in (*looks, _logs, _ranks, _resumed, _steps, _exits, _rules, _blocks):
        verdict = look(repeat, plan)
        if verdict is not None:
            return Verdict(verdict.state, verdict.reason + _full_disk(repeat, verdict))
    return None


def _nothing_said(repeat: Repeat, plan: Plan) -> Verdict | None:
    if repeat.job is not None or repeat.end is not None:
        return None
    sentence = "There is no word of how the job ended"
    if repeat.ranks:
        return Verdict("incomplete", f"{sentence}. {_progress(repeat, plan)}{_quote(repeat)}")
    return Verdict("launch_failed", f"{sentence}: it was not submitted or not followed.")


def _node_refused(repeat: Repeat, _plan: Plan) -> Verdict | None:
    """Slurm cancels a job when a node's own check fails at its start, and says why on the node alone."""
    by_a_person = repeat.cancelled_by not in (None, "0")
    if repeat.slurm_state != "CANCELLED" or by_a_person or repeat.ranks or repeat.end is not None:
        return None
    reasons = _node_reasons(repeat)
    return Verdict("preflight_failed", f"The job was not let in:{reasons}") if reasons else None


def _given_up(repeat: Repeat, _plan: Plan) -> Verdict | None:
    """A job that could not start was cancelled by who followed it."""
    state = _GIVEN_UP.get(repeat.slurm_state)
    if state is None:
        return None
    return Verdict(state, f"The job was given up: {(repeat.job or {}).get('reason')}.")


def _nan_loss(repeat: Repeat, _plan: Plan) -> Verdict | None:
    for rank in repeat.ranks:
        for sample in rank.log.samples:
            if sample.loss is not None and not math.isfinite(sample.loss):
                return Verdict("nan_loss", f"The loss of step {sample.step} on rank {rank.number} is {sample.loss}.")
    return None


def _ended_by_slurm(repeat: Repeat, plan: Plan) -> Verdict | None:
    slurm_state = repeat.slurm_state
    verdict = _SLURM_VERDICTS.get(slurm_state)
    if verdict is not None:
        by = repeat.cancelled_by
        sentence = verdict.reason if by is None else f"The job was cancelled by the user with the id {by}."
        reasons = _node_reasons(repeat) if verdict.state == "node_fail" else ""
        return Verdict(verdict.state, f"{sentence}{reasons} {_progress(repeat, plan)}{_quote(repeat)}")
    if slurm_state in ("COMPLETED", "FAILED", "OUT_OF_MEMORY") or repeat.end is not None:
        return None
    return Verdict("incomplete", f"The job's state is {slurm_state}, which is no end that can be judged.")


def _memory(repeat: Repeat, plan: Plan) -> Verdict | None:
    line = memory_line(repeat.texts)
    if repeat.slurm_state == "OUT_OF_MEMORY" or (line is not None and not repeat.ended_well):
        return Verdict("oom", f"Memory ran out. {_progress(repeat, plan)}" + _quoted(line))
    return None


def _ended_by_itself(repeat: Repeat, _plan: Plan) -> Verdict | None:
    """The engine ended the ranks, or did not start them."""
    end = repeat.end or {}
    state, reason = str(end.get("state")), str(end.get("reason") or "")
    if state == "launch_failed":
        return Verdict(state, f"{reason}{_quote(repeat)}")
    if state in ("stalled", "timeout", "cancelled", "preflight_failed", "node_fail"):
        return Verdict(state, f"{reason}{_quoted(cause_line([rank.text for rank in repeat.suspects]))}")
    return None


def _logs(repeat: Repeat, plan: Plan) -> Verdict | None:
    planned = range(plan.case.world_size)
    present = {rank.number for rank in repeat.ranks}
    missing = [number for number in planned if number not in present]
    if missing and not present:
        if repeat.failed:
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
    for rank in repeat.suspects:
        start = rank.log.start
        if start is None:
            if rank.exit_status == "0":
                return Verdict("no_data", f"Rank {rank.number} ended well, and its log holds no start of a training.")
            return Verdict("launch_failed", f"Rank {rank.number} never started to train.{_quote(repeat)}")
        if start.get("world_size") != planned or start.get("rank") != rank.number:
            seen = f"rank {start.get('rank')} of {start.get('world_size')}"
            return Verdict("wrong_world_size", f"Rank {rank.number} of {planned} believed to be {seen}.")
    return None


def _resumed(repeat: Repeat, _plan: Plan) -> Verdict | None:
    for rank in repeat.ranks:
        step = (rank.log.start or {}).get("resumed_from")
        if step is not None:
            return Verdict(
                "rule_failed",
                f"Rank {rank.number} took up a training after step {step}: a measurement begins at step 1.",
            )
    return None


def _steps(repeat: Repeat, plan: Plan) -> Verdict | None:
    if not any(rank.log.samples for rank in repeat.ranks):
        return Verdict("no_data", f"No rank finished a step.{_quote(repeat)}")
    for rank in repeat.suspects:
        done = _steps_of(rank)
        if done < plan.all_steps:
            ending = f"Rank {rank.number} logged {done} of {plan.all_steps} steps and {_ending(rank)}."
            return Verdict("incomplete", ending + ("" if repeat.ended_well else _quote(repeat)))
        covered = [step for one in rank.log.samples for step in range(one.step - one.steps + 1, one.step + 1)]
        if covered != list(range(1, plan.all_steps + 1)):
            return Verdict(
                "incomplete",
                f"The log of rank {rank.number} does not hold the steps 1 to {plan.all_steps} once each and in order.",
            )
    return None


def _exits(repeat: Repeat, _plan: Plan) -> Verdict | None:
    for rank in repeat.suspects:
        if rank.exit_status != "0":
            return Verdict("incomplete", f"Rank {rank.number} did all steps but {_ending(rank)}.{_quote(repeat)}")
    if repeat.failed:
        code = (repeat.job or repeat.end or {}).get("exit_code", (repeat.end or {}).get("exit_status"))
        return Verdict("incomplete", f"All ranks ended well but the job failed with exit code {code}.{_quote(repeat)}")
    return None


def _blocks(repeat: Repeat, plan: Plan) -> Verdict | None:
    """A line on several steps cannot be counted half as warm-up and half as measured."""
    for rank in repeat.ranks:
        for block in rank.log.samples:
            first = block.step - block.steps + 1
            if first <= plan.warmup < block.step:
                return Verdict(
                    "rule_failed",
                    f"Rank {rank.number} logged the steps {first} to {block.step} in one line, and the warm-up ends"
                    f" within them, at step {plan.warmup}: choose a warm-up that ends where a line does.",
                )
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


_GIVEN_UP = {GIVEN_UP_HOPELESS: "launch_failed", GIVEN_UP_NODES: "node_fail"}
_SLURM_VERDICTS: Mapping[str, Verdict] = {
    "CANCELLED": Verdict("cancelled", "The job was cancelled."),
    "PREEMPTED": Verdict("cancelled", "The job was cancelled in favour of another one."),
    "TIMEOUT": Verdict("timeout", "The job reached its time limit."),
    "DEADLINE": Verdict("timeout", "The job reached its deadline."),
    "NODE_FAIL": Verdict("node_fail", "A node failed while the job ran."),
    "BOOT_FAIL": Verdict("node_fail", "A node did not boot for the job."),
}


def _node_reasons(repeat: Repeat) -> str:
    reasons = (repeat.job or {}).get("node_reasons") or {}
    return "".join(f" {node}: {str(reason).rstrip('.')}." for node, reason in sorted(reasons.items()))


def _ending(rank: Rank) -> str:
    if rank.exit_status is None:
        return "left no exit status"
    ending = f"ended with exit status {rank.exit_status}"
    by = int(rank.exit_status) - 128 if rank.exit_status.isdecimal() else 0
    return f"{ending} ({signal.Signals(by).name})" if by in signal.Signals.__members__.values() else ending


def _steps_of(rank: Rank) -> int:
    return sum(sample.steps for sample in rank.log.samples)


def _progress(repeat: Repeat, plan: Plan) -> str:
    done = min((_steps_of(rank) for rank in repeat.ranks), default=0)
    return f"The slowest rank had logged {done} of {plan.all_steps} steps."


def _full_disk(repeat: Repeat, verdict: Verdict) -> str:
    free = (repeat.end or {}).get("free_mb")
    if not isinstance(free, int) or free >= _LITTLE_SPACE_MB or "MB are free" in verdict.reason:
        return ""
    return f" Only {free} MB were free where the logs are written."


def _quote(repeat: Repeat) -> str:
    return _quoted(decisive_line(repeat.texts))


def _quoted(line: str | None) -> str:
    return "" if line is None else f" The log says: {line}"
