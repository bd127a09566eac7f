"""The example of docs/workloads.md is a workload, and its tables know all keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import read_folder

PAGE = (Path(__file__).parents[2] / "docs/workloads.md").read_text()


@pytest.fixture
def primes(tmp_path):
    """The folder that the page shows."""
    texts = dict(zip(("workload.yml", "primes.py"), re.findall(r"```(?:yaml|python)\n(.*?)```", PAGE, re.DOTALL)))
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def known_keys(content, path):
    """The keys that the file may have there, by the sentence on a key that it may not have."""
    *folders, name = [*path, "no_key"]
    place = content
    for folder in folders:
        place = place[folder]
    place[name] = 1
    with pytest.raises(ValueError) as error:
        workload_from(content)
    del place[name]
    said = re.search(r"no_key is not a key: use one of (.*)\.", str(error.value))
    return set(said[1].split(", "))


@pytest.mark.parametrize(
    "path", [(), ("frameworks", "python"), ("frameworks", "python", "environment"), ("presets", "lab")]
)
def test_the_page_knows_every_key(primes, path):
    content = read_folder(primes, {"rackmark": None})
    content["frameworks"]["python"]["environment"] = {}
    documented = set(re.findall(r"`([a-z_]+)(?:\.<name>)?`", PAGE))
    assert known_keys(content, path) <= documented
