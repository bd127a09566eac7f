"""record.json: what the programs around a job need to know of it, in the folder of the repeat."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from .rank_table_model import FORMS
from .vendors import DEVICES, NONE, VENDORS

SCHEMA = "rackmark.job/1"
FILE = "record.json"

RANKS = ("device", "node", "job")
MEET = ("torch", "horovod", "mindspore", "hccl", "none")
# Of HCCL; "auto" is 1.0 on several nodes. Without a word, programs that meet by hccl get one, and no others.
RANK_TABLES = ("", "auto", "off", *FORMS)
# `images` is whichever of imagefolder, idx and tfrecord a folder holds.
DATA = ("imagefolder", "idx", "tfrecord", "images", "tokens", "files", "none")


class RecordError(ValueError):
    """A record that is missing or wrong, as a sentence."""


@dataclass(frozen=True)
class JobRecord:
    """One repeat of a case. All paths are absolute, and the same on every node.

    `ranks` says how many processes run `program`: one for each device, one for each node, or one in all, on the first
    node, which starts its own. `meet` says what they are told to find each other. `device` is what they train on,
    `accelerator` the vendor of what each node must show. `hosts` are the nodes where no scheduler names them.
    `threads` of each process: 0 is its share of the processors. `stalled_after` are seconds of silence, `telemetry`
    seconds between samples of a node, 0 for none. `package` is a distribution whose version is recorded, `dataset` is
    empty where the program makes its own data, `data` the kind that it has to be of, and `data_package` what installs
    it. `rank_table` is the form of HCCL's table that ranks are given, `settle` how many seconds a node is left alone
    after a job of ours that ended badly there. Nodes that are `independent` go on without one that is lost. `duration`
    are the seconds that a search lasts. `measure`, `batch`, `precision`, `warmup`, `steps` and `settings` say what was
    asked for.
    """

    name: str
    case: str
    repeat: int
    launcher: str
    nodes: int
    devices_per_node: int
    program: Sequence[str]
    device: str
    minutes: float
    stalled_after: float
    accelerator: str = NONE
    ranks: str = "device"
    meet: str = "torch"
    hosts: Sequence[str] = ()
    threads: int = 0
    package: str = ""
    dataset: str = ""
    data: str = "none"
    data_package: str = ""
    rank_table: str = ""
    settle: float = 0
    independent: bool = False
    duration: float = 0
    image: str = ""
    shm_size: str = "32g"
    mounts: Sequence[str] = ()
    telemetry: float = 0
    dialect: str = ""
    measure: str = "steps"
    batch: int | None = None
    precision: str | None = None
    warmup: int = 0
    steps: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def processes_per_node(self) -> int:
        """Of each node that has any."""
        return self.devices_per_node if self.ranks == "device" else 1

    @property
    def world_size(self) -> int:
        return 1 if self.ranks == "job" else self.nodes * self.processes_per_node

    @property
    def rank_table_form(self) -> str | None:
        """Of the table that is written, if any."""
        on_ascend = self.accelerator == "ascend"
        if self.rank_table == "auto":
            return "1.0" if on_ascend and self.nodes > 1 else None
        if self.rank_table == "":
            return "1.0" if on_ascend and self.meet == "hccl" else None
        return None if self.rank_table == "off" else self.rank_table

    def text(self) -> str:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read_record(folder: Path) -> JobRecord:
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise RecordError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise RecordError(f"{path} does not have the schema {SCHEMA!r}.")
    for each in fields(JobRecord):
        wrong = _fault(each.name, str(each.type), content[each.name]) if each.name in content else None
        if wrong:
            raise RecordError(f"{path} has {each.name}={content[each.name]!r}, which {wrong}.")
        if each.name not in content and each.default is MISSING and each.default_factory is MISSING:
            raise RecordError(f"{path} has no field {each.name}.")
    return JobRecord(**{each.name: content[each.name] for each in fields(JobRecord) if each.name in content})


_LEAST: Mapping[str, float] = {
    **dict.fromkeys(("repeat", "nodes", "devices_per_node"), 1),
    **dict.fromkeys(("threads", "telemetry", "minutes", "stalled_after", "warmup", "steps", "batch"), 0),
    **dict.fromkeys(("duration", "settle"), 0),
}
_CHOICES: Mapping[str, Sequence[str]] = {
    "accelerator": (*VENDORS, NONE),
    "device": DEVICES,
    "ranks": RANKS,
    "meet": MEET,
    "data": DATA,
    "rank_table": RANK_TABLES,
}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


_FORMS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("a text", _is_text),
    "str | None": ("a text or null", lambda value: value is None or _is_text(value)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", _is_whole),
    "int | None": ("a whole number or null", lambda value: value is None or _is_whole(value)),
    "float": ("a number", _is_number),
    "Sequence[str]": ("a list of texts", _are_texts),
    "Mapping[str, Any]": ("a mapping", lambda value: isinstance(value, dict)),
}


def _fault(name: str, form: str, value: Any) -> str | None:  # noqa: ANN401, it is what somebody wrote
    title, fits = _FORMS[form]
    if not fits(value):
        return f"is not {title}"
    if name in _LEAST and value is not None and not value >= _LEAST[name]:  # NaN is not either
        return f"is not at least {_LEAST[name]:g}"
    if name in _CHOICES and value not in _CHOICES[name]:
        return f"is none of {', '.join(_CHOICES[name])}"
    return "names no program" if name == "program" and not value else None
