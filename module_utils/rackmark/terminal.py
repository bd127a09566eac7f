"""The window that lines are shown in, and sentences broken to fit it."""

from __future__ import annotations

import os
import signal
import textwrap
from contextlib import suppress
from typing import Callable, NamedTuple

INDENT = "    "  # of what a task says while it works
NARROW = 80  # a terminal that does not say how wide it is
LOG = 120  # what is laid out in columns, where nothing says how wide it is shown


class Window(NamedTuple):
    """`live`: a person looks at a terminal. In a log sentences are not broken, since they are searched for, and who
    reads it has a window of another width."""

    columns: int
    live: bool = True


def _kept_stdout() -> int:
    """Ansible's workers part with theirs, and inherit this one."""
    try:
        return os.dup(1)
    except OSError:
        return -1


_STDOUT = _kept_stdout()


def window(handle: int = _STDOUT) -> Window:
    """As it is now: a person can change its size at any time."""
    with suppress(OSError):
        return Window(os.get_terminal_size(handle).columns or NARROW)
    return Window(LOG, live=False)


def broken(text: str, shown_in: Window, indent: str = "") -> list[str]:
    """The lines of a text. What follows the first line of a sentence is indented by two more.

    A word that is longer than the window, mostly a path, stays whole, so that it can be copied.
    """
    lines = [f"{indent}{line}".rstrip() for line in text.splitlines() or [""]]
    return [part for line in lines for part in _broken(line, shown_in)]


def _broken(line: str, shown_in: Window) -> list[str]:
    if not shown_in.live or len(line) <= shown_in.columns:
        return [line]
    deeper = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line, shown_in.columns, subsequent_indent=deeper, break_long_words=False, break_on_hyphens=False
    )


def shortened(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: max(0, columns - 3)].rstrip() + "..."


def say(text: str, display: Callable[[str], object]) -> None:
    """Under a task's name. Not to be interrupted: Ansible would wait for ever for the end of what is said."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    with suppress(OSError):  # what shows the line may be gone, or write to a full disk
        for line in broken(text, window(), INDENT):
            display(line)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:2d}:{rest:02d}"
