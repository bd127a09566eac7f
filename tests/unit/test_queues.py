"""Every kind of queue is known by its name wherever one can be chosen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from rackmark.run.queues import LAUNCHERS, TRAITS, queue_for
from rackmark.run.queues.queue import Queue, Setting

ROOT = Path(__file__).parents[2]
VERBS = [name for name in vars(Queue) if not name.startswith("_")]


def described(content):
    """All that has a description, with its name, however deep."""
    for name, value in content.items() if isinstance(content, dict) else ():
        if isinstance(value, dict):
            yield from [(name, value)] if "description" in value else []
            yield from described(value)


def choices_of(path):
    text = (ROOT / path).read_text()
    if path.endswith(".py"):
        text = re.search(r'DOCUMENTATION = r"""\n(.*?)"""', text, re.DOTALL)[1]
    return [value["choices"] for name, value in described(yaml.safe_load(text)) if name.endswith("launcher")]


@pytest.mark.parametrize(
    "path",
    [
        "roles/benchmark/meta/argument_specs.yml",
        "roles/cluster/vars/main/command_line.yml",
        *(f"library/benchmark_{verb}.py" for verb in ("plan", "find_run", "jobs", "stop")),
    ],
)
def test_launchers_that_are_documented_are_those_there_are(path):
    found = choices_of(path)  # parts of a role may have the same options
    assert found and all(choices == list(LAUNCHERS) for choices in found)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_queue_does_all_that_is_asked_of_one(launcher):
    queue = queue_for(launcher, Setting(lambda _: (1, "", "")))
    assert queue.traits is TRAITS[launcher]
    assert [verb for verb in VERBS if not hasattr(queue, verb)] == []


def test_nobody_asks_which_queue_it_is():
    """A word in quotes beside `==` or `!=`, wherever it is."""
    names = "|".join(LAUNCHERS)
    asks = re.compile(rf"launcher\W*[!=]=\s*['\"]({names})|['\"]({names})['\"]\s*[!=]=.*launcher|isinstance\(queue")
    places = ("library", "module_utils", "action_plugins", "playbooks", "roles")
    files = [path for place in places for path in (ROOT / place).rglob("*")]
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if path.suffix in (".py", ".yml")
        for line in path.read_text().splitlines()
        if asks.search(line)
    ]
    assert wrong == []
