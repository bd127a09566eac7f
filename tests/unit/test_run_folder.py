from __future__ import annotations

import pytest
from rackmark.run.run_folder import known_run, run_id_for, set_aside
from unit.run_fixture import write_run


def test_runs_begun_in_the_same_second_have_different_names(tmp_path):
    names = {run_id_for("resnet50", tmp_path, reserve=True) for _ in range(3)}
    assert len(names) == 3
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_plan_alone_leaves_no_folder(tmp_path):
    run_id_for("resnet50", tmp_path / "runs", reserve=False)
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_attempt_is_kept_and_out_of_the_way(tmp_path):
    for attempt in ("first", "second"):
        (tmp_path / "job.sh").write_text("script")
        (tmp_path / "rank-0.log").write_text(attempt)
        set_aside(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempt-1", "attempt-2", "job.sh"]
    assert (tmp_path / "attempt-1/rank-0.log").read_text() == "first"
    set_aside(tmp_path)
    assert not (tmp_path / "attempt-3").exists()


def test_a_run_that_does_not_exist_is_refused_with_the_newest(tmp_path):
    write_run(tmp_path / "20261118-101500-resnet50", {"1n1g": [0.1]})
    with pytest.raises(ValueError, match=r"run_id=x is not a run in .*: the newest are 20261118-101500-resnet50\."):
        known_run(tmp_path, "x")
