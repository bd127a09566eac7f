"""What the ranks of a repeat show against it: their logs, their exit statuses, and what they were asked for."""

from __future__ import annotations

from collections import Counter

from ..logs.reading import Fault
from .asked import Asked
from .repeat import TOLD_TO_END, Rank, Repeat
from .words import ending, quote, quoted, steps_of

_NOT_HANDED_OVER = "hdc device id error"


def nan_loss(repeat: Repeat, _asked: Asked) -> Fault | None:
    for rank in repeat.ranks:
        for digest in rank.digests:
            if digest.broken_loss is not None:
                return Fault(
                    "nan_loss", f"The loss of step {digest.broken_loss} on rank {rank.number} is not a finite number."
                )
    return None


def device_not_handed_over(repeat: Repeat, _asked: Asked) -> Fault | None:
    """Ascend's driver refuses one start in some, and again for a while after a job that was cancelled."""
    if repeat.ended_well:
        return None
    for rank in repeat.suspects:
        line = next((line for line in rank.text.splitlines() if _NOT_HANDED_OVER in line), None)
        if line is not None and not steps_of(rank):
            return Fault(
                "launch_failed",
                f"The driver did not hand its device to rank {rank.number}, which passes: run again with -e run_id=. If"
                f" it comes back after jobs that were cancelled, give -e benchmark_settle_seconds=90.{quoted(line)}",
            )
    return None


def no_logs(repeat: Repeat, asked: Asked) -> Fault | None:
    if repeat.ranks:
        return None
    if repeat.failed:
        return Fault("launch_failed", f"The job failed before any rank wrote a log.{quote(repeat)}")
    return Fault("no_log", f"None of the {asked.processes} ranks left a log.{quote(repeat)}")


def missing_logs(repeat: Repeat, asked: Asked) -> Fault | None:
    planned = range(asked.processes)
    present = {rank.number for rank in repeat.ranks}
    missing = [number for number in planned if number not in present]
    if not present:
        return no_logs(repeat, asked)
    if missing:
        names = ", ".join(str(number) for number in missing)
        return Fault("no_log", f"Of {len(planned)} ranks these left no log: {names}.{quote(repeat)}")
    surplus = sorted(present.difference(planned))
    if surplus:
        return Fault("wrong_world_size", f"There is a log of rank {surplus[0]}, the case has {len(planned)} ranks.")
    return None


def beginnings(repeat: Repeat, asked: Asked) -> Fault | None:
    """Where one rank logs for all, the others have nothing to say."""
    speaks_for_all = asked.dialect.of_all_ranks or asked.measure in ("stated", "search")
    silent_ones = not any(rank.has_begun for rank in repeat.ranks) if speaks_for_all else True
    for rank in repeat.suspects:
        if not rank.has_begun and silent_ones:
            return _never_began(repeat, rank)
        fault = _other_place(rank, asked)
        if fault is not None:
            return fault
    return None


def _never_began(repeat: Repeat, rank: Rank) -> Fault:
    if rank.exit_status == "0":
        return Fault("no_data", f"Rank {rank.number} ended well, and its log holds no start of a training.")
    return Fault("launch_failed", f"Rank {rank.number} never started to train.{quote(repeat)}")


def _other_place(rank: Rank, asked: Asked) -> Fault | None:
    """A program that starts ranks by itself speaks of those."""
    world, number = rank.log.facts.get("world_size"), rank.log.facts.get("rank")
    possible = {asked.processes, asked.case.world_size} if asked.ranks == "job" else {asked.processes}
    is_there = world in (None, *possible) and (number in (None, rank.number) or asked.ranks == "job")
    if is_there:
        return None
    return Fault(
        "wrong_world_size", f"Rank {rank.number} of {asked.processes} believed to be rank {number} of {world}."
    )


def resumed(repeat: Repeat, _asked: Asked) -> Fault | None:
    for rank in repeat.ranks:
        step = rank.log.facts.get("resumed_from")
        if step is not None:
            return Fault(
                "rule_failed",
                f"Rank {rank.number} took up a training after step {step}: a measurement begins at step 1.",
            )
    return None


def missing_steps(repeat: Repeat, asked: Asked) -> Fault | None:
    """What a program states by itself needs no steps."""
    if asked.measure in ("stated", "search") or asked.dialect.prefers_stated:
        return None
    if not any(steps_of(rank) for rank in repeat.ranks):
        remarks = [remark for rank in repeat.ranks for remark in rank.log.remarks[:1]]
        return Fault("no_data", " ".join(["No rank finished a step.", *remarks[:1]]) + quote(repeat))
    if asked.all_steps is None:
        return None
    for rank in repeat.suspects:
        fault = _lacking(repeat, rank, asked.all_steps, asked.dialect.counts_every_step)
        if fault is not None and (steps_of(rank) or not asked.dialect.of_all_ranks):
            return fault
    return None


def _lacking(repeat: Repeat, rank: Rank, all_steps: int, counts_every_step: bool) -> Fault | None:
    """Lines of other tools may leave out the first steps, but not the last one."""
    done = steps_of(rank) if counts_every_step else int(max((one.end_of_log for one in rank.digests), default=0))
    if done < all_steps:
        sentence = f"Rank {rank.number} logged {done} of {all_steps} steps and {ending(rank)}."
        return Fault("incomplete", sentence + ("" if repeat.ended_well else quote(repeat)))
    if counts_every_step and not all(one.is_unbroken and one.end_of_log == all_steps for one in rank.digests):
        return Fault(
            "incomplete",
            f"The log of rank {rank.number} does not hold the steps 1 to {all_steps} once each and in order.",
        )
    return None


def said_by_logs(repeat: Repeat, _asked: Asked) -> Fault | None:
    """What the reader of a log has found wrong with it. What other logs lack when a rank has died follows from that."""
    for rank in repeat.suspects:
        if rank.log.faults:
            state, reason = rank.log.faults[0]
            return Fault(state, f"Rank {rank.number}: {reason}" if len(repeat.ranks) > 1 else reason)
        if rank.exit_status not in ("0", TOLD_TO_END):
            return None
    return None


def exits(repeat: Repeat, asked: Asked) -> Fault | None:
    for rank in repeat.suspects:
        if rank.exit_status != "0":
            said = "logged its numbers but " if rank.log.stated or rank.log.trials else ""
            done = "did all steps but " if asked.all_steps is not None else said
            return Fault("incomplete", f"Rank {rank.number} {done}{ending(rank)}.{quote(repeat)}")
    if repeat.failed:
        code = (repeat.job or repeat.end or {}).get("exit_code", (repeat.end or {}).get("exit_status"))
        return Fault("incomplete", f"All ranks ended well but the job failed with exit code {code}.{quote(repeat)}")
    return None


def other_work(repeat: Repeat, asked: Asked) -> Fault | None:
    """What a log does not say is not held against it."""
    wanted = {"device": asked.device, "batch": asked.case.batch_per_device, "precision": asked.case.precision}
    for rank in repeat.ranks:
        for name, value in wanted.items():
            said = rank.log.facts.get(name)
            if said is not None and value is not None and said != value:
                return Fault("rule_failed", f"Rank {rank.number} ran with {name}={said}, asked was {value}.")
    return None


def spread(repeat: Repeat, asked: Asked) -> Fault | None:
    hosts = [rank.log.facts.get("host") for rank in repeat.ranks]
    if None in hosts or asked.ranks == "job" or asked.on_one_machine:
        return None
    ranks_per_host = Counter(map(str, hosts))
    if len(ranks_per_host) != asked.case.nodes or set(ranks_per_host.values()) != {asked.processes_per_node}:
        seen = ", ".join(f"{count} on {host}" for host, count in sorted(ranks_per_host.items()))
        return Fault("rule_failed", f"The ranks were not spread as {asked.case.case} says: {seen}.")
    return None


def straddling_lines(repeat: Repeat, asked: Asked) -> Fault | None:
    """A line on several steps cannot be counted half as warm-up and half as measured."""
    if not asked.dialect.counts_every_step or asked.measure in ("stated", "search"):
        return None
    for rank in repeat.ranks:
        for digest in rank.digests:
            if digest.straddling is not None:
                first, last = digest.straddling
                return Fault(
                    "rule_failed",
                    f"Rank {rank.number} logged the steps {first} to {last} in one line, and the warm-up ends within"
                    f" them, at step {asked.warmup}: choose a warm-up that ends where a line does.",
                )
    return None
