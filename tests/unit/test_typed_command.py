"""The command that a manifest keeps shows no secrets."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "filter_plugins/rackmark.py"


@pytest.fixture(scope="module")
def typed_command():
    spec = importlib.util.spec_from_file_location("rackmark_filters", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.typed_command


@pytest.mark.parametrize(
    "argument",
    ["vault_pass=hidden", 'hf_token="hidden one"', '{"hf_token": "hidden"}', "{'my_secret': 'hidden', 'nodes': 4}"],
)
def test_values_of_secrets_are_not_shown(typed_command, monkeypatch, argument):
    monkeypatch.setattr(sys, "argv", ["/bin/ansible-playbook", "run.yml", "-e", argument, "-e", "nodes=4"])
    shown = typed_command("ansible-playbook")
    assert "hidden" not in shown
    assert "one" not in shown
    assert shown.startswith("ansible-playbook run.yml -e ")
    assert shown.endswith("nodes=4")
