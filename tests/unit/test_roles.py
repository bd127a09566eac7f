"""Rules that hold for every role."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = sorted((ROOT / "roles").iterdir())
TEMPLATES = sorted(ROOT.glob("roles/*/templates/*"))
GENERATED_ELSEWHERE = {"manifest.json.j2"}  # JSON has no comments


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_documented_variables_are_those_with_a_default(role):
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    spec = yaml.safe_load((role / "meta/argument_specs.yml").read_text())
    assert sorted(defaults) == sorted(spec["argument_specs"]["main"]["options"])


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_carry_the_name_of_their_role(role):
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    assert [name for name in defaults if not name.startswith(f"{role.name}_")] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_generated_file_says_that_it_is_generated(template):
    if template.name not in GENERATED_ELSEWHERE:
        assert "ansible_managed" in template.read_text()
