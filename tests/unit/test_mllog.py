from __future__ import annotations

import json

import pytest
from mlperf_logging.compliance_checker import mlp_compliance, mlp_parser
from rackmark.formats.mllog import mllog_files
from unit.run_fixture import BATCH, STARTED, break_repeat, event, read_run, write_run

# What MLPerf asks of a submission and a run of ours is not: it has no division, which also sets the limit of init_stop.
OF_A_SUBMISSION = {"submission_org", "submission_division", "init_stop"}
UNKNOWN = {"train_samples", "eval_samples"}
IN_THE_NETWORK = {
    *(f"lowest_numerical_precision_in_{part}" for part in ("linear", "attn", "comm")),
    *(f"{kind}_parallelism" for kind in ("tensor", "pipeline", "context", "expert")),
    "config_filename",
}


@pytest.fixture
def run_dir(tmp_path):
    return write_run(tmp_path, {"1n1g": [0.5, 0.4], "2n2g": [0.5]}, settings={"image_size": 64, "seed": 1})


def files_of(run_dir):
    run = read_run(run_dir)
    return mllog_files(run.manifest, run.judged)


def evaluate(run_dir):
    """After step 4, and after the last."""
    path = run_dir / "cases/1n1g/r1/rank-0.log"
    facts = {"images": 100, "loss": 1.5}
    said = [
        event("eval", STARTED + 4.1, step=4, seconds=0.1, accuracy=0.25, **facts),
        event("eval", STARTED + 5.6, step=6, seconds=0.6, accuracy=0.75, **facts),
    ]
    path.write_text(path.read_text() + "\n".join(said) + "\n")


def records(content):
    return [json.loads(line[len(":::MLLOG ") :]) for line in content.decode().splitlines()]


def spans(content):
    """Key, second since the begin, samples trained by then."""
    return [
        (record["key"], (record["time_ms"] - STARTED * 1000) / 1000, record["metadata"].get("samples_count"))
        for record in records(content)
        if record["event_type"].startswith("INTERVAL") and not record["key"].startswith("init")
    ]


def complaints(folder, content, ruleset):
    """Keys that MLPerf's own checker complains about; its parser must read every line."""
    path = folder / "result_0.txt"
    path.write_bytes(content)
    lines, errors = mlp_parser.parse_file(str(path), ruleset=ruleset)
    assert (len(lines), errors) == (content.count(b"\n"), [])
    checker = mlp_compliance.make_checker("training", ruleset, quiet=False, werror=False)
    mlp_compliance.main(str(path), f"training_{ruleset}/common.yaml", checker)
    assert checker.not_overwritable == []
    return {*checker.overwritable, *checker.warnings}


def test_one_file_per_repeat(run_dir):
    assert list(files_of(run_dir)) == ["mllog/1n1g-r1.log", "mllog/1n1g-r2.log", "mllog/2n2g-r1.log"]


def test_what_was_run(run_dir):
    content = files_of(run_dir)["mllog/2n2g-r1.log"]
    values = {record["key"]: record["value"] for record in records(content) if record["value"] is not None}
    assert values == {
        "submission_benchmark": "resnet50",
        "submission_platform": "2x2xcpu",
        "cache_clear": False,
        "global_batch_size": 4 * BATCH,
        "micro_batch_size": BATCH,
        "seed": 1,
        "tracked_stats": {"throughput": read_run(run_dir).judged[2].result.throughput},
    }
    about = records(content)[0]["metadata"]
    assert (about["case"], about["precision"], about["simulated"]) == ("2n2g", "fp32", ["nodes"])


def test_when_it_trained(run_dir):
    """The steps of the fixture take 1.5, 1.5, 0.5, 0.5, 0.5 and 0.5 s."""
    assert spans(files_of(run_dir)["mllog/1n1g-r1.log"]) == [
        ("run_start", 0.0, None),
        ("block_start", 0.0, 0),
        ("block_stop", 5.0, 6 * BATCH),
        ("run_stop", 5.0, 6 * BATCH),
    ]


def test_evaluations_lie_between_blocks(run_dir):
    evaluate(run_dir)
    assert spans(files_of(run_dir)["mllog/1n1g-r1.log"]) == [
        ("run_start", 0.0, None),
        ("block_start", 0.0, 0),
        ("block_stop", 4.0, 4 * BATCH),
        ("eval_start", 4.0, 4 * BATCH),
        ("eval_stop", 4.1, 4 * BATCH),
        ("block_start", 4.1, 4 * BATCH),
        ("block_stop", 5.0, 6 * BATCH),
        ("eval_start", 5.0, 6 * BATCH),
        ("eval_stop", 5.6, 6 * BATCH),
        ("run_stop", 5.6, 6 * BATCH),
    ]


@pytest.mark.parametrize(
    ("ruleset", "more"),
    [
        ("4.0.0", {"submission_status"}),
        ("5.1.0", set()),
        ("6.0.0", set()),
        ("6.1.0", IN_THE_NETWORK),
    ],
)
def test_the_checker_of_mlperf_misses_only_what_makes_a_submission(run_dir, tmp_path, ruleset, more):
    expected = OF_A_SUBMISSION | UNKNOWN | more
    assert complaints(tmp_path, files_of(run_dir)["mllog/1n1g-r1.log"], ruleset) == expected | {"eval_accuracy"}
    evaluate(run_dir)
    assert complaints(tmp_path, files_of(run_dir)["mllog/1n1g-r1.log"], ruleset) == expected


def test_a_repeat_that_is_not_ok_is_aborted_and_has_no_throughput(run_dir):
    break_repeat(run_dir, "1n1g", 1)
    found = records(files_of(run_dir)["mllog/1n1g-r1.log"])
    assert found[-1]["metadata"] == {"samples_count": 6 * BATCH, "status": "aborted"}
    assert found[0]["metadata"]["state"] == "timeout" and found[0]["metadata"]["reason"]
    assert "tracked_stats" not in [record["key"] for record in found]


def test_a_repeat_without_a_step_has_no_run(run_dir):
    for path in (run_dir / "cases/1n1g/r1").glob("rank-*.log"):
        path.write_text(event("start", float("nan"), rank=0) + "\n")
    break_repeat(run_dir, "1n1g", 1)
    keys = [record["key"] for record in records(files_of(run_dir)["mllog/1n1g-r1.log"])]
    assert keys[0] == "submission_benchmark"
    assert not {"init_start", "run_start", "run_stop"} & set(keys)
