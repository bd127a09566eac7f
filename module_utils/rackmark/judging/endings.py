"""How a log ends: a training that died leaves numbers of what it did before, and a word of why."""

from __future__ import annotations

import re

from ..logs.dialect import Dialect
from ..logs.matching import Matcher
from ..logs.printable import printable
from ..logs.reading import Ending
from .evidence import cause_line

TAIL = 1 << 18  # bytes at the end of a log: many ranks say at length why they died
_LONGEST_QUOTE = 200
_SIGNS = (
    *(b"Traceback (most recent call last)", b"CANCELLED AT", b"DUE TO TIME LIMIT", b"Segmentation fault"),
    *(b"core dumped", b"MPI_ABORT was invoked", b"ChildFailedError", b"oom-kill", b"oom_kill", b"Out of memory: Kill"),
    *(b"SIGTERM", b"SIGKILL", b"SIGINT", b"SIGSEGV", b"SIGABRT", b"SIGBUS"),
)
_SIGNS_AT_BEGIN = (b"Killed", b"Terminated", b"Aborted", b"error:", b"Error: ", b"Exception: ")
_WHOLE_LINE = re.compile(
    rb"(?:[\w./-]{1,80}: (?:line \d{1,6}: +\d{1,8} )?)?(?:Killed|Terminated|Aborted)\b.{0,80}"
    rb"|(?:srun|slurmstepd|mpirun)[\w.-]{0,40}: error:.*|[A-Za-z_][\w.]{0,80}(?:Error|Exception): .*"
)
# What programs, shells and launchers say when they cannot begin, and not the error of a model or the name of a setting.
_CANNOT_BEGIN = re.compile(
    r"^(?:[^\s=]{1,60}:? ){0,3}(?:\w{1,60}(?:Error|Exception)|(?:fatal |internal )?error|fatal|FATAL|ERROR)\]?:? +"
    r"(?=[^\d\s=])"
    r"|: (?:command not found|No such file or directory|Permission denied|can't open file|cannot open|cannot execute)"
)


def why_not_begun(tail: str) -> str | None:
    """The last line that says why, of a log in which nothing was trained."""
    sign = _first_sign(tail.encode())
    told = [line for line in tail.splitlines() if _CANNOT_BEGIN.search(line.strip())]
    after = tail.encode()[sign:].decode(errors="replace") if sign is not None else ""
    return cause_line([after]) or (told[-1].strip()[:_LONGEST_QUOTE] if told else None)


def ending(tail: bytes, dialect: Dialect) -> Ending | None:
    """None is an end like any other."""
    done, planned = _progress(tail, dialect)
    line = _last_words(tail, dialect) if _first_sign(tail) is not None else None
    return None if line is None and planned is None else Ending(line, done, planned)


def _progress(tail: bytes, dialect: Dialect) -> tuple[int | None, int | None]:
    """Lines may cover several steps, so that the last one need not be of the last step."""
    if dialect.progress is None:
        return None, None
    found = [(int(done), int(planned)) for done, planned in re.findall(dialect.progress.encode(), tail)]
    if not found:
        return None, None
    done, planned = found[-1]
    every = min((later - earlier for (earlier, _), (later, _) in zip(found, found[1:]) if later > earlier), default=1)
    return (done, planned) if planned - done >= every else (None, None)


def _last_words(tail: bytes, dialect: Dialect) -> str | None:
    kinds = [kind for kind in dialect.kinds if not kind.name.startswith(("fact", "rest"))]
    last = max((int(table.at[-1]) for table in Matcher(kinds).find(tail).values()), default=-1)
    rest = tail[tail.find(b"\n", last) + 1 :] if last >= 0 else tail
    begin = _first_sign(rest)
    if begin is None:
        return None
    line = rest[begin:].split(b"\n", 1)[0].decode(errors="replace").strip()[:_LONGEST_QUOTE]
    is_traceback = "Traceback" in line
    cause = cause_line([rest[begin:].decode(errors="replace")]) if is_traceback else None
    return printable(cause or line)


def _first_sign(text: bytes) -> int | None:
    """Where the first line begins that tells of a death. Looking for each word by itself is many times as fast as one
    expression for all of them."""
    places = [place for sign in _SIGNS if (place := text.find(sign)) >= 0]
    for sign in _SIGNS_AT_BEGIN:
        place = text.find(sign)
        while place >= 0:
            begin, end = text.rfind(b"\n", 0, place) + 1, text.find(b"\n", place)
            if _WHOLE_LINE.fullmatch(text[begin : end if end >= 0 else None][:300]):
                places.append(begin)
                break
            place = text.find(sign, place + 1)
    return text.rfind(b"\n", 0, min(places)) + 1 if places else None
