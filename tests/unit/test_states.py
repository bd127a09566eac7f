"""The states of a repeat are said in one table, in the docs as in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rackmark.judging.evidence import cause_line, decisive_line
from rackmark.node.states import BY_NAME, STATES, exit_status_of
from rackmark.run.job_state import ENDED, GIVEN_UP

ROOT = Path(__file__).parents[2]


def rows(page: str, heading: str) -> list[list[str]]:
    section = (ROOT / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_docs_have_the_table():
    own = [
        [state.name, state.meaning, state.to_do, state.fault or "", str(state.exit_status or "")] for state in STATES
    ]
    assert rows("docs/results.md", "States") == own


def test_the_engine_says_those_that_have_a_status_in_the_table():
    """The others logs tell, or Slurm."""
    engine = (ROOT / "roles/benchmark/files/engine").glob("*.py")
    said = re.findall(r'Ending\.of\("(\w+)"', "\n".join(path.read_text() for path in engine))
    assert set(said) == {state.name for state in STATES if state.exit_status}


def test_no_two_states_share_a_status():
    statuses = [state.exit_status for state in STATES if state.exit_status is not None]
    assert len(set(statuses)) == len(statuses)
    with pytest.raises(ValueError, match="by itself as oom"):
        exit_status_of("oom")


@pytest.mark.parametrize("state", [*BY_NAME, "failed"])
def test_what_the_engine_says_of_the_end_is_not_quoted_as_its_cause(state):
    said = f"rackmark: {state}: The ranks fell silent or ended, and node2 no longer answers: Connection error."
    assert decisive_line([f"{said}\n"]) is None
    assert cause_line([f"RuntimeError: the mast broke\n{said}\n"]) == "RuntimeError: the mast broke"


def test_what_ends_a_job_from_outside_is_a_state_of_the_table():
    assert {state for state, _ in ENDED.values()} | set(GIVEN_UP.values()) <= set(BY_NAME)
