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
_NO_TIME = (
    "A share of time needs a sample before, and time that was counted since: the first sample has none, and one at the"
    " heels of another may have none."
)
_OTHER_PROCESSORS = "A processor came or went since the sample before."
_WAYS = ("rcv", "xmit")


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
        self._ports = self._counting_ports()
        for name, is_there in (("rdma", self._ports), ("net", self._interfaces), ("disk", self._disks)):
            if not is_there:
                self.missing.setdefault(name, f"The kernel shows no {_KINDS[name]}.")
        if self._memory()[0] is None:
            self.missing.setdefault("memory_mb", "/proc/meminfo does not tell what is available.")
        for name in ("cpu", "cores"):
            self.missing.setdefault(name, _NO_TIME)

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
        """The kernel makes these files anew for who reads from their begin, and gives some of them a page at a time."""
        content = b""
        while name in self._files:
            piece = os.pread(self._files[name], _READ_BYTES, len(content))
            if not piece:
                break
            content += piece
        return content.splitlines()

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
        has_changed = len(before) != len(self._before)
        self._note_processors(has_changed and bool(before))
        if has_changed:
            return []
        passed = [(busy - old_busy, whole - old) for (busy, whole), (old_busy, old) in zip(self._before, before)]
        return [round(100 * busy / whole, 1) if whole > 0 and 0 <= busy <= whole else None for busy, whole in passed]

    def _note_processors(self, came_or_went: bool) -> None:
        for name in _WITHOUT["stat"]:
            if came_or_went:
                self.missing[name] = _OTHER_PROCESSORS
            elif self.missing.get(name) == _OTHER_PROCESSORS:
                del self.missing[name]

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

    def _counting_ports(self) -> list[Path]:
        """Some drivers count no bytes of a port: without it the sum is that of the others."""
        ports = sorted((self._sys / "class/infiniband").glob("*/ports/*/counters"))
        counting = [port for port in ports if all((port / f"port_{way}_data").is_file() for way in _WAYS)]
        if ports and not counting:
            self.missing["rdma"] = "The RDMA ports of the node do not count bytes."
        return counting

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
            counts = [
                _RDMA_WORD * sum(int((port / f"port_{way}_data").read_text()) for port in self._ports) for way in _WAYS
            ]
        except (OSError, ValueError) as error:
            self.missing["rdma"] = f"The counters of an RDMA port cannot be read: {error}."
            return None
        self.missing.pop("rdma", None)
        return counts

    def _disk(self) -> Sequence[int] | None:
        """Read and written."""
        rows = [line.split() for line in self._lines("diskstats")]
        counts = [row for row in rows if row[2].decode() in self._disks]
        return [_SECTOR * sum(int(row[place]) for row in counts) for place in (5, 9)] if counts else None
