from __future__ import annotations

import pytest
from rackmark.node.repeat_folder import set_aside
from rackmark.run.run_folder import known_run, refuse_other_conditions, refuse_to_resume, run_id_for, with_limits
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
        for name in ("job.sh", "record.json", ".end.json"):
            (tmp_path / name).write_text(name)
        (tmp_path / "rank-0.log").write_text(attempt)
        set_aside(tmp_path)
    stays = [".end.json", "attempt-1", "attempt-2", "job.sh", "record.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == stays
    assert (tmp_path / "attempt-1/rank-0.log").read_text() == "first"
    set_aside(tmp_path)
    assert not (tmp_path / "attempt-3").exists()


def test_a_run_that_does_not_exist_is_refused_with_the_newest(tmp_path):
    write_run(tmp_path / "20261118-101500-resnet50", {"1n1g": [0.1]})
    with pytest.raises(ValueError, match=r"run_id=x is not a run in .*: the newest are 20261118-101500-resnet50\."):
        known_run(tmp_path, "x")


@pytest.mark.parametrize(
    ("asked", "workload", "launcher", "words"),
    [
        ({"steps": "7"}, "resnet50", "slurm", r"resumes the run as it was planned: leave out steps=7\."),
        ({"preset": "full"}, "resnet50", "slurm", r"resumes the run as it was planned: leave out preset=full\."),
        (
            {},
            "primes",
            "slurm",
            r"is a run of resnet50, .* for primes: .* began it: ansible-playbook -e a=/x run_resnet.yml -e run_id=r$",
        ),
        ({"minutes": "59"}, "", "slurm", r"minutes=59 is less than the 60 of run_id=r: a limit can be raised\."),
        ({}, "resnet50", "local", r"was begun with launcher=slurm: add -e launcher=slurm\."),
    ],
)
def test_a_run_is_resumed_as_it_was_begun(asked, workload, launcher, words):
    limits = {"minutes": 60, "stalled_after": 900}
    begun = {"workload": "resnet50", "launcher": "slurm", "asked": {"steps": "5"}, "preset": "lab"}
    manifest = {"run_id": "r", "command": "ansible-playbook -e a=/x run_resnet.yml", **begun, **limits}
    refuse_to_resume(manifest, {"steps": "5", "minutes": "", "preset": "lab"}, "resnet50", "slurm")
    refuse_to_resume(manifest, {"minutes": "240"}, "", "slurm")
    assert with_limits(manifest, {"minutes": "240", "steps": "5"}) == {**manifest, "minutes": 240}
    with pytest.raises(ValueError, match=words):
        refuse_to_resume(manifest, asked, workload, launcher)


def test_what_is_given_with_a_run_that_is_resumed_is_used_or_refused():
    begun = {"partition": "gold", "flags": ["--fast"], "threads": 0}
    manifest = {"run_id": "r", "conditions": begun}
    defaults = {"partition": "", "flags": [], "threads": 0}
    for now in (begun, defaults, {**begun, "new": 1}):
        refuse_other_conditions(manifest, now, defaults)
    refuse_other_conditions({"run_id": "r"}, {"partition": "silver"}, defaults)  # begun by an older version
    words = r"run_id=r resumes the run as it was begun, without partition=silver, flags=\[\"--slow\"\]: leave that out"
    with pytest.raises(ValueError, match=words):
        refuse_other_conditions(manifest, {**begun, "partition": "silver", "flags": ["--slow"]}, defaults)
