"""What a log format is, and how one is told from the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from ..run.measures import Measure
from .anchors import Anchors
from .arrays import Array
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
_PIECES_OF_TOOLS = 7  # that are searched for the program around lines of a tool that many use
_LINES_KEPT = 200


@dataclass(frozen=True)
class Dialect:
    """`title` says who writes such logs, `kinds` are the lines known, and either `steps` or `fold` says what they mean.
    Kinds named `fact...` and `rest...` do not help to recognise the dialect. Without both, lines only state a result.
    Those named `sign...` do nothing else.

    `of_all_ranks`: a line counts the samples of all ranks, so one rank's log is the whole; otherwise every rank logs
    its own. `rate_of_one_device`: the rate that a line tells is that of each device. `prefers_stated`: what the log
    states is its result, whatever its steps give. `warmup` and `last` are the steps DLPerf leaves out and stops at.
    `place` finds facts in a path of its own kind. `counts_every_step`: its lines stand for all steps, so that one that
    is missing is a fault. `says_start`: every process says who it is first. `layer`: 1 where its lines are records that
    a benchmark puts around those of any program, below 0 where they are of a tool that other programs use. `progress`
    is an expression for how many steps or epochs are done, and of how many planned. `measures` are numbers that only
    its logs state, beside those of STATED; with `measures_alone` it may be without a throughput.
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
    measures_alone: bool = False
    layer: int = 0
    progress: str | None = None

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
        kinds = [one for one in self.kinds if not one.name.startswith("sign")]
        matchers: dict[int | None, Matcher] = {}
        for piece in pieces:
            for rank, text in piece.items():
                if rank not in matchers:
                    matchers[rank] = Matcher(kinds)
                found = matchers[rank].find(text)
                if found:
                    fold.take(found, rank)
            fold.reading.keep_small()
        return fold.finish()


class Recognised(NamedTuple):
    """`line` is the first that only this dialect writes; `other` is why it may as well be in another one."""

    dialect: Dialect
    lines: int
    line: str
    other: str | None = None


def recognise(log: LogFile, dialects: Sequence[Dialect]) -> Recognised | None:
    """The dialect that the first pieces of a log have lines of, up to one with enough of any.

    Where they have lines of several, those of the highest layer count, and of one layer the earlier of two that both
    know the same lines. How many there are of each never decides: an evaluation may print more than a training.
    """
    found = [_Found() for _ in dialects]
    telling = [_telling(dialect) for dialect in dialects]
    anchors = Anchors(kind.line.anchor for kinds in telling for kind in kinds)
    for number, piece in enumerate(log.pieces(_PIECE, _SEARCHED)):
        for rank, text in piece.items():
            there = anchors.in_text(text)
            for known_kinds, one in zip(telling, found):
                kinds = [kind for kind in known_kinds if kind.line.anchor in there]
                for table in Matcher(kinds).find(text).values() if kinds else ():
                    one.take(table.at, text, (number, rank))
        enough = [dialect.layer for dialect, one in zip(dialects, found) if one.count >= _ENOUGH]
        if enough and (max(enough) >= 0 or number >= _PIECES_OF_TOOLS):
            break
    known = [(dialect, one) for dialect, one in zip(dialects, found) if one.count]
    if not known:
        return None
    highest = max(dialect.layer for dialect, _ in known)
    first, *others = sorted((entry for entry in known if entry[0].layer == highest), key=lambda entry: -entry[1].count)
    apart = next((entry for entry in others if entry[1].lines.isdisjoint(first[1].lines)), None)
    other = apart and (
        f"The log has lines of two formats, {first[0].name} ({first[1].line!r:.120}) and {apart[0].name}"
        f" ({apart[1].line!r:.120}): say with -e dialect= which of them are the training."
    )
    return Recognised(first[0], first[1].count, first[1].line, other)


@dataclass
class _Found:
    """Of one dialect: how many matches, the first line with one, and which lines they are in."""

    count: int = 0
    line: str = ""
    lines: set[tuple[int, int | None, int]] = field(default_factory=set)

    def take(self, at: Array, text: bytes, piece: tuple[int, int | None]) -> None:
        self.count += len(at)
        self.line = self.line or _line_at(text, int(at[0]))
        if len(self.lines) < _LINES_KEPT:
            self.lines.update((*piece, text.rfind(b"\n", 0, begin)) for begin in at[:_LINES_KEPT].tolist())


def _telling(dialect: Dialect) -> Sequence[Kind]:
    return [kind for kind in dialect.kinds if not kind.name.startswith(("fact", "rest"))]


def _line_at(text: bytes, at: int) -> str:
    begin = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    return text[begin : end if end >= 0 else None][:200].decode(errors="replace")
