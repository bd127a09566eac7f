"""Power of the node itself: joules of its processors by RAPL, watts of all of it by its IPMI controller.

Most kernels let only root read either.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .watched_tool import WatchedTool

_IPMI_DEVICES = ("dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0")
_SECONDS_BETWEEN_QUESTIONS = 5.0  # controllers are slow
_WATTS = re.compile(r"Instantaneous power reading:\s*(\d{1,6}) Watts")
_PROMPT = "ipmitool>"
_QUESTION = "dcmi power reading"
_LONGEST_QUOTE = 200
_IN_PACKAGE = re.compile(r"package-\d+(-die-\d+)?|dram")


class ProcessorEnergy:
    """Of all packages and their memory, counted on where the kernel's counters begin anew."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.missing: dict[str, str] = {}
        self._joules = 0.0
        self._counters: dict[Path, tuple[int, int]] = {}  # microjoules before, and where the counter begins anew
        domains = sorted((root / "sys/class/powercap").glob("intel-rapl:*"))
        if not domains:
            self.missing["processors_j"] = "The kernel shows no RAPL counters in /sys/class/powercap."
        names = []
        try:
            for domain in domains:
                names.append((domain / "name").read_text().strip())
                if _IN_PACKAGE.fullmatch(names[-1]):
                    most = int((domain / "max_energy_range_uj").read_text())
                    self._counters[domain / "energy_uj"] = (int((domain / "energy_uj").read_text()), most)
        except (OSError, ValueError) as error:
            self._give_up(error)
        if names and not self._counters:
            others = ", ".join(dict.fromkeys(names))[:_LONGEST_QUOTE]
            self.missing.setdefault("processors_j", f"RAPL counts no package and no memory here, only: {others}.")

    def head(self) -> dict[str, Any]:
        return {"rapl": [path.parent.name for path in self._counters]}

    def read(self, _now: float) -> dict[str, Any]:
        try:
            for path, (before, most) in self._counters.items():
                counted = int(path.read_text())
                self._joules += ((counted - before) % (most + 1)) / 1e6
                self._counters[path] = (counted, most)
        except (OSError, ValueError) as error:
            self._give_up(error)
        return {"processors_j": round(self._joules, 3) if self._counters else None}

    def close(self) -> None:
        """Nothing is kept open."""

    def _give_up(self, error: Exception) -> None:
        """A sum without one of them would not be that of the processors."""
        self._counters = {}
        why = error.strerror if isinstance(error, OSError) else error
        self.missing["processors_j"] = f"A RAPL counter cannot be read: {why}."


class HostPower:
    def __init__(self, root: Path = Path("/")) -> None:
        self._tool: WatchedTool | None = None
        self._asked = float("-inf")
        self._answer: str | None = None  # its first line
        self._has_watts = False
        self._without_watts: str | None = None
        devices = [root / name for name in _IPMI_DEVICES if (root / name).exists()]
        self._why_not = (
            "The node has no IPMI device." if not devices else f"{devices[0]} may not be opened by this user."
        )
        if any(os.access(device, os.R_OK | os.W_OK) for device in devices):
            self._tool = WatchedTool(["ipmitool", "shell"], speaks=False)

    @property
    def missing(self) -> dict[str, str]:
        reason = self._why_not if self._tool is None else self._tool.reason or self._without_watts
        return {"host_w": reason} if reason else {}

    def head(self) -> dict[str, Any]:
        return {"ipmi": self._tool is not None}

    def read(self, now: float) -> dict[str, Any]:
        """Only in the sample in which an answer came."""
        if self._tool is None:
            return {"host_w": None}
        lines = self._tool.lines(now)
        found = [match for match in map(_WATTS.search, lines) if match]
        self._has_watts = self._has_watts or bool(found)
        said = (line.replace(_PROMPT, "").strip() for line in lines)
        self._answer = self._answer or next((line for line in said if line not in ("", _QUESTION)), None)
        if found:
            self._without_watts = None
        if now - self._asked >= _SECONDS_BETWEEN_QUESTIONS:
            self._judge_answer()
            self._tool.ask(_QUESTION, now)
            self._asked = now
        return {"host_w": int(found[-1].group(1)) if found else None}

    def _judge_answer(self) -> None:
        """Before the next question: an answer may come in pieces."""
        if self._answer is not None and not self._has_watts:
            self._without_watts = f"ipmitool answers without watts: {self._answer[:_LONGEST_QUOTE]}"
        self._answer, self._has_watts = None, False

    def close(self) -> None:
        if self._tool is not None:
            self._tool.close()
