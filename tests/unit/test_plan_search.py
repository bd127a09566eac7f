"""Searches that last a set time: how long, by which rules, with which data."""

from __future__ import annotations

import copy

import pytest
from rackmark.node.job_record import JobRecord
from rackmark.run.asked import Asked
from rackmark.run.job_script import job_records, launch_of
from rackmark.run.run_plan import as_data
from rackmark.run.workload import workload_from
from unit.resnet_plan_fixture import plan

TIMES = {"repeats": 1, "minutes": 8, "stalled_after": 60}
SEARCH = {
    "name": "search",
    "title": "A search",
    "measure": "search",
    "ranks": "node",
    "meet": "none",
    "nodes": "independent",
    "result": "aiperf",
    "data": "images",
    "measures": {"score": {"unit": "GFLOPS", "better": "higher", "from": "stated.score"}},
    "rules": {"lab": ["score >= 1"], "long": ["hours >= 12"]},
    "frameworks": {"own": {"program": "s.py --data {data} --seconds {duration}", "dialect": "rackmark"}},
    "default_preset": "long",
    "presets": {
        "lab": {
            **TIMES,
            "duration": "150s",
            "data": {"package": "dataset-fashion-mnist", "folder": "/usr/share/f"},
            "settings": {"kernel_size": [3, 5]},
        },
        "long": {**TIMES, "minutes": 760, "duration": "12h"},
    },
}


def of(asked, **changes):
    content = copy.deepcopy(SEARCH)
    for path, value in changes.items():
        *folders, name = path.split("__")
        place = content
        for folder in folders:
            place = place[folder]
        place[name] = value
    return plan(asked, None, workload_from(content))


def words(made):
    return made.program_of(made.jobs[0], "/runs/r", "/env/python")


def record(made) -> JobRecord:
    launch = launch_of({"launcher": "slurm", "python": "/env/python"}, "/runs/r", "python3")
    return job_records(as_data(made), launch)[made.jobs[0].name]


def test_a_preset_says_how_long_by_which_rules_and_with_which_data():
    made = of(Asked(cases="2n1g", preset="lab"))
    assert (made.duration, made.minutes, made.rules_profile) == (150, 8, "lab")
    assert [str(rule) for rule in made.rules] == ["score >= 1"]
    assert words(made)[-4:] == ["--data", "/usr/share/f", "--seconds", "150.0"]
    assert "Each job searches for 2.5 min, and gives score" in made.sentence()
    told = record(made)
    assert (told.independent, told.duration, told.ranks) == (True, 150, "node")
    assert (told.dataset, told.data, told.data_package) == ("/usr/share/f", "images", "dataset-fashion-mnist")
    assert told.settings == {"kernel_size": [3, 5]}


def test_hours_move_the_time_limit_of_the_job_with_them():
    made = of(Asked(cases="2n1g", preset="lab", hours="0.5"))
    assert (made.duration, made.minutes) == (1800, 8 + 28)
    assert of(Asked(cases="2n1g", hours="6", data="/d")).minutes == 760 - 360
    assert of(Asked(cases="2n1g", hours="6", data="/d", minutes="400")).minutes == 400


def test_without_a_preset_it_is_the_workloads_own():
    made = of(Asked(cases="2n1g", data="/d"))
    assert (made.preset, made.rules_profile, made.data) == ("long", "long", "/d")
    assert record(made).data_package == ""


def test_other_data_needs_no_package():
    made = of(Asked(cases="2n1g", preset="lab", data="/d"))
    assert (made.data, made.data_package) == ("/d", "")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (Asked(cases="2n1g"), "The preset long has no data of its own: give -e data=<images>."),
        (Asked(cases="2n1g", preset="lab", hours="soon"), "hours=soon is no number of hours: give one above 0"),
        (Asked(cases="2n1g", preset="lab", hours="0"), "hours=0 is no number of hours"),
        (Asked(cases="2n1g", preset="lab", hours="nan"), "hours=nan is no number of hours"),
    ],
)
def test_what_cannot_be_is_refused(asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        of(asked)


def test_a_batch_that_the_preset_has_is_one_that_the_program_reads():
    made = of(Asked(cases="2n1g", preset="lab", batch="32"), presets__lab__batch=64)
    assert record(made).batch == 32
    with pytest.raises(ValueError, match="batch=32 changes nothing: the program of search is not told it"):
        of(Asked(cases="2n1g", preset="lab", batch="32"))


def test_hours_are_of_no_use_where_nothing_lasts_a_set_time():
    with pytest.raises(ValueError, match="hours=2 has no use: the preset lab has no duration"):
        of(Asked(cases="2n1g", preset="lab", hours="2"), presets__lab__duration=None)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ranks": "device"}, "nodes=independent takes ranks: node and meet: none"),
        ({"measure": "stated"}, "result=aiperf has no use with measure: stated"),
        ({"nodes": "alone"}, "nodes=alone is unknown"),
        ({"default_preset": "other"}, "default_preset=other is unknown"),
        (
            {"presets__lab__duration": "soon"},
            "presets.lab.duration: 'soon' is no length of time: write a number above 0",
        ),
        ({"presets__lab__duration": "0s"}, "presets.lab.duration: '0s' is no length of time"),
        ({"presets__lab__data": {"package": "p"}}, "presets.lab.data.folder is missing"),
    ],
)
def test_what_is_wrong_with_a_declaration(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        of(Asked(cases="2n1g", preset="lab"), **changes)
