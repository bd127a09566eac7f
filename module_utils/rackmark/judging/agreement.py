"""Whether what the ranks of a repeat log agrees with itself: samples with steps, seconds with the clock, and the time
of each rank with that of the others. A number that does not is plausible, and wrong."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

from ..logs.digest import Digest, RankDigest
from ..logs.reading import Fault, Pause
from .asked import Asked
from .rates import Logged, ends_of_logs
from .repeat import Repeat

_FEWEST_SAMPLES = 0.95  # of a full batch each step: the last batch of an epoch may be a smaller one
_LONGEST_STEPS = 1.01  # of the time on the clock
# Reading data, synchronizing and printing between the steps is rarely a hundredth. A rate that leaves out more than a
# tenth of the time tells of another training than the one that ran.
_SHORTEST_STEPS = 0.9
_TOGETHER = 0.95  # of the time that a rank is measured
# Seconds: a busy machine stops a process between two readings of its clocks.
_JITTER = 0.1
_NEVER = 1 / 3  # of the time on the clock: so little is no jitter, however short the time is
# Seconds: processes that do not wait for each other start one by one, and the clocks of nodes differ.
_LATE_START = 0.5
_CLOCK_DOUBT, _CLOCK_JITTER = 0.1, 1.0  # of the whole time, and seconds
_SAME_WEIGHTS = 1e-6  # processors of another model add up in another order


class _Window(NamedTuple):
    """When a rank was measured, and by how many seconds that may be wrong."""

    rank: int
    begin: float
    end: float
    doubt: float
    digest: RankDigest


def other_samples(repeat: Repeat, asked: Asked) -> Fault | None:
    """Tokens or words may be more or fewer from step to step."""
    batch = asked.case.batch_per_device
    if batch is None or asked.ranks != "device" or asked.dialect.of_all_ranks or not asked.counts_samples:
        return None
    for rank in repeat.ranks:
        for digest in rank.digests:
            sums = (("measured", digest.samples, digest.steps), ("", digest.logged_samples, digest.logged_steps))
            for kind, samples, steps in sums:
                full = steps * batch
                if math.isfinite(samples) and not full * _FEWEST_SAMPLES <= samples <= full * (1 + 1e-9):
                    words = f"{steps:.0f} {kind} steps".replace("  ", " ")
                    return Fault(
                        "rule_failed",
                        f"Rank {rank.number} logged {samples:.10g} samples in {words}, and with a batch of {batch}"
                        f" these are {full:.0f}: `samples` has to be those of this rank in the step of that line.",
                    )
    return None


def other_seconds(repeat: Repeat, asked: Asked) -> Fault | None:
    """Against the rank's own clock, from the begin of its first measured step to the end of the last one."""
    if asked.dialect.gives_rate:
        return None
    for rank in repeat.ranks:
        for digest in rank.digests:
            if digest.measured is None:
                continue
            begin, end = digest.measured
            if digest.seconds > (end - begin) * _LONGEST_STEPS + _JITTER:
                said = _by_their_own_word(rank.number, digest, end - begin)
                return Fault("rule_failed", f"{said}: steps cannot take longer than the time that passed.")
            begin = _begin(digest, begin, end)
            if digest.seconds >= _fewest_seconds(end - begin):
                continue
            pauses = _declared(repeat, begin, end, digest)
            if digest.seconds + pauses < _fewest_seconds(end - begin):
                known = f", {pauses:.4g} s of them in evaluations and checkpoints" if pauses else ""
                return Fault(
                    "rule_failed",
                    f"{_by_their_own_word(rank.number, digest, end - begin)}{known}: `seconds` has to be all the time"
                    " of a step, and what else takes time between steps has to be logged as eval or checkpoint.",
                )
    return None


def _begin(digest: RankDigest, by_itself: float, end: float) -> float:
    """The window's first line says itself when its steps began. Where that is far off, the line before it counts."""
    if digest.before is None or digest.seconds >= (end - digest.before) * _NEVER:
        return by_itself
    return min(by_itself, digest.before)


def _by_their_own_word(rank: int, digest: RankDigest, passed: float) -> str:
    return (
        f"The {digest.steps:.0f} measured steps of rank {rank} took {digest.seconds:.4g} s by their own word, while its"
        f" clock went on by {passed:.4g} s"
    )


def _fewest_seconds(passed: float) -> float:
    return max(passed * _SHORTEST_STEPS - _JITTER, passed * _NEVER)


def longer_than_the_training(repeat: Repeat, asked: Asked) -> Fault | None:
    """Where the lines of steps do not tell the time, as MindSpore's, the end of the log does."""
    if asked.dialect.gives_rate:
        return None
    for rank in repeat.ranks:
        ended = rank.log.ended if rank.log.by_steady_clock else None
        for digest in rank.digests:
            if ended is None or digest.begin is None:
                continue
            if digest.logged_seconds > (ended - digest.begin) * _LONGEST_STEPS + _JITTER:
                return Fault(
                    "rule_failed",
                    f"All steps of rank {rank.number} took {digest.logged_seconds:.4g} s by their own word, and the"
                    f" training {ended - digest.begin:.4g} s by its clock: steps cannot take longer.",
                )
    return None


def _declared(repeat: Repeat, begin: float, end: float, digest: RankDigest) -> float:
    """Seconds of evaluations and checkpoints while the rank was measured."""
    logs = [rank.log for rank in repeat.ranks]
    return _paused(logs, -math.inf, math.inf) if digest.clock_jump else _paused(logs, begin, end)


def _paused(logs: Sequence[Digest], begin: float, end: float) -> float:
    """Where only some ranks evaluate or write checkpoints, the others wait for them."""

    def inside(pause: Pause) -> float:
        return max(0.0, min(pause.end, end) - max(pause.end - pause.seconds, begin))

    return max(math.fsum(map(inside, log.pauses)) for log in logs)


def one_after_the_other(repeat: Repeat, asked: Asked) -> Fault | None:
    """The samples of all ranks are divided by the time of the slowest: the others have to have worked in that time."""
    if asked.dialect.of_all_ranks:
        return None
    windows = [
        _Window(
            rank.number,
            digest.measured[0] - rank.ahead,
            digest.measured[1] - rank.ahead,
            _doubt(rank.log, digest),
            digest,
        )
        for rank in repeat.ranks
        for digest in rank.digests
        if digest.measured is not None and digest.steps
    ]
    if len(windows) < 2:
        return None
    apart = sorted(windows, key=lambda window: abs(window.digest.clock_jump))
    if abs(apart[-1].digest.clock_jump) - abs(apart[0].digest.clock_jump) > _CLOCK_JITTER:
        return Fault("rule_failed", _not_all_jumped(apart[0], apart[-1]))
    slowest = max(windows, key=lambda window: window.digest.seconds)
    for window in windows:
        length = window.end - window.begin
        begin = slowest.begin - _later_by_speed(slowest.digest, window.digest)
        together = min(window.end, slowest.end) - max(window.begin, begin)
        if length - together > max(length * (1 - _TOGETHER), _LATE_START) + window.doubt + slowest.doubt:
            return Fault("rule_failed", _not_together(repeat, window, slowest, max(together, 0.0)))
    return None


def other_weights(repeat: Repeat, _asked: Asked) -> Fault | None:
    """Ranks that exchange their gradients have the same weights in the end. Those that do not are so many trainings."""
    said = [rank for rank in repeat.ranks if "weights" in rank.log.facts]
    for rank in said:
        first, own = (one.log.facts["weights"] for one in (said[0], rank))
        if own is None or first is None:
            number = rank.number if own is None else said[0].number
            return Fault("rule_failed", f"Rank {number} does not say what its weights add up to: they are no number.")
        if not math.isclose(first, own, rel_tol=_SAME_WEIGHTS):
            return Fault(
                "rule_failed",
                f"In the end the weights of rank {rank.number} add up to {own:.10g}, those of rank {said[0].number} to"
                f" {first:.10g}: the ranks trained each for itself, without all-reduce of their gradients.",
            )
    return None


def _doubt(log: Digest, rank: RankDigest) -> float:
    """Steps whose lines do not tell the time may have been at any time between the begin and the end of the log."""
    if not log.steps_untimed or rank.begin is None:
        return 0.0
    return math.inf if log.ended is None else max(0.0, log.ended - rank.begin - rank.logged_seconds)


def _not_all_jumped(calm: _Window, jumped: _Window) -> str:
    """A clock that is set is set for all; a rank that waits until the others have ended looks the same."""
    seconds = f"{abs(jumped.digest.clock_jump):.4g} s"
    return (
        f"Between two steps of rank {jumped.rank} its clock was set by {seconds}, or it waited for as long, and rank"
        f" {calm.rank} did not: ranks have to work at the same time. Log `monotonic` beside `time` to tell these apart."
    )


def _later_by_speed(slow: RankDigest, fast: RankDigest) -> float:
    """How much later a slower rank comes to its first measured step, as its warm-up takes longer, too."""
    warmups = [digest.logged_seconds - digest.seconds for digest in (slow, fast)]
    ratio = (slow.seconds / slow.steps) / (fast.seconds / fast.steps)
    return max(0.0, min(warmups[0] - warmups[1], warmups[1] * (ratio - 1)))


def _not_together(repeat: Repeat, window: _Window, slowest: _Window, together: float) -> str:
    hosts = {rank.number: rank.log.facts.get("host") for rank in repeat.ranks}
    apart = sorted({str(hosts[one.rank]) for one in (window, slowest)})
    clocks = f" The clocks of {' and '.join(apart)} have to agree, too." if len(apart) > 1 else ""
    return (
        f"Of the {window.end - window.begin:.4g} s in which rank {window.rank} was measured, only {together:.4g} s are"
        f" among the {slowest.end - slowest.begin:.4g} s of rank {slowest.rank}. {_TOGETHER * 100:.0f} % have to be:"
        f" ranks have to work at the same time.{clocks}"
    )


def doubt_of_clock(logged: Logged) -> str | None:
    """Why wall clocks do not tell how long the training took from its begin to its end."""
    advice = "log `monotonic` beside `time`."
    for number, rank in logged.ranks.items():
        if rank.clock_jump:
            way = "back" if rank.clock_jump < 0 else "ahead"
            jump = f"{abs(rank.clock_jump):.4g} s"
            return f"The wall clock of rank {number} jumped {way} by {jump} while it trained: {advice}"
    if logged.dialect.gives_rate:
        return None
    ends = iter(ends_of_logs(logged))
    for log in logged.logs:
        for rank in log.ranks.values():
            doubt = _unexplained(logged, log, rank, next(ends))
            if doubt is not None:
                return f"{doubt}. The clock was set, or the program does something that it does not log: {advice}"
    return None


def _unexplained(logged: Logged, log: Digest, rank: RankDigest, end: float | None) -> str | None:
    if log.by_steady_clock or end is None or rank.begin is None:
        return None
    passed, allowed = end - rank.begin, max(_CLOCK_DOUBT * (end - rank.begin), _CLOCK_JITTER)
    if abs(passed - rank.logged_seconds) <= allowed:
        return None
    known = rank.logged_seconds + _paused(logged.logs, rank.begin, end)
    if abs(passed - known) <= allowed:
        return None
    return f"By the wall clock {log.path} is of {passed:.4g} s, by its steps and what is between them of {known:.4g} s"
