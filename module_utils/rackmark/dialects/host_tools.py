"""Tools that measure one machine or one connection: STREAM, fio and iperf3.

STREAM's best rates, of which Triad counts, in GB/s; the result is only true if the values it computed were right:
    Function    Best Rate MB/s  Avg time     Min time     Max time
    Triad:          131072.5     0.012207     0.012001     0.012900
    Solution Validates: avg error less than 1.000000e-13 on all three arrays

fio's sums of a group of jobs, in GB/s; where a group reads and writes, both together count:
       READ: bw=227MiB/s (239MB/s), 227MiB/s-227MiB/s (239MB/s-239MB/s), io=29.0GiB (32.2GB), run=134968-134968msec

iperf3's sum at the end, as the receiver saw it, in Gbit/s; of several streams that of all:
    [SUM]   0.00-10.00  sec  19.7 GBytes  17.0 Gbits/sec                  receiver

None of them says which devices a machine has: without a folder such as 2n8g each is one of one machine, 1n1g.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.reading import Fault, Reading
from ..logs.series import Window
from ..logs.stated_lines import StatedLines
from ..run.measures import Measure

_BYTES = {"B": 1e-9, "kB": 1e-6, "MB": 1e-3, "GB": 1.0, "TB": 1e3}  # GB
_BITS = {"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}  # Gbit
_KERNELS = ("Copy", "Scale", "Add", "Triad")
_COUNTED = "Triad"


class _OfOneMachine(StatedLines):
    def finish(self) -> Reading:
        if not {"nodes", "world_size"} & self.reading.facts.keys():
            self.note({"nodes": 1, "devices_per_node": 1})
        return super().finish()


class _Stream(_OfOneMachine):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._is_valid: bool | None = None

    def take_line(self, name: str, row: Mapping[str, Any]) -> None:
        if name in ("valid", "failed"):
            self._is_valid = name == "valid"
        else:
            super().take_line(name, {word: value / 1000 for word, value in row.items()})

    def finish(self) -> Reading:
        if self._is_valid is False:
            self.reading.faults.append(Fault("rule_failed", "STREAM computed wrong values: its validation failed."))
        elif self._is_valid is None:
            self.reading.faults.append(Fault("incomplete", "The log ends before STREAM checks its values."))
        return super().finish()


class _Fio(_OfOneMachine):
    """A log may hold several groups, one after the other: no sum of them was ever measured."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._groups = 0
        self._sums: dict[str, float] = {}

    def take_line(self, name: str, row: Mapping[str, Any]) -> None:
        if name == "group":
            self._groups += 1
        elif name.startswith("rest error"):
            if not self.reading.faults:
                reason = f"A job of fio ended with error {row['code']:.0f}."
                self.reading.faults.append(Fault("rule_failed", reason))
        else:
            _, direction, unit = name.split()
            self._sums[direction] = float(row["bandwidth"]) * _BYTES[unit]

    def finish(self) -> Reading:
        self.reading.stated.update({f"{direction}_gb_per_s": value for direction, value in self._sums.items()})
        if self._sums:
            super().take_line("stated", {"throughput": sum(self._sums.values())})
        if self._groups > 1:
            reason = (
                f"The log holds {self._groups} groups of jobs that ran one after the other: a log of each is needed."
            )
            self.reading.faults.append(Fault("incomplete", reason))
        return super().finish()


class _Iperf(_OfOneMachine):
    """Without several streams there is no sum, and the one stream is all there is."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._sums: list[float] = []
        self._streams: list[float] = []

    def take_line(self, name: str, row: Mapping[str, Any]) -> None:
        _, whose, size, *_ = name.split()
        rates = self._sums if whose == "sum" else self._streams
        rates.append(float(row["rate"]) * _BITS[size.strip("-")])

    def finish(self) -> Reading:
        for rate in self._sums or self._streams:
            super().take_line("stated", {"throughput": rate})
        return super().finish()


def _received(whose: str, begin: str) -> Iterator[Kind]:
    """In bits of every size, by TCP and by UDP, which says what was lost."""
    head = begin + "{_}{begin:float}-{end:float}{_}sec{_}{moved:float} {unit:word}{_}{rate:float}"
    for size in _BITS:
        name = f"row {whose} {size or '-'}"
        yield kind(name, f" {size}bits/sec{{_}}receiver", head=head)
        yield kind(
            f"{name} datagrams",
            f" {size}bits/sec{{_}}{{jitter:float}} ms{{_}}{{lost:int}}/{{sent:int}} ({{percent:word}}){{_}}receiver",
            head=head,
        )


def _kernel(name: str) -> Kind:
    word = "throughput" if name == _COUNTED else name.lower()
    return kind(
        f"stated {name}", f"{name}:{{_}}{{{word}:float}}{{_}}{{_mean:float}}{{_}}{{_min:float}}{{_}}{{_max:float}}"
    )


def _gigabytes(name: str) -> Measure:
    return Measure(name, "GB/s", "higher", f"stated.{name}")


DIALECTS = (
    Dialect(
        name="stream",
        title="STREAM",
        kinds=(
            *map(_kernel, _KERNELS),
            kind("valid", "Solution Validates"),
            kind("failed", "Failed Validation on array"),
        ),
        fold=_Stream,
        prefers_stated=True,
        unit="GB/s",
        warmup=0,
        measures=tuple(_gigabytes(name.lower()) for name in _KERNELS if name != _COUNTED),
    ),
    Dialect(
        name="fio",
        title="fio",
        kinds=(
            kind("rest error", "): err={code:int} ("),  # only that of a job that failed has words in brackets
            kind("rest error of one digit", "): err={_}{code:int} ("),
            kind("group", "Run status group {number:int} (all jobs):"),
            *(
                kind(
                    f"row {direction.lower()} {unit}", f"{direction}: bw={{binary:word}} ({{bandwidth:float}}{unit}/s)"
                )
                for direction in ("READ", "WRITE")
                for unit in _BYTES
            ),
        ),
        fold=_Fio,
        prefers_stated=True,
        unit="GB/s",
        warmup=0,
        measures=(_gigabytes("read_gb_per_s"), _gigabytes("write_gb_per_s")),
    ),
    Dialect(
        name="iperf3",
        title="iperf3",
        kinds=(
            *_received("sum", "[SUM]"),
            *_received("stream", "[{_}{id:int}]"),
        ),
        fold=_Iperf,
        prefers_stated=True,
        unit="Gbit/s",
        warmup=0,
    ),
)
