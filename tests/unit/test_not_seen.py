"""What a comparison of runs cannot see: whether they differ in what they measured, or in when and where."""

from __future__ import annotations

import json

import pytest
from rackmark.compare.gate import Measured, gate
from rackmark.compare.not_seen import not_seen
from rackmark.compare.side_by_side import RunToCompare, compare
from rackmark.report.comparison_report import comparison_files, remarks
from unit.run_fixture import read_run, write_run
from unit.test_side_by_side import TEMPLATES

MORNING, NEXT_DAY = "2026-11-18T10:15:00Z", "2026-11-19T12:15:00Z"
ONE, OTHER = [{"name": "node1"}], [{"name": "node2"}]
REST = "their intervals cover the spread within each run, and a shift between runs (heat, load, other nodes) counts"


@pytest.mark.parametrize(
    ("started", "hosts", "known"),
    [
        ([MORNING, NEXT_DAY], [ONE, OTHER], " (26 h apart, on different nodes)"),
        ([MORNING, NEXT_DAY], [ONE, ONE], " (26 h apart)"),
        ([NEXT_DAY, "2026-11-19T12:25:00+00:00", MORNING], [ONE, ONE, ONE], " (26.17 h apart)"),
        ([MORNING, MORNING], [ONE, OTHER], " (on different nodes)"),
        ([MORNING, MORNING], [ONE, []], ""),
        ([MORNING, None], [ONE, ONE], ""),
        ([MORNING, "yesterday"], [ONE, ONE], ""),
    ],
)
def test_separate_runs_say_what_their_comparison_cannot_see(started, hosts, known):
    sentence = not_seen([{"started": moment, "cases": []} for moment in started], hosts)
    assert sentence.startswith(f"These are separate runs{known}: {REST}")
    assert sentence.count(". ") == 0


@pytest.fixture
def two_days(tmp_path):
    cases = {"1n1g": [0.50, 0.51, 0.49]}
    return [
        read_run(write_run(tmp_path / name, cases, run_id=name, started=started, hosts=hosts))
        for name, started, hosts in (("a", MORNING, ONE), ("b", NEXT_DAY, OTHER))
    ]


def test_the_gate_says_it_with_its_verdicts_and_to_ci(two_days):
    result = gate(*(Measured(run.summary, run.manifest, run.hosts) for run in two_days), 0.03)
    assert any(remark.startswith("These are separate runs (26 h apart, on diff") for remark in result["remarks"])
    bare = gate(*(Measured(run.summary, None, ()) for run in two_days), 0.03)
    assert any(remark.startswith("These are separate runs (26 h apart)") for remark in bare["remarks"])


def test_a_comparison_says_it_on_the_terminal_and_in_every_file(two_days):
    runs = [RunToCompare(run.manifest, run.summary, run.hosts) for run in two_days]
    comparison = compare(runs)
    sentence = comparison["not_seen"]
    assert sentence.startswith("These are separate runs (26 h apart, on different nodes)")
    assert sentence in remarks(comparison, runs)
    files = comparison_files(comparison, runs, TEMPLATES)
    assert json.loads(files["comparison.json"])["not_seen"] == sentence
    assert sentence in files["comparison.md"].decode() and sentence in files["comparison.html"].decode()


def with_repeats(*begins):
    """A run with one case; None is a repeat that is not ok."""
    runs = [{"state": "ok" if begun else "failed", "began": begun} for begun in begins]
    return {"started": MORNING, "cases": [{"case": "1n1g", "runs": runs}]}


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([with_repeats(1, 3, 5), with_repeats(2, 4, 6)], "alternated: what"),
        ([with_repeats(1, 4, 5), with_repeats(2, 3, 6)], "separate"),
        ([with_repeats(1, 4, 7), with_repeats(2, 5, 8), with_repeats(3, 6, 9)], "alternated: what"),
        ([with_repeats(1, 3, 5), with_repeats(2, None, 6)], "alternated: what"),
        ([with_repeats(1, 2, 3), with_repeats(4, 5, 6)], "separate"),
        ([with_repeats(1, 2), with_repeats(3)], "separate"),
    ],
)
def test_runs_whose_repeats_took_turns_are_told_from_separate_ones(runs, said):
    assert said in not_seen(runs, [ONE] * len(runs))


def test_repeats_that_took_turns_on_different_nodes_say_so():
    sentence = not_seen([with_repeats(1, 3), with_repeats(2, 4)], [ONE, OTHER])
    assert sentence.startswith("The repeats of these runs alternated, though on different nodes:")


def test_summaries_of_earlier_versions_do_not_say_when_a_repeat_began():
    runs = [{"started": MORNING, "cases": [{"case": "1n1g", "runs": [{"state": "ok"}] * 3}]}] * 2
    assert not_seen(runs, [ONE, ONE]).startswith("These are separate runs")


def test_runs_without_a_case_in_common_have_nothing_to_see(tmp_path, two_days):
    other = read_run(write_run(tmp_path / "c", {"2n1g": [0.5]}, run_id="c"))
    runs = [RunToCompare(run.manifest, run.summary, run.hosts) for run in (two_days[0], other)]
    assert compare(runs)["not_seen"] is None
    assert not any("separate runs" in remark for remark in remarks(compare(runs), runs))
