"""The states of a repeat: what each means, what to do about it, and how a job says it."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
MACHINE = "machine"
WORKLOAD = "workload"

# What a job writes of itself when ranks failed by themselves; which state that is, their logs tell.
FAILED = "failed"


@dataclass(frozen=True)
class State:
    """`exit_status` is how the engine's job.py ends where it says so itself; None where the logs tell, or Slurm.

    `fault` is whose it is as a rule: that of the machines, or of the workload and what was asked of it.
    """

    name: str
    meaning: str
    to_do: str
    fault: str | None
    exit_status: int | None = None


STATES: tuple[State, ...] = (
    State(OK, "every rank ended well and logged every step", "", None, 0),
    State(
        "preflight_failed",
        "the job found its nodes unfit, before any rank started",
        "mend what the sentences name; -e run_id=",
        MACHINE,
        3,
    ),
    State(
        "launch_failed",
        "ranks could not be started, or ended before they trained",
        "read the line quoted from the log",
        MACHINE,
        6,
    ),
    State("no_log", "ranks left no log", "the shared folder: full, or not the same on all nodes?", MACHINE),
    State(
        "no_data",
        "logs without a single step",
        "does the workload print its lines, and is its dialect the right one?",
        WORKLOAD,
    ),
    State(
        "incomplete",
        "ranks stopped early, or ended badly after their last step",
        "the line quoted; the rank that is named",
        WORKLOAD,
    ),
    State(
        "wrong_world_size",
        "ranks did not find each other: more, or fewer, than asked for",
        "how the script reads RANK and WORLD_SIZE",
        WORKLOAD,
    ),
    State("nan_loss", "the loss is not a number, or infinite", "another precision, a smaller batch", WORKLOAD),
    State("oom", "memory of a device or a node ran out", "a smaller batch", WORKLOAD),
    State(
        "stalled",
        "a rank wrote no line for benchmark_stalled_after seconds",
        "the network between the nodes; a rank that hangs",
        WORKLOAD,
        4,
    ),
    State("timeout", "the time limit came first", "-e run_id= -e minutes=240 runs it again with more", WORKLOAD, 5),
    State("node_fail", "a node died under the job", "sinfo -R; then -e run_id= runs it again", MACHINE, 7),
    State("cancelled", "someone cancelled or preempted the job", "-e run_id= runs it again", MACHINE),
    State(
        "rule_failed",
        "it ran, but not what was asked for, or not what the other repeats ran: other batch, precision, device, nodes,"
        " code or software; or its numbers contradict each other",
        "the sentence says which",
        WORKLOAD,
    ),
)

BY_NAME: dict[str, State] = {state.name: state for state in STATES}


def exit_status_of(name: str) -> int:
    """How a job ends that says this of itself."""
    status = BY_NAME[name].exit_status
    if status is None:
        raise ValueError(f"No job ends by itself as {name}.")
    return status
