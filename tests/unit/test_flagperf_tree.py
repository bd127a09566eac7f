"""FlagPerf's tree of results, of a run that its own program did."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest
from rackmark.dialects.flagperf_tree import place
from rackmark.formats.flagperf_tree import flagperf_tree, keep_links
from rackmark.run.manifest import Manifest, read_spec
from unit.run_fixture import manifest_of

CASE = "tiny:pytorch_1.8:A100:2:2:1"
HOSTS = ("node1", "node2")
HEAD = {"schema": "rackmark.telemetry/1", "memory_mb": 1000}
COLUMNS = ["utilisation", "memory", "memory_mb", "temperature", "power"]
SAMPLES = [
    {"ms": 0, "cpu": None, "memory_mb": None, "host_w": None, "devices": None},
    {"ms": 1500, "cpu": 53.0, "memory_mb": 250, "host_w": 312.4, "devices": [[97, 10.0, 4053, 34, 61.2], [None] * 5]},
]


def run(
    tmp_path,
    head=None,
    samples=SAMPLES,
    framework="pytorch",
    name="tiny:pytorch_1.8:A100",
    vendor="nvidia",
    hosts=HOSTS,
):
    repeat = tmp_path / "cases/2n2g/r1"
    repeat.mkdir(parents=True)
    (repeat / "end.json").write_text(json.dumps({"nodes": hosts}))
    for rank in range(4):
        (repeat / f"rank-{rank}.log").write_text(f"of {rank}\n")
    lines = [json.dumps(entry) for entry in ({**HEAD, **(head or {})}, *samples)]
    (repeat / "telemetry-node1.jsonl").write_text("\n".join([*lines, '{"ms": 17']))
    return manifest(framework, {"flagperf": name, "vendor": vendor})


def manifest(framework, settings):
    return read_spec(Manifest, manifest_of({"2n2g": 1}, framework=framework, settings=settings), "manifest.json")


def test_logs_of_ranks_lie_where_flagperf_has_them_and_are_the_same_files(tmp_path):
    tree = flagperf_tree(tmp_path, run(tmp_path))
    keep_links(tmp_path, tree.links)
    for rank, node in enumerate(("node1_noderank0",) * 2 + ("node2_noderank1",) * 2):
        log = tmp_path / f"flagperf/{CASE}/round1/{node}/rank{rank}.out.log"
        assert log.samefile(tmp_path / f"cases/2n2g/r1/rank-{rank}.log")
        assert place(PurePath(log))["rank"] == rank
    keep_links(tmp_path, tree.links)  # again, over those that are there


def test_telemetry_has_the_forms_of_flagperfs_monitors(tmp_path):
    head = {"device_columns": COLUMNS, "devices": [{"number": 0, "memory_mb": 40536}, {"number": 1}]}
    files = flagperf_tree(tmp_path, run(tmp_path, head)).files
    folder = f"flagperf/{CASE}/round1/node1_noderank0"
    assert {path.removeprefix(f"{folder}/"): text.decode() for path, text in files.items()} == {
        "cpu_monitor.log": "1970-01-01-00:00:01\t0.53\n",
        "mem_monitor.log": "1970-01-01-00:00:01\t0.25\n",
        "pwr_monitor.log": "1970-01-01-00:00:01\t312\n",
        "nvidia_monitor.log": "1970-01-01-00:00:01\n34C 61W 4053MiB 40536MiB 97%\nN/A N/A N/A N/A N/A\n\n",
    }


def test_what_was_not_measured_has_no_file(tmp_path):
    samples = [{**sample, "host_w": None, "devices": None} for sample in SAMPLES]
    files = flagperf_tree(tmp_path, run(tmp_path, samples=samples)).files
    assert sorted(PurePath(path).name for path in files) == ["cpu_monitor.log", "mem_monitor.log"]


def test_a_process_of_a_node_has_the_name_that_its_launcher_gives(tmp_path):
    of_nodes = run(tmp_path, framework="megatron", name="tiny:megatron:A100")
    names = sorted(flagperf_tree(tmp_path, of_nodes).links)
    folder = "flagperf/tiny:megatron:A100:2:2:1/round1"
    assert names == [f"{folder}/node1_noderank0/rank0.log.txt", f"{folder}/node2_noderank1/rank0.log.txt"]


def test_other_runs_have_no_such_tree_and_a_repeat_that_never_began_has_none(tmp_path):
    driven = run(tmp_path)
    other = manifest("pytorch", {"image_size": 64})
    assert flagperf_tree(tmp_path, other) == ({}, {})
    (tmp_path / "cases/2n2g/r1/end.json").unlink()
    assert flagperf_tree(tmp_path, driven) == ({}, {})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../../../evil:pytorch:A100"},
        {"name": "tiny:pytorch:../../A100"},
        {"vendor": "../../../evil"},
        {"framework": "evil"},
        {"hosts": ["../../../evil", "node2\0"]},
        {"hosts": 7},
    ],
)
def test_what_a_user_may_have_written_names_nothing_outside_of_the_run(tmp_path, changes):
    """Records come from a folder in which the benchmark user writes."""
    manifest_of_run = run(tmp_path, **changes)
    tree = flagperf_tree(tmp_path, manifest_of_run)
    assert not [path for path in (*tree.files, *tree.links) if "evil" in path or "\0" in path]


def test_telemetry_of_another_form_is_passed_over(tmp_path):
    odd = [
        7,
        {"ms": 1e300, "cpu": 5},
        {"ms": 1, "cpu": "x"},
        {"ms": 2000, "cpu": 50.0, "devices": [5, None], "host_w": []},
    ]
    files = flagperf_tree(tmp_path, run(tmp_path, head={"memory_mb": "x", "devices": [3]}, samples=odd)).files
    (text,) = files.values()
    assert text == b"1970-01-01-00:00:02\t0.5\n"
