"""All repeats of a run have to have run the same code with the same software."""

from __future__ import annotations

import json

import pytest
from rackmark.node.code_digest import code_digest, listed_files, write_list
from unit.run_fixture import read_run, write_run

CODE = "a" * 64
SAME = {
    "code_digest": CODE,
    "python": "3.11.2",
    "package_version": "2.0",
    "packages_digest": "b" * 64,
    "image_digest": None,
}


def results(folder, facts, **manifest):
    """Of 1n1g's repeats and then of 2n1g's only one; `facts` are those of each."""
    write_run(folder, {"1n1g": [0.5] * (len(facts) - 1), "2n1g": [0.5]}, **manifest)
    places = [*(("1n1g", number) for number in range(1, len(facts))), ("2n1g", 1)]
    for (case, number), own in zip(places, facts):
        nodes = {"node1": own, **({"node2": own} if case == "2n1g" else {})}
        content = {"schema": "rackmark.preflight/1", "ok": True, "problems": [], "nodes": nodes}
        (folder / f"cases/{case}/r{number}/preflight.json").write_text(json.dumps(content))
    return [one.result for one in read_run(folder).judged]


def test_repeats_that_are_alike_are_ok(tmp_path):
    assert [one.state for one in results(tmp_path, [SAME] * 4, code_digest=CODE)] == ["ok"] * 4


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("package_version", "1.0", "It ran with pytorch of version 1.0, and most of the repeats ran with 2.0:"),
        ("python", "3.12.0", "It ran with Python 3.12.0, and most of the repeats ran with 3.11.2:"),
        ("packages_digest", "c" * 64, "It ran with the packages with the digest cccccccccccc"),
    ],
)
def test_a_repeat_with_other_software_than_most_is_no_number(tmp_path, name, value, words):
    first, *others = results(tmp_path, [{**SAME, name: value}, SAME, SAME, SAME])
    assert [one.state for one in others] == ["ok"] * 3
    assert (first.state, first.throughput, first.whole, first.loss) == ("rule_failed", None, None, None)
    assert (first.measures, first.missing) == ({"throughput": None}, {"throughput": "The repeat is rule_failed."})
    assert first.reason.startswith(words)
    assert "-e run_id=20261118-101500-resnet50" in first.reason


def test_the_code_is_what_the_run_was_begun_with_however_many_ran_another(tmp_path):
    edited = {**SAME, "code_digest": "f" * 64}
    states = [one.state for one in results(tmp_path, [SAME, edited, edited, edited], code_digest=CODE)]
    assert states == ["ok", "rule_failed", "rule_failed", "rule_failed"]


def test_only_repeats_that_are_ok_say_what_is_usual(tmp_path):
    old = {**SAME, "package_version": "1.0"}
    results(tmp_path, [old, old, old, SAME])
    for number in (1, 2, 3):
        (tmp_path / f"cases/1n1g/r{number}/rank-0.exit").write_text("1\n")
    assert [one.result.state for one in read_run(tmp_path).judged] == ["incomplete"] * 3 + ["ok"]


def test_runs_of_earlier_versions_say_less_and_are_judged_as_before(tmp_path):
    known = {"python": "3.11.2", "package_version": "2.0"}
    assert [one.state for one in results(tmp_path, [known, {}, {**known, "cpus": 2}])] == ["ok"] * 3
    (tmp_path / "cases/1n1g/r1/preflight.json").write_text('{"nodes": []')
    assert read_run(tmp_path).judged[0].result.state == "ok"


def test_what_differs_from_repeat_to_repeat_is_not_hidden_in_the_table_of_hosts(tmp_path):
    results(tmp_path, [{**SAME, "package_version": "1.0"}, SAME, {**SAME, "package_version": None}], hosts=[])
    node1, node2 = read_run(tmp_path).hosts
    assert node1["package_version"] == "1.0 and 2.0"
    assert node2["package_version"] is None


@pytest.fixture
def run_dir(tmp_path):
    for name in ("train.py", "lib/model.py"):
        path = tmp_path / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_a_file_that_changes_or_goes_changes_the_digest_and_so_does_a_new_module(run_dir):
    first = write_list(run_dir, ["train.py", "lib/model.py"])
    assert listed_files(run_dir) == ["code/lib/model.py", "code/train.py"]
    (run_dir / "code/lib/__pycache__").mkdir()
    (run_dir / "code/lib/__pycache__/model.pyc").write_text("")
    (run_dir / "code/notes.txt").write_text("")
    assert code_digest(run_dir) == first
    (run_dir / "code/lib/json.py").write_text("")
    assert code_digest(run_dir) != first, "a module that hides another"
    (run_dir / "code/lib/json.py").unlink()
    (run_dir / "code/lib/model.py").write_text("edited")
    edited = code_digest(run_dir)
    (run_dir / "code/lib/model.py").unlink()
    assert len({first, edited, code_digest(run_dir)}) == 3


def test_a_run_that_was_begun_before_there_was_a_list_has_no_digest(run_dir):
    assert (code_digest(run_dir), listed_files(run_dir)) == (None, [])


def test_a_list_leads_nowhere_else(run_dir):
    (run_dir / "code.sha256").write_text(f"{'0' * 64}  /etc/passwd\n{'0' * 64}  code/../../secret\nshort\n")
    assert listed_files(run_dir) == []
