"""What pages lead to is there: files, headings, and the playbooks that they tell to type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"),  # tells of pages as they were
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "bench").glob("*.md"),
        *(ROOT / "roles").glob("*/README.md"),
    ]
)
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
    assert [name for name in named if not (ROOT / name).exists()] == []
