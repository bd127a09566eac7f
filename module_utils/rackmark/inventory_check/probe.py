"""Asking hosts whether their SSH port answers, all at once and without logging in."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import resource
import shlex
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Iterable, Mapping

SECONDS = 3.0
SSH_PORT = 22
# Of the open files that a process may have; it has others.
SPARE_FILES = 100
MOST_AT_ONCE = 2000
GREETING_LINES = 20

_THROUGH_ANOTHER = re.compile(r"proxyjump|proxycommand|(^|\s)-[JW]", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    address: str
    port: int
    ssh_arguments: str = ""


@dataclass(frozen=True)
class Answers:
    asked: int
    """Hosts that can be asked from here: the others are behind another host."""
    silent: Mapping[str, list[str]]
    """Names of hosts by what is wrong with them."""


def ask(targets: Mapping[str, Target]) -> Answers:
    direct = {name: target for name, target in targets.items() if not _THROUGH_ANOTHER.search(target.ssh_arguments)}
    reasons = asyncio.run(_ask_all(direct.values()))
    suspects = [name for name, target in direct.items() if target in reasons]
    with ThreadPoolExecutor() as pool:
        elsewhere = dict(zip(suspects, pool.map(_is_led_elsewhere, (direct[name] for name in suspects))))
    silent = defaultdict(list)
    for name in suspects:
        if not elsewhere[name]:
            silent[reasons[direct[name]]].append(name)
    return Answers(len(direct) - sum(elsewhere.values()), silent)


async def _ask_all(targets: Iterable[Target]) -> dict[Target, str]:
    turns = asyncio.Semaphore(_at_once())
    distinct = set(targets)
    reasons = await asyncio.gather(*(_ask(target, turns) for target in distinct))
    return {target: reason for target, reason in zip(distinct, reasons) if reason}


def _at_once() -> int:
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_AT_ONCE if open_files == resource.RLIM_INFINITY else min(MOST_AT_ONCE, open_files - SPARE_FILES)


async def _ask(target: Target, turns: asyncio.Semaphore) -> str:
    """What is wrong with it, or nothing."""
    async with turns:
        try:
            return await asyncio.wait_for(_greeting(target), SECONDS)
        except asyncio.TimeoutError:
            return f"does not answer within {SECONDS:.0f} s"
        except OSError as error:
            return f"does not answer ({os.strerror(error.errno or errno.EIO).lower()})"


async def _greeting(target: Target) -> str:
    reader, writer = await asyncio.open_connection(target.address, target.port)
    try:
        for _ in range(GREETING_LINES):  # a server may say other things first
            line = await reader.readline()
            if line.startswith(b"SSH-"):
                return ""
            if not line:
                break
        return "does not answer (the port is another service's)"
    finally:
        writer.close()


def _is_led_elsewhere(target: Target) -> bool:
    """Whether the settings of ssh on this machine lead to another address or port, or by way of another host."""
    port = ["-p", str(target.port)] if target.port != SSH_PORT else []
    command = ["ssh", "-G", *shlex.split(target.ssh_arguments), *port, target.address]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    settings = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    here = {"hostname": target.address, "port": str(target.port), "proxyjump": "none", "proxycommand": "none"}
    return any(settings.get(key, value) != value for key, value in here.items())
