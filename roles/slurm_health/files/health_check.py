#!/usr/bin/python3 -IS
"""Whether this node can take jobs, asked of the node itself.

Slurm runs it every few minutes and before every job. A node with a fault is drained with all its faults as the reason;
one that was drained here and has none any more takes jobs again. What a person or Slurm has drained is left alone,
whatever words they gave for it. Nothing that one user can do to his own folder is a fault of the node.
"""

from __future__ import annotations

import argparse
import configparser
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pwd
import re
import secrets
import select
import shutil
import signal
import subprocess
import sys
import syslog
import time
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple

CONFIG = Path("/etc/slurm/rackmark-health.conf")
SIGN = "rackmark:"  # every reason of ours begins with it
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS_TO_FIND_THE_TIME = 300  # after booting, before chrony has to know it

Options = configparser.SectionProxy
Check = Callable[[Options], List[str]]


class UnknownError(Exception):
    """A check that has nothing to look at on this node."""


class ControllerSilentError(Exception):
    """Slurm's controller did not answer, or not to us."""


# What is looked at. Every check gets its section of the configuration and returns the faults it finds.


# What a user can bring upon his own folder: closed to himself, his quota used up.
OWN_DOING = (errno.EACCES, errno.EPERM, errno.EDQUOT)


def check_shared(options: Options) -> list[str]:
    with one_at_a_time(options["lock"]):
        if "mount" in options and not Path(options["mount"]).is_mount():
            return [f"{options['mount']} is not mounted"]
        folder, user = Path(options["folder"]), pwd.getpwnam(options["user"])
        if mounted_by(user.pw_uid, folder):
            raise UnknownError(f"{user.pw_name} has mounted something of its own on {folder}")
        if os.geteuid() == 0:  # root may be nobody on the file server
            os.initgroups(user.pw_name, user.pw_gid)
            os.setegid(user.pw_gid)
            os.seteuid(user.pw_uid)  # the real user stays root, whom that user cannot stop or end
        try:
            write_and_remove(folder / f".rackmark-health-{options['name']}-{secrets.token_hex(4)}", options["name"])
        except OSError as error:
            if error.errno in OWN_DOING and (error.errno == errno.EDQUOT or folder.stat().st_uid == user.pw_uid):
                raise UnknownError(f"{user.pw_name} cannot write to its own {folder} ({error.strerror})") from error
            return [f"{folder} cannot be written to by {user.pw_name} ({error.strerror})"]
    return []


@contextlib.contextmanager
def one_at_a_time(path: str) -> Iterator[None]:
    """So that a dead file server holds up one process and not one more at every check."""
    try:  # root's alone: who can open it can also hold it
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except PermissionError:  # somebody else only looks
        yield
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def mounted_by(uid: int, folder: Path) -> bool:
    """Whether the user has mounted a file system of his own there (FUSE), which may hang as he likes."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, _, kind = line.partition(" - ")
        if place.split()[4] == str(folder) and kind.startswith("fuse") and f"user_id={uid}" in re.split("[ ,]", kind):
            return True
    return False


def write_and_remove(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, text.encode())
        os.fsync(file)
    finally:
        os.close(file)
        path.unlink()


def check_disk(options: Options) -> list[str]:
    needed, faults, seen = options.getfloat("free_percent"), [], set()
    for folder in options["folders"].split("\n"):
        if not Path(folder).is_dir():
            faults.append(f"{folder} is missing")
            continue
        device, usage = Path(folder).stat().st_dev, os.statvfs(folder)
        if device in seen:
            continue
        seen.add(device)
        left = {"space": (usage.f_bavail, usage.f_blocks), "inodes": (usage.f_favail, usage.f_files)}
        for what, (free, total) in left.items():
            if total and 100 * free / total < needed:  # some file systems do not count inodes
                faults.append(f"{folder} has {100 * free / total:.1f} % of its {what} free and needs {needed:g} %")
    return faults


DEVICE_FILES = {"nvidia": "nvidia", "ascend": "davinci"}


def check_devices(options: Options) -> list[str]:
    vendor, expected = options["vendor"], options.getint("count")
    folder, prefix = Path(options.get("folder", "/dev")), DEVICE_FILES[vendor]
    there = {int(path.name[len(prefix) :]) for path in folder.glob(f"{prefix}*") if path.name[len(prefix) :].isdigit()}
    faults = []
    if len(there) < expected:
        missing = ", ".join(f"{folder}/{prefix}{number}" for number in sorted(set(range(expected)) - there))
        faults.append(f"{len(there)} of {expected} {vendor} device files are there, without {missing}")
    listed = count_with_tool(vendor, limit=0.9 * options.getfloat("time_limit"))
    if listed is not None and listed < expected:
        faults.append(f"the driver's tool lists {listed} of {expected} {vendor} devices")
    return faults


def count_with_tool(vendor: str, limit: float) -> int | None:
    """Devices that the driver itself counts, or None where it has no tool here."""
    command = {"nvidia": ["nvidia-smi", "-L"], "ascend": ["npu-smi", "info", "-l"]}[vendor]
    if shutil.which(command[0]) is None:
        return None
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit).stdout
    if vendor == "nvidia":
        return len(re.findall(r"^GPU \d+:", said, re.MULTILINE))
    chips = re.findall(r"^\s*Chip Count\s*:\s*(\d+)", said, re.MULTILINE)  # a card can carry several
    return sum(map(int, chips)) or len(re.findall(r"^\s*NPU ID\s*:", said, re.MULTILINE))


def check_clock(options: Options) -> list[str]:
    if shutil.which("chronyc") is None:
        raise UnknownError("there is no chronyc here")
    done = subprocess.run(["chronyc", "-c", "-n", "tracking"], capture_output=True, text=True, check=False)
    fields = done.stdout.strip().split(",")
    if done.returncode != 0 or len(fields) < 14:
        return ["chronyd does not answer"]
    if fields[13] == "Not synchronised":
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return ["chronyd follows no time source"] if uptime > SECONDS_TO_FIND_THE_TIME else []
    skew, most = abs(float(fields[4])), options.getfloat("max_skew")
    return [f"the clock is {skew:.1f} s off and may be {most:g} s"] if skew > most else []


def check_munge(_: Options) -> list[str]:
    try:
        made = subprocess.run(["munge", "-n"], capture_output=True, check=False)
        read = subprocess.run(["unmunge"], input=made.stdout, capture_output=True, check=False)
    except FileNotFoundError:
        return ["munge is not installed"]
    said = (made.stderr if made.returncode else read.stderr).decode().strip()
    return [f"no credential can be made and read back ({said})"] if made.returncode or read.returncode else []


CHECKS: dict[str, Check] = {
    "shared": check_shared,
    "disk": check_disk,
    "devices": check_devices,
    "clock": check_clock,
    "munge": check_munge,
}


# Running them.


class Finding(NamedTuple):
    faults: list[str]
    unknown: str = ""


def find(check: Check, options: Options) -> Finding:
    try:
        return Finding(check(options))
    except UnknownError as reason:
        return Finding([], str(reason))
    except Exception as error:
        return Finding([f"could not be checked ({error})"])


def start(check: Check, options: Options) -> tuple[int, int]:
    """The check in a process group of its own and the pipe it answers through."""
    answer, end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(end)
        return pid, answer
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # Slurm waits until nobody holds its pipes, and this process may hang for ever
        os.dup2(nowhere, stream)
    os.write(end, json.dumps(find(check, options)).encode())
    os._exit(0)


def run_checks(config: configparser.ConfigParser) -> dict[str, Finding]:
    """All checks at once; one that gives no answer in time is ended and is a fault itself."""
    limit = config.getfloat("node", "time_limit")
    deadline = time.monotonic() + limit
    started = {name: start(CHECKS[name], config[name]) for name in CHECKS if name in config}
    findings: dict[str, Finding] = {}
    for name, (pid, answer) in started.items():
        ready, _, _ = select.select([answer], [], [], max(0.0, deadline - time.monotonic()))
        said = os.read(answer, 65536) if ready else b""
        if not ready:
            os.killpg(pid, signal.SIGKILL)
        findings[name] = Finding(*json.loads(said)) if said else Finding([f"no answer within {limit:g} s"])
    return findings


def reason_of(findings: dict[str, Finding]) -> str:
    faults = [f"{name}: {fault}" for name, finding in findings.items() for fault in finding.faults]
    return f"{SIGN} {'; '.join(faults)}" if faults else ""


# What Slurm knows of this node, and telling it.


class Node(NamedTuple):
    drained: bool
    down: bool
    reason: str
    reason_by: str
    reason_is_ours: bool

    @property
    def drained_by_us(self) -> bool:
        return self.drained and self.reason_is_ours

    @property
    def held_by_others(self) -> bool:
        """Drained by Slurm or a person, or put down by a person. Slurm's own `down` ends by itself."""
        return not self.reason_is_ours and (self.drained or (self.down and self.reason_by != "slurm"))


def scontrol(*arguments: str, limit: float) -> str:
    try:
        done = subprocess.run(["scontrol", *arguments], capture_output=True, text=True, check=False, timeout=limit)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ControllerSilentError(str(error)) from error
    if done.returncode != 0:
        raise ControllerSilentError((done.stderr or done.stdout).strip().replace("\n", " / "))
    return done.stdout


class Memory:
    """The last reason that was given here. A person may begin a reason with the same word, and it is still theirs."""

    def __init__(self, path: str) -> None:
        self.path = path

    def holds(self, reason: str) -> bool:
        try:
            return Path(self.path).read_text() == self.digest(reason)
        except OSError:
            return False

    def keep(self, reason: str) -> None:
        """Always as many bytes, and in place: the disk may be full, and that the fault."""
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                os.pwrite(file, self.digest(reason).encode(), 0)
            finally:
                os.close(file)
        except OSError as error:
            log(f"{self.path} could not be written ({error.strerror}): this node does not come back by itself.")

    @staticmethod
    def digest(reason: str) -> str:
        return hashlib.sha256(reason.encode()).hexdigest()


def ask_slurm(name: str, memory: Memory, limit: float) -> Node:
    said = scontrol("--oneliner", "show", "node", name, limit=limit)
    state = re.search(r" State=(\S+)", said)
    reason = re.search(r" Reason=(.*?) \[(\S+?)@[^\]]*\]", said)
    if not state:
        raise ControllerSilentError(said.strip())
    text, by = reason.groups() if reason else ("", "")
    ours = text.startswith(SIGN) and memory.holds(text)
    return Node("DRAIN" in state.group(1), "DOWN" in state.group(1), text, by, ours)


def settle(node: Node, reason: str, resume: bool) -> list[str]:
    """The change that Slurm has to be told of, as words for `scontrol update`."""
    if reason and not node.held_by_others and not (node.drained and node.reason == reason):
        return ["state=drain", f"reason={reason}"]
    if not reason and resume and node.drained_by_us:
        return ["state=resume"]
    return []


def log(words: str) -> None:
    print(words)
    syslog.syslog(words)


def tell_slurm(options: Options, reason: str, resume: bool) -> bool:
    """Whether Slurm knows what it has to know."""
    name, limit, memory = options["name"], options.getfloat("time_limit"), Memory(options["memory"])
    if not Path(memory.path).exists():
        memory.keep("")
    try:
        node = ask_slurm(name, memory, limit)
        change = settle(node, reason, resume)
        if change:
            memory.keep(reason)
            scontrol("update", f"nodename={name}", *change, limit=limit)
            log(f"{name}: {' '.join(change)}")
        elif reason and node.held_by_others:
            log(f"{name} is held already ({node.reason}); {reason}")
    except ControllerSilentError as error:
        log(
            f"Slurm's controller takes no word from {name} ({error}): it is down or out of reach, or this host's munge"
            f" key or clock is not the controller's. {reason}".rstrip()
        )
        return False
    return True


# What Prometheus is told, through its node exporter.


def metrics_of(findings: dict[str, Finding]) -> str:
    known = {name: finding for name, finding in findings.items() if not finding.unknown}
    samples = [
        ("ok", "Whether the node's health check found no fault.", [("", int(not reason_of(findings)))]),
        (
            "fault",
            "1 for each check that found a fault. What could not be looked at is left out.",
            [(f'{{check="{name}"}}', int(bool(finding.faults))) for name, finding in known.items()],
        ),
        ("last_run_timestamp_seconds", "When the health check ran.", [("", round(time.time(), 3))]),
    ]
    return "".join(
        f"# HELP rackmark_health_{name} {about}\n# TYPE rackmark_health_{name} gauge\n"
        + "".join(f"rackmark_health_{name}{labels} {value}\n" for labels, value in values)
        for name, about, values in samples
    )


def publish(path: Path, text: str) -> None:
    """Where there is no node exporter there is no folder. A failure says nothing about the node's health."""
    if not path.parent.is_dir():
        return
    beside = f".{path.name}.{os.getpid()}"
    try:
        # The folder is in one of Prometheus' user, who must not be able to lead root elsewhere by a link.
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder), "w") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(text)
            os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            os.close(folder)
    except OSError as error:
        log(f"{path} could not be written ({error.strerror}).")


def show(findings: dict[str, Finding]) -> None:
    for name, finding in findings.items():
        print(f"{name:8}{'; '.join(finding.faults) or (f'not known: {finding.unknown}' if finding.unknown else 'ok')}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Check this node; drain it when it has a fault, resume it when not.")
    parser.add_argument("--show", action="store_true", help="only say what is found and change nothing")
    parser.add_argument("--prolog", action="store_true", help="before a job: a fault is status 1, nothing is resumed")
    parser.add_argument("--config", type=Path, default=CONFIG)
    arguments = parser.parse_args()
    os.environ["PATH"] = ":".join(filter(None, [os.environ.get("PATH"), SYSTEM_PATH]))
    syslog.openlog("rackmark-health")

    config = configparser.ConfigParser(interpolation=None)
    with arguments.config.open() as file:
        config.read_file(file)
    config["DEFAULT"] = dict(config["node"])
    findings = run_checks(config)
    reason = reason_of(findings)
    if arguments.show:
        show(findings)
        return 1 if reason else 0
    if "metrics" in config["node"]:
        publish(Path(config["node"]["metrics"]), metrics_of(findings))
    if arguments.prolog and not reason:
        return 0
    told = tell_slurm(config["node"], reason, resume=config.getboolean("node", "resume") and not arguments.prolog)
    return 0 if told and not arguments.prolog else 1


if __name__ == "__main__":
    sys.exit(main())
