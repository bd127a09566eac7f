"""How far a search is, in the words of a line: 0.41 of 12 h, 37 trials, 4 training, best 71.3 %, 812.4 GFLOPS."""

from __future__ import annotations

from typing import Callable, Mapping

from .times import duration_in_words

# In this order, as far as a program says them.
_WORDS: Mapping[str, Callable[[float], str]] = {
    "trials": lambda number: f"{number:.0f} trials",
    "failed": lambda number: f"{number:.0f} failed" if number else "",
    "running": lambda number: f"{number:.0f} training",
    "best": lambda fraction: f"best {100 * fraction:.1f} %",
    "gflops": lambda number: f"{number:.1f} GFLOPS",
    "regulated": lambda number: f"regulated {number:.1f}",
}


def search_in_words(progress: Mapping[str, float], duration: float) -> str:
    share = progress.get("share")
    begin = [f"{min(1.0, share):.2f} of {duration_in_words(duration)}"] if share is not None and duration else []
    said = [in_words(progress[name]) for name, in_words in _WORDS.items() if name in progress]
    return ", ".join([*begin, *filter(None, said)])
