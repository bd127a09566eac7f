"""Processors, memory, network and disks of a node, from files that the kernel keeps."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Sequence

_READ_BYTES = 1 << 20
_SECTOR = 512
_WITHOUT = {"stat": ("cpu", "cores"), "meminfo": ("memory_mb",), "net/dev": ("net",), "diskstats": ("disk",)}
_KINDS = {"rdma": "RDMA device", "net": "network interface beside its own loop", "disk": "disk"}
_RDMA_WORD = 4  # bytes in which the counters of a port count
_NO_DISK = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")  # made of others, or none
_IDLE = (3, 4)  # idle, and waiting for a disk
_TIMES = 8  # guests are counted among the user's times already


class HostReadings:
    """Bytes count from when the machine was started; processors are busy percents since the reading before."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.missing: dict[str, str] = {}
        self._proc, self._sys = root / "proc", root / "sys"
        self._files: dict[str, int] = {}
        self._before: list[tuple[int, int]] = []
        for name in _WITHOUT:
            self._open(name)
        self._interfaces = self._physical_interfaces()
        self._disks = self._whole_disks()
        self._ports = sorted((self._sys / "class/infiniband").glob("*/ports/*/counters"))
        for name, is_there in (("rdma", self._ports), ("net", self._interfaces), ("disk", self._disks)):
            if not is_there:
                self.missing.setdefault(name, f"The kernel shows no {_KINDS[name]}.")
        if self._memory()[0] is None:
            self.missing.setdefault("memory_mb", "/proc/meminfo does not tell what is available.")
        for name in ("cpu", "cores"):
            self.missing.setdefault(name, "A share of time needs two readings: the first sample has none.")

    def head(self) -> dict[str, Any]:
        return {
            "cpus": len(self._times()) - 1,
            "memory_mb": self._memory()[0],
            "interfaces": self._interfaces,
            "rdma": [f"{port.parts[-4]}/{port.parts[-2]}" for port in self._ports],
            "disks": self._disks,
        }

    def read(self, _now: float) -> dict[str, Any]:
        busy = self._busy()
        return {
            "cpu": busy[0] if busy else None,
            "cores": busy[1:] or None,
            "memory_mb": self._memory()[1],
            "net": self._network(),
            "rdma": self._rdma(),
            "disk": self._disk(),
        }

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)

    def _open(self, name: str) -> None:
        try:
            self._files[name] = os.open(self._proc / name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            for column in _WITHOUT[name]:
                self.missing[column] = f"/proc/{name} cannot be read: {error.strerror}."

    def _lines(self, name: str) -> list[bytes]:
        """The kernel makes these files anew for who reads from their begin."""
        return os.pread(self._files[name], _READ_BYTES, 0).splitlines() if name in self._files else []

    def _times(self) -> list[tuple[int, int]]:
        """Busy and all ticks, of all processors together and of each."""
        times = []
        for line in self._lines("stat"):
            if not line.startswith(b"cpu"):
                break
            ticks = [int(word) for word in line.split()[1 : 1 + _TIMES]]
            whole = sum(ticks)
            times.append((whole - sum(ticks[place] for place in _IDLE), whole))
        return times

    def _busy(self) -> list[float | None]:
        before, self._before = self._before, self._times()
        if len(before) != len(self._before):  # the first reading, or a processor came or went
            return []
        passed = [(busy - old_busy, whole - old) for (busy, whole), (old_busy, old) in zip(self._before, before)]
        return [round(100 * busy / whole, 1) if whole > 0 and 0 <= busy <= whole else None for busy, whole in passed]

    def _memory(self) -> tuple[int | None, int | None]:
        """All, and used: what no program could get."""
        wanted = {b"MemTotal:": 0, b"MemAvailable:": 0}
        for line in self._lines("meminfo")[:8]:
            name, value, *_ = line.split()
            if name in wanted:
                wanted[name] = int(value) // 1024
        whole, available = wanted.values()
        return (whole, whole - available) if whole and available else (None, None)

    def _physical_interfaces(self) -> list[str]:
        """Those with a device behind them, since bridges and bonds count the same bytes again; all, where none has."""
        names = [line.split(b":")[0].strip().decode() for line in self._lines("net/dev")[2:]]
        names = [name for name in names if name != "lo"]
        return [name for name in names if (self._sys / "class/net" / name / "device").exists()] or names

    def _whole_disks(self) -> list[str]:
        with suppress(OSError):
            names = sorted(path.name for path in (self._sys / "block").iterdir())
            return [name for name in names if not name.startswith(_NO_DISK)]
        return []

    def _network(self) -> Sequence[int] | None:
        """Received and sent."""
        rows = (line.partition(b":") for line in self._lines("net/dev")[2:])
        counts = [count.split() for name, _, count in rows if name.strip().decode() in self._interfaces]
        return [sum(int(count[place]) for count in counts) for place in (0, 8)] if counts else None

    def _rdma(self) -> Sequence[int] | None:
        """Received and sent, which the kernel's network does not see."""
        if not self._ports:
            return None
        try:
            return [
                _RDMA_WORD * sum(int((port / f"port_{way}_data").read_text()) for port in self._ports)
                for way in ("rcv", "xmit")
            ]
        except (OSError, ValueError) as error:
            self.missing["rdma"] = f"The counters of an RDMA port cannot be read: {error}."
            return None

    def _disk(self) -> Sequence[int] | None:
        """Read and written."""
        rows = [line.split() for line in self._lines("diskstats")]
        counts = [row for row in rows if row[2].decode() in self._disks]
        return [_SECTOR * sum(int(row[place]) for row in counts) for place in (5, 9)] if counts else None
