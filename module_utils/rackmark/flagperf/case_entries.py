"""The settings of one case, from the vendor's file of it: what of them is ours, and what is FlagPerf's own."""

from __future__ import annotations

from pathlib import Path

from ..credentials import hidden_values
from .case_settings import BATCH, PRECISION, batch_of, is_target, precision_of
from .config_file import ConfigFile, read_part
from .imported import CaseSettings, Entry, ImportedCase

OWN_SETTING = "not used, because it is a setting of FlagPerf's own program, which reads it from this file"
_PEAK = "theoryflops"
_SETTINGS = ("seed", "max_steps", "max_epoch", _PEAK)


def settings_of(vendor: Path, case: ImportedCase) -> tuple[CaseSettings, list[Entry]]:
    """`vendor` is the folder of all models of a vendor."""
    path = vendor / f"{case.request.model}-{case.request.framework}" / "config" / f"{case.config}.py"
    if not path.is_file():
        reason = "there is no such file: batch and precision are those of the preset or the command line"
        return CaseSettings(), [Entry(case.where, f"{case.config}.py", str(path), f"not used, because {reason}")]
    conf = read_part(path)
    batch, precision = batch_of(conf.values), precision_of(conf.values, str(case.request.model))
    others = {name: value for name, value in conf.values.items() if _is_setting(name, value)}
    settings = CaseSettings(batch[1] if batch else None, precision, others)
    read = [
        Entry(conf.at(name), name, hidden_values(str(value)), _new(name, value, settings, conf))
        for name, value in conf.values.items()
    ]
    return settings, [*read, *_unreadable(conf)]


def _is_setting(name: str, value: object) -> bool:
    if name == _PEAK:  # -1 stands for a peak that a vendor does not publish
        return isinstance(value, (int, float)) and value > 0
    return (name in _SETTINGS or is_target(name)) and isinstance(value, (str, int, float))


def _new(name: str, value: object, settings: CaseSettings, conf: ConfigFile) -> str:
    if name in settings.others:
        return f"settings.{name}={value}"
    if name == _PEAK:
        return "not used, because it is no peak"
    if name in BATCH:
        counts = batch_of(conf.values)
        if counts is None:
            return "not used, because it is no number of samples"
        return f"batch={counts[1]}" if counts[0] == name else f"not used, because {counts[0]} counts"
    if name in PRECISION:
        said = settings.precision
        return f"precision={said}" if said else "not used, because it leaves the precision to the benchmark"
    return OWN_SETTING


def _unreadable(conf: ConfigFile) -> list[Entry]:
    """The sentence begins with the place, which has a column of its own."""
    rows = []
    for name, sentence in conf.unreadable.items():
        where, _, what = sentence.partition(": ")
        rows.append(Entry(where, name, "", f"not used, because it cannot be read without running it: {what}"))
    return rows
