"""Trees of logs as other tools write them, with the throughput they are made for."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from rackmark.analysis.analysis import Analysis, analyze, read_logs
from rackmark.analysis.log_tree import find_logs
from rackmark.analysis.options import Options
from rackmark.analysis.outcome import Numbers, Outcome, numbers, outcome
from rackmark.numbers.summary_json import CaseSummary

TEMPLATES = Path(__file__).parents[2] / "reports/templates"
SINK = 10


def mindspore_log(throughput: float, ranks: int = 1, batch: int = 128, steps: int = 200) -> str:
    """Sink blocks of ten steps of every rank; no line says of which rank it is."""
    ms = 1000 * batch * ranks * SINK / throughput
    block = (
        "epoch: {0} step: 10, loss is 6.910\n" * ranks
        + f"epoch time: {ms:.3f} ms, per step time: {ms / 10:.3f} ms\n" * ranks
    )
    return "".join(block.format(number) for number in range(1, steps // SINK + 1))


def tensorflow_log(seconds_per_100: Sequence[float], begin: float = 0.0, batch: float = 128) -> str:
    """`begin` is the time of day of the line of step 100, in seconds; `batch`, that of all devices, makes the rate that
    the lines print."""
    lines = ["I0826 10:00:00.000000 1400 dso_loader.cc:48] Successfully opened dynamic library libcudart.so.10.1"]
    now = begin
    for index, seconds in enumerate([0.0, *seconds_per_100]):
        now += seconds
        clock = f"{int(now // 3600 % 24):02d}:{int(now // 60 % 60):02d}:{now % 60:09.6f}"
        lines.append(
            f"I0826 {clock} 1400 keras_utils.py:133] TimeHistory: {seconds or 60:.2f} seconds,"
            f" {100 * batch / (seconds or 60):.2f} examples/second"
            f" between steps {index * 100} and {index * 100 + 100}"
        )
    return "\n".join(lines) + "\n"


def write(root: Path, logs: dict[str, str | bytes]) -> Path:
    for name, text in logs.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def analyzed(root: Path, dialect: str = "auto", **said: object) -> list[Analysis]:
    options = Options(**said)  # type: ignore[arg-type]
    tree = find_logs(root)
    return analyze(tree, read_logs(tree, dialect, options), options, str(root))


def outcome_of(root: Path, **said: object) -> Outcome:
    (analysis,) = analyzed(root, **said)
    return outcome(analysis, TEMPLATES)


def numbers_of(root: Path, **said: object) -> Numbers:
    """Without the report, which takes longer than all the rest."""
    (analysis,) = analyzed(root, **said)
    return numbers(analysis)


def case_of(found: Outcome | Numbers, name: str) -> CaseSummary:
    return next(case for case in found.summary["cases"] if case["case"] == name)
