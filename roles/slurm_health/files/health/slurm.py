"""What Slurm knows of this node, and telling it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import syslog
from pathlib import Path
from typing import NamedTuple

from checks import Options

SIGN = "rackmark:"  # every reason of ours begins with it


class ControllerSilentError(Exception):
    """Slurm's controller did not answer, or not to us."""


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
