"""Gives a repeat of our own its state and its numbers. Only a repeat that is `ok` may enter a number of its case."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from ..logs.digest import Digest, RankDigest
from ..logs.reading import Fault
from . import agreement, job_faults, rank_faults
from .asked import Asked
from .conditions import broken_rule, converged, missed_target, time_to_target
from .experiments import Experiment, read_experiment_of
from .measured import Measured, measured
from .rank_files import worker_ended_badly
from .rates import Logged, evaluation_seconds, last_loss, throughput, whole_rate, window_samples
from .repeat import Repeat, job_span, read_repeat
from .result import Judged, Result
from .words import full_disk

# In the order of how much each explains: a cause comes before what follows from it.
_LOOKS = (
    *(job_faults.nothing_said, job_faults.given_up, job_faults.node_refused, rank_faults.nan_loss),
    *(job_faults.ended_by_slurm, job_faults.memory_ran_out, job_faults.ended_by_the_engine),
    *(rank_faults.device_not_handed_over, rank_faults.missing_logs),
    *(rank_faults.beginnings, rank_faults.resumed, rank_faults.missing_steps),
    *(rank_faults.said_by_logs, rank_faults.exits, rank_faults.other_work, rank_faults.spread),
    *(rank_faults.straddling_lines, agreement.other_samples, agreement.other_seconds),
    *(agreement.longer_than_the_training, agreement.one_after_the_other, agreement.other_weights),
)
# Of nodes that work by themselves, the job knows what ended on them, and how much was lost.
_LOOKS_AT_INDEPENDENT = (
    *(job_faults.nothing_said, job_faults.given_up, job_faults.node_refused, job_faults.ended_by_slurm),
    *(job_faults.ended_by_the_engine, job_faults.node_failed_by_itself),
    *(rank_faults.no_logs, rank_faults.beginnings, rank_faults.other_work, rank_faults.spread),
)


# Of trainings that leave files of results there is no log of a rank.
_LOOKS_AT_FILES = (
    *(job_faults.nothing_said, job_faults.given_up, job_faults.ended_by_slurm, job_faults.memory_ran_out),
    worker_ended_badly,
)


def judge(folder: Path, number: int, asked: Asked, logs: Mapping[int, Digest]) -> Judged:
    """`logs` are those of the ranks in the folder."""
    repeat = read_repeat(folder, logs, asked.processes_per_node)
    logged = _logged(repeat, asked)
    experiment = read_experiment_of(folder, asked)
    fault = _fault(repeat, asked, experiment)
    numbers = {**_numbers(logged, asked), **experiment.numbers}
    measures = {name: measured(one, numbers, logged.logs) for name, one in asked.measures.items()}
    missing = {name: one.reason for name, one in numbers.items() if name in ("whole", "no_eval") and one.reason}
    if fault is None:
        fault = (
            missed_target(repeat, asked, numbers["time_to_target"])
            or _no_headline(measures, asked)
            or broken_rule(repeat, asked, measures, experiment.sentences)
        )
    job, span = repeat.job or {}, job_span(folder)
    result = Result(
        case=asked.case.case,
        repeat=number,
        state="ok",
        reason=None,
        throughput=numbers["throughput"].value,
        whole=numbers["whole"].value,
        no_eval=numbers["no_eval"].value,
        loss=numbers["loss"].value,
        accuracy=numbers["accuracy"].value,
        time_to_train_s=numbers["time_to_target"].value,
        converged=converged(asked, logged.logs),
        ranks_seen=sum(rank.has_begun for rank in repeat.ranks),
        attempts=repeat.attempts,
        attempts_counted=repeat.attempts if asked.result == "aiperf" else 1,
        job_id=job.get("job_id"),
        nodes=job.get("nodes") or _nodes_by_the_job(repeat),
        finished=max((one.finished for one in logged.ranks.values() if one.finished is not None), default=None),
        began=span and span[0],
        e2e_s=span and span[1] - span[0],
        measures={name: one.value for name, one in measures.items()},
        missing={**missing, **{name: one.reason for name, one in measures.items() if one.reason is not None}},
    )
    if fault is not None:
        result = result.failed(fault.state, fault.reason)
    return Judged(result, logged.ranks, logged.logs, window_samples(logged), experiment.result)


def _fault(repeat: Repeat, asked: Asked, experiment: Experiment) -> Fault | None:
    looks = _LOOKS_AT_INDEPENDENT if asked.independent else _LOOKS_AT_FILES if asked.result == "ais-bench" else _LOOKS
    for look in looks:
        fault = look(repeat, asked)
        if fault is not None:
            looked_at_disks = fault.state == "preflight_failed"  # and says itself what it found
            return fault if looked_at_disks else Fault(fault.state, fault.reason + full_disk(repeat))
    return experiment.fault


def _logged(repeat: Repeat, asked: Asked) -> Logged:
    """Ranks by number; where one log is of several, by the numbers in it."""
    ranks: dict[int | None, RankDigest] = {}
    for rank in repeat.ranks:
        alone = len(rank.log.ranks) == 1
        ranks.update({rank.number if alone else number: one for number, one in rank.log.ranks.items()})
    logs = [rank.log for rank in repeat.ranks]
    ahead = [rank.ahead for rank in repeat.ranks]
    return Logged(asked.case.world_size, asked.dialect, asked.case.batch_per_device, logs, ranks, ahead)


def _numbers(logged: Logged, asked: Asked) -> dict[str, Measured]:
    """By the name of the source."""
    stated, doubt = logged.stated, agreement.doubt_of_clock(logged)

    def by_clock(name: str, without: float = 0.0) -> Measured:
        value = stated.get(name, whole_rate(logged, without) if doubt is None else None)
        return Measured(value, doubt if value is None else None)

    return {
        "throughput": Measured(throughput(logged)),
        "whole": by_clock("whole"),
        "no_eval": by_clock("no_eval", without=evaluation_seconds(logged.logs)),
        "loss": Measured(last_loss(logged)),
        "accuracy": Measured(stated.get("accuracy")),
        "time_to_target": time_to_target(asked, logged.logs, doubt),
    }


def _no_headline(measures: Mapping[str, Measured], asked: Asked) -> Fault | None:
    headline = measures[asked.headline]
    if headline.value is not None:
        return None
    return Fault("no_data", f"There is no {asked.headline}. {headline.reason}")


def _nodes_by_the_job(repeat: Repeat) -> str | None:
    nodes = (repeat.end or {}).get("nodes") or []
    return ",".join(map(str, nodes)) or None
