"""What a rank table of Ascend's HCCL says: servers, and the devices on each, in the order of the ranks."""

from __future__ import annotations

from typing import NamedTuple, Sequence

FORMS = ("1.0", "1.2", "lab", "tensorflow")


class Device(NamedTuple):
    """One device, by its physical number, the address of its own network port, and its number in a super pod."""

    number: int
    address: str
    super_id: str = ""


class Server(NamedTuple):
    """One node, the address by which the two old forms name it, and its devices in the order of their ranks."""

    name: str
    address: str
    devices: Sequence[Device]
    super_pod: str = ""


class RankTableError(ValueError):
    """Why HCCL would refuse a table: one sentence, or several, each with the fix."""


class Table(NamedTuple):
    """What a file says. HCCL refuses it for any of the problems; remarks are what a reader should know besides."""

    form: str | None  # None where nothing can be made of the file
    servers: Sequence[Server]
    problems: list[str]
    remarks: list[str]
