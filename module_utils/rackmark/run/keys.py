"""Takes the keys of a mapping that a person wrote, one by one, and notes everything that is wrong with them."""

from __future__ import annotations

import difflib
import re
from typing import Callable, Collection, Iterable, List, Mapping, Sequence, TypeVar, cast

Problems = List[str]
Lines = Callable[[], Mapping[str, int]]  # in which line of its file each key stands; asked when something is wrong
Single = TypeVar("Single")


class Keys:
    """One mapping of a file. `path` is where it stands, as in `presets.lab`, and begins every sentence about it.

    Every method takes one key. What is wrong or missing is noted, and something that fits stands in for it, so that
    all problems of a file are found at once. A key without a value counts as missing.
    """

    def __init__(self, content: object, path: str, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._taken: list[str] = []
        self._content: Mapping[str, object] = {}
        if isinstance(content, dict):
            self._content = {str(name): value for name, value in content.items()}
        else:
            problems.append(f"{path} is not a mapping of names to values.")
            self.problems = []  # that its keys are missing is no news

    def __contains__(self, name: str) -> bool:
        return self._content.get(name) is not None

    def names(self) -> list[str]:
        return list(self._content)

    def raw(self, name: str) -> object:
        self._taken.append(name)
        return self._content.get(name)

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def wrong(self, name: str, what: str) -> None:
        """Notes what is wrong with a value, as in "is not a number."."""
        self.problems.append(f"{self.at(name)}={_short(self._content.get(name))} {what}")

    def text(self, name: str, default: str | None = None) -> str:
        return self._checked(name, "a text", _is_text, default, "")

    def optional_text(self, name: str) -> str | None:
        return self.text(name, "") or None

    def number(self, name: str, least: int = 1, default: int | None = None) -> int:
        def fits(value: object) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= least

        return self._checked(name, f"a whole number of at least {least}", fits, default, least)

    def one_of(self, name: str, known: Collection[str], default: str | None = None) -> str:
        found = self.text(name, default)
        if name in self and found and found not in known:
            self.wrong(name, f"is unknown: {did_you_mean(found, known)}")
            return default or ""
        return found

    def words(self, name: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        return tuple(self._checked(name, "a list of texts", _is_list_of_texts, default, ()))

    def values(self, name: str) -> dict[str, object]:
        """Names to single values of any kind, or lists of them; none is an empty mapping."""
        keys = self.within(name, {})
        for each in keys.names():
            value = keys.raw(each)
            single = value if isinstance(value, (list, tuple)) else [value]
            if not all(isinstance(one, (str, int, float)) for one in single):
                keys.wrong(each, "is neither a text, nor a number, nor a list of such.")
        return {each: keys.raw(each) for each in keys.names()}

    def within(self, name: str, default: Mapping[str, object] | None = None) -> Keys:
        return Keys(self._checked(name, "a mapping", _is_mapping, default, {}), self.at(name), self.problems)

    def sections(self, name: str, default: Mapping[str, object] | None = None) -> dict[str, Keys]:
        """The entries of a mapping of mappings."""
        keys = self.within(name, default)
        return {each: Keys(keys.raw(each), keys.at(each), self.problems) for each in keys.names()}

    def some(self, name: str) -> dict[str, Keys]:
        """A mapping of mappings with at least one entry."""
        found = self.sections(name)
        if not found and self._content.get(name) == {}:
            self.problems.append(f"{self.at(name)} is empty: it takes at least one entry.")
        return found

    def entries(self, name: str) -> list[Keys]:
        """A list of mappings; none is an empty list."""
        found: Sequence[object] = self._checked(name, "a list", _is_list, (), ())
        return [Keys(entry, f"{self.at(name)}[{number}]", self.problems) for number, entry in enumerate(found, start=1)]

    def only(self, known: Collection[str]) -> None:
        """Notes names that are none of these."""
        for name in self._content:
            if name not in known:
                self.problems.append(f"{self.at(name)} is not known here: use {', '.join(known)}.")

    def renamed(self, old: str, name: str) -> None:
        """Notes a key of an earlier version, and takes its value as that of the new key."""
        if old in self._content:
            self.problems.append(f"{self.at(old)} is called {name}: rename it.")
            self._taken.append(old)
            self._content = {name: self._content[old], **self._content}

    def no_more(self) -> None:
        """Notes all keys that were not taken."""
        for name in self._content:
            if name not in self._taken:
                self.problems.append(f"{self.at(name)} is not a key: {did_you_mean(name, self._taken)}")

    def _checked(
        self, name: str, wanted: str, fits: Callable[[object], bool], default: Single | None, stand_in: Single
    ) -> Single:
        value = self.raw(name)
        if value is None and default is None:
            self.problems.append(f"{self.at(name)} is missing: give {wanted}.")
        elif value is not None and not fits(value) and value != default:
            self.wrong(name, f"is not {wanted}.")
        else:
            return cast(Single, default if value is None else value)
        return stand_in


def told(problems: Sequence[str], where: str, lines: Lines = dict) -> ValueError:
    """All of them, each with file and line: that of the key, or of the mapping that it is missing in."""
    known = lines()

    def place(problem: str) -> str:
        ends = [match.start() for match in re.finditer(r"[=:.\[ ]|$", problem)]
        paths = [problem[:end] for end in ends if problem[:end] in known]
        return f"{where}, line {known[paths[-1]]}" if paths else where

    return ValueError("\n".join(f"{place(problem)}: {problem}" for problem in problems))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=1)
    listed = ", ".join(names)
    return f"did you mean {close[0]}? Known are {listed}." if close else f"use one of {listed}."


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
