"""What is known of a run while it is followed, and the lines that tell it."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from .job_state import state_of
from .run_plan import plan_from
from .run_progress import ROOM, progress, reasons_to_wait


@dataclass
class Watched:
    """A run that is followed. `arguments` are those of the module that asks how its jobs are. `shown` is when a line on
    it was last shown, and `news` whether there is more to tell than that its jobs have come further."""

    plan: Mapping[str, Any]
    arguments: Mapping[str, Any]
    answered: float
    done: bool = False
    states: Mapping[str, Any] = field(default_factory=dict)
    troubles: Sequence[str] = ()
    stuck_since: dict[str, float] = field(default_factory=dict)
    shown: float | None = None
    news: bool = False
    _answer: Mapping[str, Any] = field(default_factory=dict)
    _told: object = None

    def learn(self, answer: Mapping[str, Any], now: float) -> None:
        self._answer, self.done = answer, answer["done"]
        self.states, self.troubles = answer["states"] or self.states, answer["troubles"]
        self.news = self._told != self._to_tell()
        self.stuck_since = {name: self.stuck_since.get(name, now) for name in answer["stuck"]}
        if answer["answered"]:
            self.answered = now

    def tell(self, now: float, room: int = ROOM) -> str:
        self.shown, self.news, self._told = now, False, self._to_tell()
        return line_on(self.plan, self._answer, room)

    def given_up(self, patience: float, now: float) -> list[str]:
        return [name for name, since in self.stuck_since.items() if now - since > patience]

    @property
    def begun(self) -> bool:
        """Its jobs run or have run, or are in trouble; those of the others wait in the same queue."""
        return any(state["state"] != "PENDING" for state in self.states.values()) or bool(self._answer.get("troubles"))

    def _to_tell(self) -> object:
        states = {name: state_of(state) for name, state in self.states.items()}
        words = {name: state.state for name, state in states.items()}
        silent = {name: sorted(nodes) for name, nodes in self._answer.get("quiet", {}).items()}
        in_the_way = [self._answer.get(name) for name in ("stuck", "troubles")]
        return self.done, words, reasons_to_wait(states.values()), silent, in_the_way


def to_be_told(runs: Sequence[Watched], now: float, at_least_every: float) -> list[Watched]:
    """Those with news and, where there are none for long, the one at work that was not shown for longest."""
    begun = [run for run in runs if run.begun] or list(runs[:1])
    news = [run for run in begun if run.news]
    if news or any(run.shown is not None and now - run.shown < at_least_every for run in runs):
        return news
    at_work = [run for run in begun if not run.done]
    return [min(at_work, key=lambda run: run.shown or 0.0)] if at_work else []


def line_on(plan: Mapping[str, Any], answer: Mapping[str, Any], room: int = ROOM) -> str:
    """How far the run is, and what is in the way of knowing. A log that cannot be read ends no watch."""
    parts = []
    if answer["states"]:
        try:
            states = {name: state_of(state) for name, state in answer["states"].items()}
            logs = {
                name: (base64.b64decode(log["head"]), base64.b64decode(log["tail"]))
                for name, log in answer["logs"].items()
                if name not in answer["quiet"]  # the last rate of a job is no news when its node is dead
            }
            parts.append(progress(plan_from(plan), states, logs, answer.get("now"), room))
        except (ValueError, TypeError, LookupError, ArithmeticError, OSError) as error:
            parts.append(f"The jobs run, and how far they are cannot be read ({error})")
    troubles: Sequence[str] = answer["troubles"]
    parts += [f"{_short(name)} heard nothing of {_ages(nodes)}" for name, nodes in answer["quiet"].items()]
    stuck = {reason: name for name, reason in answer["stuck"].items()}  # of jobs alike, one says it
    parts += [f"{_short(name)} waits: {reason}" for reason, name in stuck.items()]
    return "; ".join([*parts, *(f"{trouble}, asking again" for trouble in troubles)])


def _ages(nodes: Mapping[str, float]) -> str:
    longest = max(nodes.values())
    names = list(nodes)
    several = f"{names[0]} and {len(names) - 1} other nodes" if len(names) > 1 else names[0]
    return f"{several} for {longest:.0f} s"


def _short(name: str) -> str:
    """Of a job's name, what differs within a run."""
    return " r".join(name.split(":")[-2:])
