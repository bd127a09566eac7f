"""What pages lead to is there: files, headings, and the playbooks and variables that they tell to type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from rackmark.analysis.options import NAMES
from rackmark.role_specs import read_roles

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"),  # tells of pages as they were
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "bench").glob("*.md"),
        *(ROOT / "roles").glob("*/README.md"),
    ]
)
OF_THE_COMMAND_LINE = yaml.safe_load((ROOT / "roles/cluster/vars/main/command_line.yml").read_text())
KNOWN = {
    *NAMES,
    *OF_THE_COMMAND_LINE["_cluster_command_line"],
    *(name for role in read_roles(ROOT / "roles") for name in role.options),
}
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def without_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", text)


def anchors_of(page: Path) -> set[str]:
    """As GitHub makes them of headings: small letters, dashes for spaces, nothing else but words."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```$", "", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pages
def test_links_lead_somewhere(page):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            lost.append(link)
    assert not lost


@pages
def test_playbooks_and_pages_that_are_named_are_there(page):
    text = page.read_text()
    named = [
        *re.findall(r"(?m)^ {4}ansible-playbook ([\w./]+\.yml)", text),
        *re.findall(r"`((?:docs|playbooks)/[\w./-]+\.(?:md|yml))`", text),
    ]
    ours = [name for name in named if not Path(name).stem.isupper()]  # NAME stands for any
    assert [name for name in ours if not (ROOT / name).exists()] == []


@pages
def test_variables_that_a_command_sets_are_there(page):
    set_there = set(re.findall(r"-e ['\"]?(\w+)=", page.read_text()))
    assert sorted(set_there - KNOWN) == []
