"""FlagPerf's logs as tests write them."""

from __future__ import annotations

from pathlib import Path, PurePath

from rackmark.dialects import flagperf
from rackmark.logs.log_file import LogFile
from rackmark.logs.matching import Matcher
from rackmark.logs.reading import Reading
from rackmark.logs.series import Window

(DIALECT,) = flagperf.DIALECTS


def lines(*each: str) -> str:
    return "\n".join(each) + "\n"


def states(reading: Reading) -> list[str]:
    return [fault.state for fault in reading.faults]


def read_at(folder: Path, place: str, text: str) -> Reading:
    """With what the path says known before the lines are."""
    file = folder / place
    file.parent.mkdir(parents=True)
    file.write_text(text)
    fold = DIALECT.new_fold(Window(0, None))
    fold.note(flagperf.place(PurePath(place)))
    for piece in LogFile(file).pieces():
        fold.take(Matcher(DIALECT.kinds).find(piece[None]), None)
    return fold.finish()


def language_model(whole: float, of_device: float, mfu: str, *between: str) -> str:
    return lines(
        "[2023-10-11 10:00:00,000] [INFO] RunningAvgSamplesPerSec=2.1",
        f"System tokens per second:  {whole}",
        *between,
        f"Tokens/p/s:  {of_device}",
        "Theory TFLOPS:  312",
        f"Tokens/TFLOPS:  {of_device / 312}",
        f"MFU:  {mfu}",
    )
