from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rackmark.formats.prometheus_text import prometheus_text
from unit.run_fixture import break_repeat, summary_of, write_run


def samples_of(summary):
    """Value by name and the labels that single a sample out."""
    families = list(text_string_to_metric_families(prometheus_text(summary).decode()))
    assert all(family.documentation and family.type == "gauge" for family in families)
    samples = [sample for family in families for sample in family.samples]
    assert not [sample for sample in samples if {"quantile", "le"} & set(sample.labels)]  # of other kinds of metrics
    found = {}
    for sample in samples:
        telling = tuple(
            sample.labels[name] for name in ("case", "state", "bound", "percentile", "what") if name in sample.labels
        )
        found[(sample.name.removeprefix("rackmark_benchmark_"), *telling)] = sample
    return found


def test_the_numbers_are_those_of_the_summary(tmp_path):
    summary = summary_of(write_run(tmp_path, {"1n1g": [0.50, 0.40], "2n1g": [0.50, 0.45]}))
    two = summary["cases"][1]
    samples = samples_of(summary)
    assert samples["throughput", "2n1g"].value == two["median"]
    assert samples["throughput", "2n1g"].labels["unit"] == "samples/s"
    assert samples["throughput_whole", "2n1g"].value == two["whole_median"]
    assert samples["throughput_ci95", "2n1g", "high"].value == two["ci95"][1]
    assert samples["speedup", "2n1g"].labels["baseline"] == "1n1g"
    assert samples["efficiency_ratio_ci95", "2n1g", "low"].value == two["efficiency_ci95"][0]
    assert samples["step_seconds", "2n1g", "95"].value == two["step_seconds_p95"]
    assert samples["rank_spread_ratio", "2n1g"].value == two["rank_spread"]
    assert samples["last_step_timestamp_seconds",].value == 1_794_996_905
    begun = datetime.fromisoformat(summary["started"].replace("Z", "+00:00"))
    assert samples["started_timestamp_seconds",].value == begun.timestamp()
    assert samples["simulated", "nodes"].value == 1


def test_a_number_that_is_missing_has_no_sample_and_a_failure_is_counted(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5, 0.4], "2n1g": [0.5, 0.4]})
    for repeat in (1, 2):
        break_repeat(tmp_path, "2n1g", repeat)
    samples = samples_of(summary_of(tmp_path))
    assert {name for name, *labels in samples if "2n1g" in labels} == {"repeats"}
    assert samples["repeats", "2n1g", "ok"].value == 0
    assert samples["repeats", "2n1g", "timeout"].value == 2
    states = {name: samples["state", name].value for name in ("ok", "partial", "failed")}
    assert states == {"ok": 0, "partial": 1, "failed": 0}
    assert ("accuracy_ratio", "1n1g") not in samples


def test_every_state_that_a_repeat_can_have_is_told_so_that_none_lives_on_from_before_a_run_was_taken_up(tmp_path):
    table = (Path(__file__).parents[2] / "docs/results.md").read_text().split("## States")[1].split("\n## ")[0]
    states = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    samples = samples_of(summary_of(write_run(tmp_path, {"1n1g": [0.5]})))
    told = {key[2]: sample.value for key, sample in samples.items() if key[0] == "repeats"}
    assert told == {**dict.fromkeys(states, 0), "ok": 1}


@pytest.mark.parametrize("run_id", ['a "b" \\ c\nd', "ünï"])
def test_labels_may_hold_any_text(tmp_path, run_id):
    samples = samples_of(summary_of(write_run(tmp_path, {"1n1g": [0.5]}, run_id=run_id)))
    assert {sample.labels["run_id"] for sample in samples.values()} == {run_id}
