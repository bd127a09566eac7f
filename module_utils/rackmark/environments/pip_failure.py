"""What pip's last words mean, and what helps."""

from __future__ import annotations

import re
from typing import Callable, Sequence

from .wheels import Pin, pin

# Name and version of a package -> the Pythons that it is offered for, as in ["3.11", "3.12"].
Offered = Callable[[Pin], Sequence[str]]

_FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
_UNREACHABLE = re.compile(
    r"Retrying \(Retry\(|connection error|Max retries exceeded|Could not fetch URL", re.IGNORECASE
)
_UNFIT = re.compile(
    r"Could not find a version that satisfies the requirement (?P<asked>.+?) \(from versions: (?P<found>.*)\)"
)


def is_disk_full(output: str) -> bool:
    return _FULL.search(output) is not None


def explanation(output: str, python: str, machine: str, offered: Offered, instead: Sequence[str] = ()) -> str:
    """One or two sentences for the operator. A full disk is the caller's to explain, who knows the folders.

    `instead` are options that do without these requirements.
    """
    unfit = _UNFIT.search(output)
    if unfit and not (unfit["found"] == "none" and _UNREACHABLE.search(output)):
        return _no_such(unfit["asked"], _versions(unfit["found"]), python, machine, offered, instead)
    if _UNREACHABLE.search(output):
        return (
            "pip reaches no package index from here: name one that it can reach (index-url), or a folder of wheels"
            f" (find-links), in /etc/pip.conf. pip said: {telling_lines(output)}"
        )
    if "conflicting dependencies" in output:
        return (
            f"The requirements exclude each other: change the pins in workload.yml. pip said: {telling_lines(output)}"
        )
    return f"pip failed: {telling_lines(output)}"


def telling_lines(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("WARNING: Location")]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return " / ".join((errors or lines or ["nothing"])[-3:])


def _no_such(
    asked: str, versions: Sequence[str], python: str, machine: str, offered: Offered, instead: Sequence[str]
) -> str:
    pinned = pin(asked)
    pythons = offered(pinned) if pinned else []
    if pythons:
        return not_offered(asked, python, machine, pythons, instead)
    if versions:
        return (
            f"There is no {asked} for Python {python} on {machine}; the newest that there are:"
            f" {', '.join(versions[-5:])}. Change the pin in workload.yml."
        )
    return (
        f"No package index or wheel folder of pip's settings offers {asked} for {machine}: check the name in"
        " workload.yml, and index-url and find-links in /etc/pip.conf."
    )


def not_offered(asked: str, python: str, machine: str, pythons: Sequence[str], instead: Sequence[str]) -> str:
    return (
        f"{asked} is not offered for Python {python} on {machine}, only for Python {', '.join(pythons)}: set"
        " ansible_python_interpreter of this host to one of them, or benchmark_python to a Python that has it"
        f"{''.join(f', or give {option}' for option in instead)}."
    )


def is_unreachable(output: str) -> bool:
    return _UNREACHABLE.search(output) is not None


def _versions(found: str) -> list[str]:
    return [] if found == "none" else found.split(", ")
