"""Network addresses of this node's Ascend devices: what they say, and what /etc/hccn.conf keeps for the next start."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from .processes import die_with_parent, wait_for

TOOL_FOLDERS = ("/usr/local/Ascend/driver/tools",)  # not in the PATH of everybody
CONF = Path("/etc/hccn.conf")
SECONDS = 5.0  # for all devices together
_PAUSE = 0.3
_SECONDS_TO_READ = 1.0
_BUSY = re.compile(r"busy|occupied|try again", re.IGNORECASE)
_SAID = re.compile(r"(ipaddr|address|netmask|gateway)\s*:\s*([0-9.]+)")
_KEPT = re.compile(r"^(address|netmask|gateway)_(\d+)\s*=\s*([0-9.]+)\s*$", re.MULTILINE)


class Answer(NamedTuple):
    """Of hccn_tool. Without an exit status it gave none in time."""

    status: int | None
    text: str

    @property
    def is_busy(self) -> bool:
        """Somebody else asks the same device at this moment."""
        return self.status not in (None, 0) and bool(_BUSY.search(self.text))


class Found(NamedTuple):
    """Addresses by the device's number. `problems` are sentences on devices whose two sources differ."""

    addresses: dict[str, str]
    problems: list[str]


class Interface(NamedTuple):
    """Of one device. None: not known."""

    address: str | None
    netmask: str | None
    gateway: str | None


def tool() -> str | None:
    """Where hccn_tool is, None where it is not."""
    return shutil.which("hccn_tool", path=os.pathsep.join([os.environ.get("PATH", os.defpath), *TOOL_FOLDERS]))


def asked_addresses(numbers: Sequence[int]) -> dict[int, str | None]:
    """What each device says; None where hccn_tool is missing, refuses, is busy or gives no answer in time."""
    return {number: address_in(answer) for number, answer in asked(numbers, "ip").items()}


def asked(numbers: Sequence[int], option: str, seconds: float = SECONDS) -> dict[int, Answer]:
    """Answers of all devices to `hccn_tool -i N -option -g`, asked at once. Busy ones are asked again."""
    program = tool()
    if program is None:
        return {number: Answer(127, "There is no hccn_tool.") for number in numbers}
    deadline = time.monotonic() + seconds
    answers: dict[int, Answer] = {}
    left = list(numbers)
    while left:
        running = {number: start([program, "-i", str(number), f"-{option}", "-g"]) for number in left}
        wait_for(list(running.values()), deadline - time.monotonic())
        answers.update({number: answer_of(process) for number, process in running.items()})
        left = [number for number in left if answers[number].is_busy]
        if time.monotonic() + _PAUSE > deadline:
            break
        if left:
            time.sleep(_PAUSE)
    return answers


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=die_with_parent(),
    )


def answer_of(process: subprocess.Popen[bytes]) -> Answer:
    """Of one that has ended; one that has not is killed and not waited for: what a driver holds may never die."""
    if process.poll() is not None:
        with suppress(subprocess.TimeoutExpired):  # something that it started holds its output
            text, _ = process.communicate(timeout=_SECONDS_TO_READ)
            return Answer(process.returncode, text.decode(errors="replace"))
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    return Answer(None, "")


def address_in(answer: Answer) -> str | None:
    return said(answer).address


def said(*answers: Answer) -> Interface:
    """From lines such as 'ipaddr:192.0.2.1' and 'default gateway:192.0.2.1, Iface:eth0'."""
    found = {name: value for answer in answers if answer.status == 0 for name, value in _SAID.findall(answer.text)}
    return Interface(found.get("ipaddr", found.get("address")), found.get("netmask"), found.get("gateway"))


def kept_addresses(text: str) -> dict[int, str]:
    """Of the text of hccn.conf."""
    return {number: entry.address for number, entry in kept(text).items() if entry.address}


def kept(text: str) -> dict[int, Interface]:
    """All that hccn.conf says of the devices, by their numbers. Of a key that is there twice the first line counts."""
    values: dict[int, dict[str, str]] = {}
    for name, number, value in _KEPT.findall(text):
        values.setdefault(int(number), {}).setdefault(name, value)
    return {
        number: Interface(found.get("address"), found.get("netmask"), found.get("gateway"))
        for number, found in sorted(values.items())
    }


def read_conf(conf: Path) -> str:
    try:
        return conf.read_text(errors="replace")
    except OSError:  # not there, or not for this user
        return ""


def addresses(numbers: Sequence[int], conf: Path = CONF) -> Found:
    """What the devices say, else what the file keeps. A device of which neither is known is left out."""
    answers, in_file = asked(numbers, "ip"), kept_addresses(read_conf(conf))
    by_device = {number: address_in(answer) for number, answer in answers.items()}
    known = {str(number): by_device[number] or in_file.get(number) for number in numbers}
    return Found({number: address for number, address in known.items() if address}, differences(answers, in_file, conf))


def differences(answers: Mapping[int, Answer], in_file: Mapping[int, str], conf: Path = CONF) -> list[str]:
    """A sentence for each device that says something else than the file. Who gives no answer differs from nothing."""
    by_device = {number: address_in(answer) for number, answer in answers.items()}
    found = []
    for number, answer in answers.items():
        here, there = by_device[number], in_file.get(number)
        if here and there and here != there:
            found.append(f"device {number} says {here} and {conf} has {there}: run site.yml --tags ascend")
        elif there and not here and answer.status is not None and not answer.is_busy and any(by_device.values()):
            # The tool works for this user, and the device has no address.
            found.append(f"device {number} says no address and {conf} has {there}: run site.yml --tags ascend")
    return found
