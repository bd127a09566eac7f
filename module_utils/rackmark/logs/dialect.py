"""What a log format is, and how one is told from the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from ..run.measures import Measure
from .anchors import Anchors
from .kinds import Kind
from .log_file import LogFile
from .matching import Matcher
from .reading import Fold, Reading
from .series import Window
from .step_lines import StepLines
from .step_timing import Rate, Steps

_PIECE = 1 << 17
_SEARCHED = 64 << 20  # bytes: a launcher may have much to say before the training begins
_ENOUGH = 3


@dataclass(frozen=True)
class Dialect:
    """`title` says who writes such logs, `kinds` are the lines known, and either `steps` or `fold` says what they mean.
    Kinds named `fact...` and `rest...` do not help to recognise the dialect. Without both, lines only state a result.

    `of_all_ranks`: a line counts the samples of all ranks, so one rank's log is the whole; otherwise every rank logs
    its own. `rate_of_one_device`: the rate that a line tells is that of each device. `prefers_stated`: what the log
    states is its result, whatever its steps give. `warmup` and `last` are the steps DLPerf leaves out and stops at.
    `place` finds facts in a path of its own kind. `counts_every_step`: its lines stand for all steps, so that one that
    is missing is a fault. `says_start`: every process says who it is first. `measures` are numbers that only its logs
    state, beside those of STATED.
    """

    name: str
    title: str
    kinds: Sequence[Kind]
    steps: Steps | None = None
    fold: Callable[[Window], Fold] | None = None
    of_all_ranks: bool = True
    rate_of_one_device: bool = False
    prefers_stated: bool = False
    unit: str = "samples/s"
    warmup: int = 20
    last: int | None = None
    place: Callable[[PurePath], Mapping[str, Any]] | None = None
    counts_every_step: bool = False
    says_start: bool = False
    measures: Sequence[Measure] = ()

    @property
    def gives_rate(self) -> bool:
        """Whether its lines tell samples per second and no time, so that durations are per sample of a step."""
        return self.steps is not None and isinstance(self.steps.timing, Rate)

    @property
    def texts(self) -> Sequence[bytes]:
        """Every line that is read holds one of them; none where more than single lines are read."""
        templates = [template for one in self.kinds for template in (one.line, one.head) if template is not None]
        if any(template.spans_lines for template in templates):
            return ()
        return sorted({one.line.anchor for one in self.kinds})

    def new_fold(self, window: Window) -> Fold:
        make = self.fold or partial(StepLines, steps=self.steps)  # type: ignore[arg-type]  # one of both is declared
        return make(window)

    def read(self, log: LogFile, window: Window, of_path: Mapping[str, Any] | None = None) -> Reading:
        """`of_path` are facts that the path says: they count before those of the lines."""
        reading = self._read_pieces(log.pieces(), window, of_path or {})
        reading.remarks += log.remarks
        return reading

    def read_text(self, text: bytes, window: Window) -> Reading:
        """Whole lines of one process."""
        return self._read_pieces([{None: text}], window, {})

    def _read_pieces(
        self, pieces: Iterable[Mapping[int | None, bytes]], window: Window, of_path: Mapping[str, Any]
    ) -> Reading:
        fold = self.new_fold(window)
        fold.reading.of_path = of_path
        fold.reading.facts.update(of_path)
        matchers: dict[int | None, Matcher] = {}
        for piece in pieces:
            for rank, text in piece.items():
                found = matchers.setdefault(rank, Matcher(self.kinds)).find(text)
                if found:
                    fold.take(found, rank)
            fold.reading.keep_small()
        return fold.finish()


class Recognised(NamedTuple):
    """`line` is the first that only this dialect writes."""

    dialect: Dialect
    lines: int
    line: str


def recognise(log: LogFile, dialects: Sequence[Dialect]) -> Recognised | None:
    """The dialect with most lines in the first piece of a log that has enough of any; the earlier one of equals."""
    counts = [0] * len(dialects)
    firsts: list[str | None] = [None] * len(dialects)
    anchors = Anchors(kind.line.anchor for dialect in dialects for kind in _telling(dialect))
    for piece in log.pieces(_PIECE, _SEARCHED):
        for text in piece.values():
            there = anchors.in_text(text)
            for index, dialect in enumerate(dialects):
                kinds = [kind for kind in _telling(dialect) if kind.line.anchor in there]
                for table in Matcher(kinds).find(text).values() if kinds else ():
                    counts[index] += len(table)
                    firsts[index] = firsts[index] or _line_at(text, int(table.at[0]))
        if max(counts) >= _ENOUGH:
            break
    best = max(counts)
    if not best:
        return None
    index = counts.index(best)
    return Recognised(dialects[index], best, firsts[index] or "")


def _telling(dialect: Dialect) -> Sequence[Kind]:
    return [kind for kind in dialect.kinds if not kind.name.startswith(("fact", "rest"))]


def _line_at(text: bytes, at: int) -> str:
    begin = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    return text[begin : end if end >= 0 else None][:200].decode(errors="replace")
