"""What the records of a job say against its repeat: one function for each thing that is looked at."""

from __future__ import annotations

from ..logs.reading import Fault
from ..node.states import BY_NAME, FAILED, OK
from ..run.job_state import ENDED, ENDED_BY_THEMSELVES, GIVEN_UP
from .asked import Asked
from .evidence import cause_line, memory_line
from .repeat import Repeat
from .words import progress, quote, quoted


def nothing_said(repeat: Repeat, asked: Asked) -> Fault | None:
    if repeat.job is not None or repeat.end is not None:
        return None
    sentence = "The job left no record of how it ended"
    if repeat.ranks:
        return Fault("incomplete", f"{sentence}. {progress(repeat, asked)}{quote(repeat)}")
    return Fault("launch_failed", f"{sentence}: it was not submitted or not followed.")


def given_up(repeat: Repeat, _asked: Asked) -> Fault | None:
    """A job that could not start was cancelled by who followed it."""
    state = GIVEN_UP.get(repeat.slurm_state)
    if state is None:
        return None
    return Fault(state, f"The job was given up: {(repeat.job or {}).get('reason')}.")


def node_refused(repeat: Repeat, _asked: Asked) -> Fault | None:
    """Slurm cancels a job when a node's own check fails at its start, and says why on the node alone."""
    by_a_person = repeat.cancelled_by not in (None, "0")
    if repeat.slurm_state != "CANCELLED" or by_a_person or repeat.ranks or repeat.end is not None:
        return None
    reasons = _node_reasons(repeat)
    return Fault("preflight_failed", f"The job was not let in:{reasons}") if reasons else None


def ended_by_slurm(repeat: Repeat, asked: Asked) -> Fault | None:
    slurm_state = repeat.slurm_state
    if slurm_state == "CANCELLED" and (repeat.end or {}).get("ended_by"):
        return None  # by the last of its own nodes, when there was nothing more to do
    if slurm_state in ENDED:
        state, sentence = ENDED[slurm_state]
        by = repeat.cancelled_by
        if by is not None:
            sentence = f"The job was cancelled by the user with the id {by}."
        reasons = _node_reasons(repeat) if state == "node_fail" else ""
        return Fault(state, f"{sentence}{reasons} {progress(repeat, asked)}{quote(repeat)}")
    if slurm_state in ENDED_BY_THEMSELVES or repeat.end is not None:
        return None
    return Fault("incomplete", f"The job's state is {slurm_state}, which is no end that can be judged.")


def memory_ran_out(repeat: Repeat, asked: Asked) -> Fault | None:
    if repeat.slurm_state != "OUT_OF_MEMORY" and repeat.ended_well:
        return None
    line = memory_line(repeat.texts)
    if repeat.slurm_state == "OUT_OF_MEMORY" or line is not None:
        return Fault("oom", f"Memory ran out. {progress(repeat, asked)}{quoted(line)}")
    return None


def ended_by_the_engine(repeat: Repeat, _asked: Asked) -> Fault | None:
    """The engine ended the ranks, or did not start them."""
    end = repeat.end or {}
    state, reason = str(end.get("state")), str(end.get("reason") or "")
    if state == "launch_failed":
        return Fault(state, f"{reason}{quote(repeat)}")
    if state in BY_NAME and state != OK:
        return Fault(state, f"{reason}{quoted(cause_line([rank.text for rank in repeat.suspects]))}")
    return None


def node_failed_by_itself(repeat: Repeat, _asked: Asked) -> Fault | None:
    """Of nodes that work by themselves, one ended badly; the others went on."""
    end = repeat.end or {}
    if end.get("state") == FAILED:
        return Fault("incomplete", f"{end.get('reason')}{quote(repeat)}")
    return None


def _node_reasons(repeat: Repeat) -> str:
    reasons = (repeat.job or {}).get("node_reasons") or {}
    return "".join(f" {node}: {str(reason).rstrip('.')}." for node, reason in sorted(reasons.items()))
