from __future__ import annotations

import os

import pytest
from rackmark.run.collected_runs import find_run, find_runs


@pytest.fixture
def runs(tmp_path):
    for age, name in enumerate("gfedcba"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
        os.utime(tmp_path / name / "manifest.json", (1e9 - age, 1e9 - age))
    (tmp_path / "latest").symlink_to("g")
    (tmp_path / "gone").symlink_to("removed")
    return tmp_path


def test_runs_are_found_in_the_order_asked_for_and_links_followed(runs):
    assert find_runs(runs, "c, latest") == [runs / "c", runs / "g"]
    assert find_run(runs / "latest") == runs / "g"


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("a,z", "There is no run z in {runs}. The newest are g, f, e, d, c."),
        ("gone", "There is no run gone in {runs}. The newest are g, f, e, d, c."),
        ("g,latest", "run_ids=g,latest names the run g twice: it takes different runs."),
        ("../a,b", "'../a' is not the name of a run: give the name of a folder in {runs}."),
        (",", "run_ids names no run. The newest are g, f, e, d, c."),
    ],
)
def test_a_run_that_cannot_be_found_is_explained(runs, names, sentence):
    with pytest.raises(ValueError) as error:
        find_runs(runs, names)
    assert str(error.value) == sentence.format(runs=runs)


def test_where_there_are_no_runs_it_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"There is no run latest in .*\. There are no runs there yet\.$"):
        find_run(tmp_path / "latest")
