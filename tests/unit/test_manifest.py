from __future__ import annotations

import json

import pytest
from rackmark.run.manifest import read_manifest
from unit.run_fixture import read_run, summary_of, write_run


def remove(manifest, key):
    del manifest[key]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda m: remove(m, "warmup"), "lacks warmup."),
        (lambda m: remove(m["cases"][0], "precision"), "Entry 1 of cases in"),
        (lambda m: m.update(steps="8"), "has steps='8', which is not of type int."),
        (lambda m: m.update(schema="other/1"), "does not have the schema 'rackmark.manifest/1'."),
        (lambda m: m.update(cases=[]), "lists no cases."),
        (lambda m: m["cases"].append(m["cases"][0]), "lists 1n1g more than once."),
        (lambda m: m["cases"][0].update(world_size=2), "contradicts itself: 1n1g is not 1 nodes"),
        (lambda m: m["cases"][0].update(repeats=0), "asks for 0 repeats of 1n1g"),
        (lambda m: m.update(rules=["fast"]), "'fast' is not a rule"),
        (lambda m: m.update(measures=["throughput"]), "has cases, measures, rules or a target of another form."),
        (lambda m: m.update(dialect="klingon"), "There is no log dialect 'klingon'"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused_with_the_reason(tmp_path, damage, sentence):
    path = write_run(tmp_path, {"1n1g": [0.5]}) / "manifest.json"
    manifest = json.loads(path.read_text())
    damage(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError) as error:
        summary_of(tmp_path)
    assert sentence in str(error.value)


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with pytest.raises(ValueError, match=r"is not the folder of a run: it has no manifest\.json\.$"):
        read_manifest(tmp_path)


def test_a_baseline_that_is_no_case_of_the_run_is_refused(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5]}, baseline="8n8g")
    with pytest.raises(ValueError, match="has the baseline 8n8g, which is none of its cases 1n1g"):
        read_manifest(tmp_path)


def test_hosts_are_those_of_the_manifest_or_else_those_the_jobs_saw(tmp_path):
    assert [host["name"] for host in read_run(write_run(tmp_path / "a", {"2n1g": [0.5]})).hosts] == ["node1", "node2"]
    run_dir = write_run(tmp_path / "b", {"1n1g": [0.5], "2n1g": [0.5]}, hosts=[])
    assert read_run(run_dir).hosts == []
    for case, nodes in (("1n1g", {"node10": {"cpus": 2, "devices": ["a", "a"]}}), ("2n1g", {"node9": {"cpus": 4}})):
        (run_dir / f"cases/{case}/r1/preflight.json").write_text(json.dumps({"ok": True, "nodes": nodes}))
    assert read_run(run_dir).hosts == [
        {"name": "node9", "cpus": 4},
        {"name": "node10", "cpus": 2, "devices": ["a", "a"]},
    ]
    (run_dir / "cases/1n1g/r1/preflight.json").write_text('{"nodes": ')
    assert [host["name"] for host in read_run(run_dir).hosts] == ["node9"]


def test_a_manifest_of_a_run_before_there_were_kinds_of_measurement(tmp_path):
    manifest = read_run(write_run(tmp_path, {"1n1g": [0.5]})).manifest
    assert (manifest.measure, manifest.ranks, manifest.meet, manifest.data_kind) == (
        "steps",
        "device",
        "torch",
        "imagefolder",
    )
    assert (manifest.rules, manifest.rules_profile, manifest.target) == ([], None, None)
    assert manifest.headline == "throughput"
    assert manifest.measures["throughput"].data() == {
        "unit": "samples/s",
        "better": "higher",
        "from": "throughput",
        "over": "first",
    }


def test_what_was_asked_of_a_run_is_read_from_its_manifest(tmp_path):
    bandwidth = {"unit": "GB/s", "better": "higher", "from": "stated.busbw", "over": "max", "means": "2 (n - 1) / n"}
    changes = {"measure": "stated", "ranks": "node", "meet": "none", "data_kind": "none", "headline": "busbw"}
    write_run(
        tmp_path,
        {"1n1g": [0.5]},
        measures={"busbw": bandwidth},
        rules=["busbw >= 20"],
        rules_profile="strict",
        target="loss <= 1",
        **changes,
    )
    manifest = read_manifest(tmp_path)
    assert {name: getattr(manifest, name) for name in changes} == changes
    assert manifest.measures["busbw"].data() == bandwidth
    assert ([str(rule) for rule in manifest.rules], manifest.rules_profile) == (["busbw >= 20"], "strict")
    assert str(manifest.target) == "loss <= 1"
