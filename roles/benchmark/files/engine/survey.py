"""Asks every node of a job at once whether it can take its part, and compares what they say."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

from allocation import Allocation
from launchers import Launcher, start
from preflight import PREFIX
from rackmark.node.processes import Events, end_groups
from shared_folder import sign_of, token_file

SCHEMA = "rackmark.preflight/1"
SECONDS = 90
SECONDS_TO_END = 2
SECONDS_WITH_DATASET = 900
LARGEST_CLOCK_DIFFERENCE = 1.0

_SAME_EVERYWHERE = {
    "dataset": "The dataset",
    "package_version": "The version of the package",
    "packages_digest": "What the environment holds",
    "image_digest": "The image",
    "code_digest": "The program's code",
}


@dataclass
class Answer:
    """What came from one node."""

    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        if not line.startswith(PREFIX):
            self.words.append(line.strip())
            return
        said = json.loads(line[len(PREFIX) :])
        if said["name"] == "problem":
            self.problems.append(said["value"])
        else:
            self.facts[said["name"]] = said["value"]


def survey(launcher: Launcher, job: Allocation, events: Events) -> dict[str, Any]:
    """The content of preflight.json. Incomplete when it was asked to stop: then nobody needs it."""
    token = secrets.token_hex(16)
    limit = SECONDS_WITH_DATASET if job.record.dataset else SECONDS
    token_file(job.folder).parent.mkdir()
    try:
        token_file(job.folder).write_text(token)
        answers = _ask(launcher, job, token, events, limit)
        problems = [f"{node}: {problem}" for node, problem in _problems(job, answers, token, limit)]
    finally:
        shutil.rmtree(token_file(job.folder).parent, ignore_errors=True)
    for answer in answers:
        answer.facts.pop("done", None)
        answer.facts.pop("clock_against_storage", None)
    nodes = {node: answer.facts for node, answer in zip(job.nodes, answers)}
    return {"schema": SCHEMA, "ok": not problems, "problems": problems, "nodes": nodes}


def _ask(launcher: Launcher, job: Allocation, token: str, events: Events, limit: float) -> list[Answer]:
    flags = ["--folder", str(job.folder), "--token", token, "--first-node", job.nodes[0], "--job", job.number]
    commands = launcher.preflights(job, flags)
    processes = [start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for command in commands]
    try:
        outputs = _read(processes, events, limit)
    finally:
        end_groups([process for process in processes if process.poll() is None], SECONDS_TO_END)
    answers = [Answer() for _ in job.nodes]
    for answer, lines in zip(answers, launcher.answers(job, outputs)):
        for line in lines:
            answer.take(line)
    return answers


def _read(processes: list[subprocess.Popen[bytes]], events: Events, limit: float) -> list[str]:
    """What they print until all have ended, until time is up or until it is to stop."""
    deadline = time.monotonic() + limit
    output = {process.stdout.fileno(): b"" for process in processes if process.stdout is not None}
    reading = set(output)
    while events.stop is None and time.monotonic() < deadline:
        if not reading and all(process.poll() is not None for process in processes):
            break
        for number in events.wait(deadline - time.monotonic(), reading):
            chunk = os.read(number, 65536)
            output[number] += chunk
            if not chunk:
                reading.discard(number)
    return [text.decode(errors="replace") for text in output.values()]


def _problems(job: Allocation, answers: list[Answer], token: str, limit: float) -> list[tuple[str, str]]:
    found = []
    for place, (node, answer) in enumerate(zip(job.nodes, answers)):
        found += [(node, problem) for problem in answer.problems]
        if "done" not in answer.facts:
            said = answer.words[-1] if answer.words else f"nothing came within {limit:g} s"
            found.append((node, f"The node did not answer the questions before the start: {said}"))
            continue
        if answer.facts["clock_against_storage"] is not None:
            found += [(node, problem) for problem in _not_arrived(job, place, token)]
        found += [(node, problem) for problem in _compare(job, answers[0].facts, answer.facts)]
    return found


def _not_arrived(job: Allocation, place: int, token: str) -> list[str]:
    try:
        arrived = sign_of(job.folder, str(place)).read_text() == token
    except OSError:
        arrived = False
    if arrived:
        return []
    return [f"What this node writes to {job.folder} does not arrive on {job.nodes[0]}. Mount the same storage on both."]


def _compare(job: Allocation, first: dict[str, Any], own: dict[str, Any]) -> list[str]:
    problems = []
    own["clock_offset_s"] = None
    if own.get("clock_against_storage") and first.get("clock_against_storage"):
        (least, most), (first_least, first_most) = own["clock_against_storage"], first["clock_against_storage"]
        own["clock_offset_s"] = 0.0 if own is first else round((least + most - first_least - first_most) / 2, 3) or 0.0
        sure = max(least - first_most, first_least - most)
        if sure > LARGEST_CLOCK_DIFFERENCE:
            way = "ahead of" if own["clock_offset_s"] > 0 else "behind"
            problems.append(
                f"The clock is {sure:.1f} s {way} that of {job.nodes[0]}. Synchronise them, for instance with chrony."
            )
    for name, title in _SAME_EVERYWHERE.items():
        if own.get(name) != first.get(name) and None not in (own.get(name), first.get(name)):
            problems.append(f"{title} is {own[name]} here and {first[name]} on {job.nodes[0]}.")
    return problems
