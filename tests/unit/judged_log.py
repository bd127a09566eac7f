"""What the analysis says of one log."""

from __future__ import annotations

from pathlib import Path

from rackmark.judging.result import Result
from unit.log_fixture import analyzed, write


def judged(folder: Path, text: str | bytes, case: str | None = "1n8g", **said: object) -> Result:
    """As the only log of a folder for its case, recognised by its lines."""
    name = f"{case}/a.log" if case else "a.log"
    (analysis,) = analyzed(write(folder, {name: text}), **said)
    ((result,),) = ([one.result for one in repeats] for repeats in analysis.judged.values())
    return result


def judged_file(path: Path, **said: object) -> Result:
    (analysis,) = analyzed(path, **said)
    ((result,),) = ([one.result for one in repeats] for repeats in analysis.judged.values())
    return result
