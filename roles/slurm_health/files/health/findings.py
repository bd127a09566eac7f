"""Running the checks, all at once and within a time limit."""

from __future__ import annotations

import configparser
import json
import os
import select
import signal
import time
from typing import NamedTuple

from checks import CHECKS, Check, Options, UnknownError
from slurm import SIGN


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
