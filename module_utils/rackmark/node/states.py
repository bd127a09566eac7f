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
        "fix what the sentences name, then resume with -e run_id=",
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
    State("no_log", "ranks left no log", "check the shared folder: is it full, or not the same on all nodes?", MACHINE),
    State(
        "no_data",
        "logs without a single step",
        "check that the workload prints its lines and that its dialect is right",
        WORKLOAD,
    ),
    State(
        "incomplete",
        "ranks stopped early, or ended badly after their last step",
        "read the quoted line, and the log of the rank that is named",
        WORKLOAD,
    ),
    State(
        "wrong_world_size",
        "ranks did not find each other: there were more or fewer than requested",
        "check how the script reads RANK and WORLD_SIZE",
        WORKLOAD,
    ),
    State("nan_loss", "the loss is not a number, or infinite", "try another precision or a smaller batch", WORKLOAD),
    State("oom", "a device or a node ran out of memory", "try a smaller batch", WORKLOAD),
    State(
        "stalled",
        "a rank wrote no line for benchmark_stalled_after seconds",
        "check the network between the nodes; find the rank that hangs",
        WORKLOAD,
        4,
    ),
    State("timeout", "the job reached its time limit", "resume with more: -e run_id= -e minutes=240", WORKLOAD, 5),
    State("node_fail", "a node died during the job", "sinfo -R; then resume with -e run_id=", MACHINE, 7),
    State("cancelled", "someone cancelled or preempted the job", "resume with -e run_id=", MACHINE),
    State(
        "rule_failed",
        "it ran, but not as requested, or not like the other repeats (batch, precision, device, nodes, code, software);"
        " or its numbers contradict each other",
        "read the sentence: it says which",
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
