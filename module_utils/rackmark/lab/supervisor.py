"""Starting, watching and killing the process tree of a node, with its CPU share.

On a machine whose PID 1 is systemd every node is a transient service. Elsewhere (a plain container or VM with
some other init) the same is done by hand with cgroups, version 1 or 2.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Union

from .host import run
from .spec import LabError

_KILL_SECONDS = 10.0
_REAP_SECONDS = 5.0


class SystemdSupervisor:
    def __init__(self, lab: str) -> None:
        self.lab = lab

    def _unit(self, node: str) -> str:
        return f"rackmark-{self.lab}-{node}.service"

    def start(self, node: str, command: list[str], console: Path, cpu_share: float | None) -> None:
        run(
            "systemd-run",
            "--quiet",
            "--collect",
            f"--unit={self._unit(node)}",
            "--property=Delegate=yes",
            "--property=KillMode=mixed",
            f"--property=StandardOutput=truncate:{console}",
            f"--property=StandardError=truncate:{console}",
            *[f"--property={setting}" for setting in self._quota(cpu_share)],
            *command,
        )

    def is_running(self, node: str) -> bool:
        state = subprocess.run(["systemctl", "is-active", "--quiet", self._unit(node)], check=False)
        return state.returncode == 0

    def cpu_share_differs(self, node: str, cpu_share: float | None) -> bool:
        shown = run("systemctl", "show", "--property=CPUQuotaPerSecUSec", "--value", self._unit(node)).strip()
        if cpu_share is None:
            return shown != "infinity"
        return shown != ("1s" if cpu_share == 1 else f"{round(cpu_share * 1000)}ms")

    def set_cpu_share(self, node: str, cpu_share: float | None) -> None:
        run("systemctl", "set-property", "--runtime", self._unit(node), *self._quota(cpu_share))

    def kill(self, node: str) -> set[int]:
        for action in (["kill", "--signal=KILL"], ["stop"], ["reset-failed"]):
            subprocess.run(["systemctl", *action, self._unit(node)], capture_output=True, check=False)
        return set()

    def cleanup(self) -> None:
        """systemd removes the cgroups of its own services."""

    @staticmethod
    def _quota(cpu_share: float | None) -> list[str]:
        if cpu_share is None:
            return []
        return [f"CPUQuota={cpu_share * 100:g}%", f"CPUQuotaPeriodSec={quota_and_period(cpu_share)[1]}us"]


class CgroupSupervisor:
    def __init__(self, lab: str) -> None:
        self.lab = lab
        self.hierarchies = cgroup_hierarchies()

    def _group(self, hierarchy: Path, node: str) -> Path:
        return hierarchy / "rackmark-lab" / self.lab / node

    def start(self, node: str, command: list[str], console: Path, cpu_share: float | None) -> None:
        groups = [_make_group(hierarchy, self._group(hierarchy, node)) for hierarchy in self.hierarchies]
        self.set_cpu_share(node, cpu_share)

        def enter_groups() -> None:
            for group in groups:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        with console.open("wb") as output:
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                close_fds=True,
                cwd="/",
                preexec_fn=enter_groups,
            )

    def is_running(self, node: str) -> bool:
        return any(_is_nspawn(pid) for pid in self._pids(node))

    def cpu_share_differs(self, node: str, cpu_share: float | None) -> bool:
        quota = self._quota_file(node)
        return quota is not None and quota.read_text().split() != _quota_text(quota, cpu_share).split()

    def set_cpu_share(self, node: str, cpu_share: float | None) -> None:
        quota = self._quota_file(node)
        if quota is None:
            raise LabError(
                "This machine has no cpu cgroup controller, so nodes cannot get a fixed share of CPU: mount it."
            )
        if quota.name == "cpu.cfs_quota_us" and cpu_share is not None:
            (quota.parent / "cpu.cfs_period_us").write_text(str(quota_and_period(cpu_share)[1]))
        quota.write_text(_quota_text(quota, cpu_share))

    def kill(self, node: str) -> set[int]:
        """End every process of the node, also its own init, which survives when only nspawn is killed."""
        deadline = time.monotonic() + _KILL_SECONDS
        killed: set[int] = set()
        while pids := self._pids(node):
            for pid in pids:
                _kill_quietly(pid)
            killed |= pids
            if time.monotonic() > deadline:
                raise LabError(f"Processes {sorted(pids)} of {self.lab}-{node} do not die: look at them with ps.")
            time.sleep(0.02)
        for hierarchy in self.hierarchies:
            _remove_tree(self._group(hierarchy, node))
        return killed

    def cleanup(self) -> None:
        for hierarchy in self.hierarchies:
            for group in (hierarchy / "rackmark-lab" / self.lab, hierarchy / "rackmark-lab"):
                if group.exists() and not any(child.is_dir() for child in group.iterdir()):
                    with contextlib.suppress(OSError):  # another lab may come just now
                        group.rmdir()

    def _pids(self, node: str) -> set[int]:
        return {
            int(pid)
            for hierarchy in self.hierarchies
            for group, _, _ in os.walk(self._group(hierarchy, node))  # unlike rglob it lets groups go meanwhile
            for pid in _read_lines(Path(group, "cgroup.procs"))
        }

    def _quota_file(self, node: str) -> Path | None:
        candidates = (self._group(h, node) / name for h in self.hierarchies for name in ("cpu.max", "cpu.cfs_quota_us"))
        return next((path for path in candidates if path.exists()), None)


Supervisor = Union[SystemdSupervisor, CgroupSupervisor]


def supervisor(lab: str) -> Supervisor:
    return SystemdSupervisor(lab) if Path("/run/systemd/system").is_dir() else CgroupSupervisor(lab)


def quota_and_period(cpu_share: float) -> tuple[int, int]:
    """Microseconds of CPU in how many microseconds.

    Short periods, so that a throttled rank waits milliseconds before its peers hear from it; the kernel's least
    quota is one millisecond.
    """
    period = max(10000, math.ceil(1000 / cpu_share))
    return round(cpu_share * period), period


def _quota_text(quota: Path, cpu_share: float | None) -> str:
    if quota.name == "cpu.max":
        return "max 100000" if cpu_share is None else "{} {}".format(*quota_and_period(cpu_share))
    return "-1" if cpu_share is None else str(quota_and_period(cpu_share)[0])


def cgroup_hierarchies() -> list[Path]:
    """Mount points of every cgroup hierarchy: one, or one per version 1 controller and version 2 beside them."""
    mounts = [line.split() for line in _read_lines(Path("/proc/mounts"))]
    found = [Path(fields[1]) for fields in mounts if fields[2] in ("cgroup", "cgroup2")]
    if not found:
        raise LabError("No cgroup hierarchy is mounted on this machine: mount cgroup2 on /sys/fs/cgroup.")
    return found


def _make_group(hierarchy: Path, group: Path) -> Path:
    """Make a group and its parents, each able to hold processes or to hand its controllers down."""
    parent = hierarchy
    for part in group.relative_to(hierarchy).parts:
        child = parent / part
        if (parent / "cgroup.controllers").exists():
            for controller in (parent / "cgroup.controllers").read_text().split():
                (parent / "cgroup.subtree_control").write_text(f"+{controller}")
        child.mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):  # version 1 starts them empty, and then admits no process
            if (child / "tasks").exists() and (child / setting).exists():
                (child / setting).write_text((parent / setting).read_text())
        parent = child
    return group


def _remove_tree(group: Path) -> None:
    if group.exists():
        for child in group.iterdir():
            if child.is_dir():
                _remove_tree(child)
        group.rmdir()


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # the group or process went away while we looked
        return []


def _is_nspawn(pid: int) -> bool:
    return _read_lines(Path(f"/proc/{pid}/comm")) == ["systemd-nspawn"]


def wait_until_reaped(pids: set[int]) -> None:
    """Let init collect the dead, so that who lists processes next does not see them; some inits are slow."""
    deadline = time.monotonic() + _REAP_SECONDS
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)


def _kill_quietly(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
