"""Whether slurmctld and slurmdbd answer."""

from __future__ import annotations

import re
from typing import NamedTuple

from .cache import Answer
from .command import SlurmError, ask, run, words

PING = ("scontrol", "ping")
# slurmdbd has to ask its database for this.
CLUSTERS = ("sacctmgr", "--noheader", "--parsable2", "--readonly", "show", "cluster", "format=cluster")
STATISTICS = ("sdiag",)


class Controller(NamedTuple):
    host: str
    role: str
    up: bool


class Database(NamedTuple):
    configured: bool
    up: bool | None
    queue: int | None  # what slurmctld still has to tell it


def ask_controllers(limit: float) -> Answer:
    done = run(PING, limit)  # its status is not 0 as soon as one of them is down
    return Answer(parse_ping(done.output.decode(errors="replace"), done.error))


def parse_ping(output: str, error: str) -> list[Controller]:
    found = re.findall(r"^Slurmctld\((primary|backup)\d*\) at (\S+) is (UP|DOWN)", output, re.MULTILINE)
    if not found:
        raise SlurmError(f"'scontrol ping' names no controller but says '{words(error or output, 200)}'.")
    return [Controller(words(host, 253), role, state == "UP") for role, host, state in found]


def ask_database(limit: float) -> Answer:
    """What is known of it, and what is not."""
    done, fault = None, ""
    try:
        done = run(CLUSTERS, limit / 2)
    except SlurmError as error:
        fault = str(error)
    if done and "not running a supported accounting_storage plugin" in done.error:
        return Answer(Database(configured=False, up=None, queue=None))
    up = done is not None and done.status == 0 and done.output.strip() != b""
    if done and not up:
        fault = f"sacctmgr gets no answer from slurmdbd and its database: {done.error or 'it gave no reason'}."
    queue = None
    try:
        queue = parse_statistics(ask(STATISTICS, limit / 2).decode(errors="replace"))
    except SlurmError as error:
        fault = " ".join(filter(None, [fault, str(error)]))
    return Answer(Database(True, up, queue), fault)


def parse_statistics(output: str) -> int:
    match = re.search(r"^DBD Agent queue size:\s*(\d+)", output, re.MULTILINE)
    if not match:
        raise SlurmError(f"sdiag prints no 'DBD Agent queue size' but '{words(output[:200], 100)}'.")
    return int(match[1])
