"""What a tired operator types is refused, each with the sentence that belongs to it: the table is wrong_values.yml."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from rackmark.inventory_check import values
from rackmark.role_specs import load_yaml, read_roles, without_null

ROOT = Path(__file__).parents[2]
COMMAND_LINE = without_null(load_yaml(ROOT / "roles/cluster/vars/main/command_line.yml")["_cluster_command_line"])
SPECS = {**COMMAND_LINE, **{name: spec for role in read_roles(ROOT / "roles") for name, spec in role.options.items()}}
HOSTS, GROUPS = ["head", "node1", "node2"], ["slurm_compute"]
WRONG = yaml.safe_load(Path(__file__).with_name("wrong_values.yml").read_text())


def said(name, value):
    return [f"{fault.what}: {fault.fix}" for fault in values.faults(name, SPECS[name], value, HOSTS, GROUPS)]


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_value_is_refused_with_what_to_do(words):
    asked = [(name, value) for name, wrong in WRONG[words].items() for value in wrong]
    for name, value in asked:
        (sentence, *others) = said(name, value) or [""]
        assert sentence.startswith(name) and words in sentence, (name, value, sentence, others)


def test_no_sentence_shows_a_secret():
    secrets = {name for name, spec in SPECS.items() if values.is_secret(name, spec)}
    for by_name in WRONG.values():
        for name in secrets & by_name.keys():
            for value in by_name[name]:
                if isinstance(value, str) and len(value) > 3:
                    assert value not in " ".join(said(name, value)), name


def test_every_variable_with_a_limit_of_its_own_has_a_wrong_value():
    """Beside those of which nearly everything is right, and the twins of others."""
    asked = {name for by_name in WRONG.values() for name in by_name}
    ranges = {name for name, spec in SPECS.items() if " to " in str(spec.get("limit", ""))}
    assert ranges - asked - TWINS == set()


# Of the same limit as another one.
TWINS = {
    "benchmark_batch",
    "benchmark_minutes",
    "benchmark_nodes",
    "benchmark_stalled_after",
    "benchmark_steps",
    "benchmark_warmup",
    "dcgm_exporter_seconds",
}
