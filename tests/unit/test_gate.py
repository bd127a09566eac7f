"""The regression gate on the summaries of two runs."""

from __future__ import annotations

import json

import pytest
from rackmark.compare.gate import Measured, gate, in_words, parse_tolerance, table, verdict
from rackmark.compare.results import find_results, read_results
from rackmark.files import write_files
from rackmark.formats.junit import junit_of_gate
from rackmark.formats.summary_files import summary_files
from unit.run_fixture import break_repeat, read_run, write_run

SPREAD = (1.0, 1.002, 0.998, 1.001, 0.999)


def repeats(seconds, count=5):
    return [seconds * factor for factor in SPREAD[:count]]


@pytest.fixture
def measured(tmp_path):
    """A run as its files tell it, to anyone who has them."""

    def measured(name, cases, broken=(), **manifest):
        folder = write_run(tmp_path / "runs" / name, cases, run_id=name, **manifest)
        for case, repeat in broken:
            break_repeat(folder, case, repeat)
        run = read_run(folder)
        write_files(folder, summary_files(run.summary, run.judged))
        return Measured(*read_results(folder))

    return measured


def only(result):
    (case,) = result["cases"]
    return case


@pytest.mark.parametrize(
    ("tolerance", "fraction"), [("3%", 0.03), ("3 %", 0.03), (" 2.5% ", 0.025), ("0%", 0.0), ("99%", 0.99)]
)
def test_a_tolerance_is_a_percentage(tolerance, fraction):
    assert parse_tolerance(tolerance) == pytest.approx(fraction)


@pytest.mark.parametrize("tolerance", ["0.03", "3", "-3%", "100%", "nan%", "1e1%", "%", "three%", "3%%"])
def test_anything_else_is_refused_and_the_fix_named(tolerance):
    with pytest.raises(ValueError, match=r"tolerance=.* is not a percentage .* as in tolerance=3%\."):
        parse_tolerance(tolerance)


@pytest.mark.parametrize(
    ("slower", "word"),
    [(1.00, "passed"), (1.02, "passed"), (1.05, "regression"), (0.8, "passed"), (0.18, "implausible")],
)
def test_more_than_the_tolerance_below_the_baseline_is_a_regression(measured, slower, word):
    result = gate(measured("old", {"1n1g": repeats(0.5)}), measured("new", {"1n1g": repeats(0.5 * slower)}), 0.03)
    case = only(result)
    assert (case["verdict"], result["passed"]) == (word, word == "passed")
    assert case["difference"] == pytest.approx(1 / slower - 1)
    low, high = case["difference_ci95"]
    assert low < case["difference"] < high


def test_what_is_too_good_is_asked_about_and_can_be_accepted(measured):
    old, new = measured("old", {"1n1g": repeats(0.5)}), measured("new", {"1n1g": repeats(0.5 / 5.5)})
    result = gate(old, new, 0.03)
    assert verdict(result) == "Failed: new against old with a tolerance of 3 %: 1 implausible."
    assert only(result)["reason"].startswith(
        "The median is 5.5 times as good as the baseline's, and more than 1.3 times is not believed unseen:"
    )
    assert "-e baseline=" in only(result)["reason"]
    assert gate(new, new, 0.03)["passed"]
    assert gate(old, measured("other", {"1n1g": repeats(0.3)}), 0.7)[
        "passed"
    ]  # with such a tolerance it is no surprise


def test_a_difference_of_just_the_tolerance_is_within_it(measured):
    base, run = measured("old", {"1n1g": [0.97]}), measured("new", {"1n1g": [1.0]})
    assert only(gate(base, run, 0.03))["verdict"] == "passed"
    assert only(gate(base, run, 0.0299))["verdict"] == "regression"


def test_what_the_interval_says_is_added_and_does_not_decide(measured):
    wide = [0.5, 0.7, 0.4, 0.6, 0.45]
    base = measured("old", {"1n1g": wide})
    worse = only(gate(base, measured("new", {"1n1g": [each * 1.1 for each in wide]}), 0.03))
    assert worse["difference_ci95"][0] < 0 < worse["difference_ci95"][1]
    assert worse["verdict"] == "regression"
    assert worse["reason"] == (
        "The median is 9.09 % below the baseline's, and the tolerance is 3 %."
        " The interval holds 0: it may be chance, and more repeats would tell."
    )
    better = only(gate(base, measured("other", {"1n1g": wide}), 0.03))
    assert better["verdict"] == "passed"
    assert better["reason"] == "The interval reaches beyond the tolerance: more repeats would tell for sure."
    alone = only(gate(base, measured("single", {"1n1g": [0.5]}), 0.03))
    assert alone["difference_ci95"] is None
    assert alone["reason"].endswith("the medians alone decided.")


def test_a_case_without_a_number_never_passes(measured):
    cases = {"1n1g": [0.5], "2n1g": [0.5], "4n1g": [0.5], "1n4g": [0.5]}
    base = measured("old", cases, broken=[("4n1g", 1)])
    run = measured("new", {name: cases[name] for name in ("1n1g", "2n1g", "4n1g")} | {"8n1g": [0.5]}, [("2n1g", 1)])
    result = gate(base, run, 0.03)
    assert {case["case"]: case["verdict"] for case in result["cases"]} == {
        "1n1g": "passed",
        "2n1g": "missing",
        "4n1g": "undecided",
        "1n4g": "missing",
    }
    assert not result["passed"]
    assert result["problems"] == ["The run is not ok. Partial: 3 of 4 repeats are ok, the others are not (1 timeout)."]
    assert "Not in the baseline, and so not judged: 8n1g." in result["remarks"]
    assert verdict(result) == (
        "Failed: new against old with a tolerance of 3 %: 1 passed, 2 missing and 1 undecided."
        " The run as a whole cannot pass."
    )


def test_a_run_that_is_not_complete_fails_though_every_case_has_a_number(measured):
    base = measured("old", {"1n1g": repeats(0.5)}, broken=[("1n1g", 2)])
    run = measured("new", {"1n1g": repeats(0.5)}, broken=[("1n1g", 3)])
    result = gate(base, run, 0.03)
    assert only(result)["verdict"] == "passed" and not result["passed"]
    assert result["remarks"][0].startswith("The baseline is not ok. Partial: 4 of 5 repeats are ok")


@pytest.mark.parametrize(
    ("changed", "difference"), [({"settings": {"image_size": 32}}, "image size"), ({"data": "ImageFolder"}, "data")]
)
def test_what_did_not_measure_the_same_cannot_pass(measured, changed, difference):
    result = gate(measured("old", {"1n1g": [0.5]}), measured("new", {"1n1g": [0.4]}, **changed), 0.03)
    assert not result["passed"]
    assert result["problems"][0].startswith(f"These runs did not measure the same thing: they differ in {difference} (")


def test_another_workload_cannot_pass_even_without_manifests(measured):
    base, run = measured("old", {"1n1g": [0.5]}), measured("new", {"1n1g": [0.5]}, workload="bert")
    result = gate(base._replace(manifest=None), run, 0.03)
    assert result["problems"] == ["The run trained bert, the baseline resnet50."] and not result["passed"]


def test_another_batch_is_no_progress_even_without_manifests(measured):
    base, run = measured("old", {"1n1g": [0.5]}), measured("new", {"1n1g": [0.4]})
    run.summary["cases"][0]["batch_per_device"] = 64
    result = gate(base._replace(manifest=None), run, 0.03)
    assert only(result)["verdict"] == "undecided"
    assert only(result)["reason"] == "The run measured something else: batch per device 64 instead of 8."
    assert "Without manifest.json in old settings and data may differ." in result["remarks"]


def test_software_that_differs_is_said_and_does_not_fail(measured):
    result = gate(measured("old", {"1n1g": [0.5]}), measured("new", {"1n1g": [0.5]}, software={"PyTorch": "2.0"}), 0.03)
    assert result["passed"]
    assert any(remark.startswith("They also differ in software: PyTorch") for remark in result["remarks"])


def test_of_times_to_train_less_is_better(measured):
    def trained(name, seconds):
        run = measured(name, {"1n1g": [0.5] * len(seconds)})
        for repeat, took in zip(run.summary["cases"][0]["runs"], seconds):
            repeat.update(throughput=None, measures={"throughput": None}, time_to_train_s=took)
        return run

    base = trained("old", [600.0, 601.0, 599.0])
    slower, faster = (
        gate(base, trained("slow", [650.0, 651.0]), 0.03),
        gate(base, trained("fast", [500.0, 501.0]), 0.03),
    )
    assert only(slower)["verdict"] == "regression" and only(faster)["verdict"] == "passed"
    assert only(slower)["difference"] == pytest.approx(650.5 / 600 - 1)
    assert in_words(only(faster)).startswith("1n1g is 500.5 s to train, in the baseline 600.0: -16.6 % (")
    assert "Of s to train less is better." in slower["remarks"]


def test_the_table_has_a_line_per_case_and_a_sentence_where_one_is_needed(measured):
    base = measured("old", {"1n1g": repeats(0.5), "2n1g": repeats(0.5)})
    lines = table(gate(base, measured("new", {"1n1g": repeats(0.5), "2n1g": repeats(0.6)}), 0.03))
    assert lines[0].split()[:4] == ["case", "baseline", "run", "unit"]
    assert lines[1].split()[:4] == ["1n1g", "16.00", "16.00", "samples/s"] and lines[1].endswith("passed")
    assert lines[2].endswith("regression")
    assert lines[3:] == [
        "",
        "2n1g regression: The median is 16.67 % below the baseline's, and the tolerance is 3 %.",
    ]


def test_different_units_and_an_empty_baseline_are_refused(measured):
    base, run = measured("old", {"1n1g": [0.5]}), measured("new", {"1n1g": [0.5]}, unit="tokens/s")
    with pytest.raises(ValueError, match="old measured samples/s and new tokens/s: only the same unit"):
        gate(base, run, 0.03)
    base.summary["cases"] = []
    with pytest.raises(ValueError, match="old has no cases"):
        gate(base, base, 0.03)


def test_the_gate_is_json_and_junit_alike(measured):
    result = gate(measured("old", {"1n1g": [0.5]}), measured("new", {"1n1g": [0.6]}), 0.03)
    assert json.loads(json.dumps(result))["cases"][0]["verdict"] == "regression"
    assert (
        b'<failure type="regression" message="1n1g is 13.33 samples/s, in the baseline 16.00: -16.7 %.">The median'
        in (junit_of_gate(result))
    )


@pytest.fixture
def folders(measured, tmp_path):
    measured("old", {"1n1g": [0.5]})
    (tmp_path / "runs/latest").symlink_to("old")
    write_run(tmp_path / "runs/unjudged", {"1n1g": [0.5]})
    write_run(tmp_path / "analyses/dlperf", {"1n1g": [0.5]})
    for name in ("dlperf", "old"):
        (tmp_path / f"analyses/{name}").mkdir(exist_ok=True)
        (tmp_path / f"analyses/{name}/summary.json").write_text("{}")
    return [tmp_path / "runs", tmp_path / "analyses"]


def test_results_are_found_by_name_or_path(folders, tmp_path):
    assert find_results("latest", folders, tmp_path) == tmp_path / "runs/old"
    assert find_results("dlperf", folders, tmp_path) == tmp_path / "analyses/dlperf"
    assert find_results("analyses/old", folders, tmp_path) == tmp_path / "analyses/old"
    assert find_results(f"{tmp_path}/runs/old/", folders, tmp_path) == tmp_path / "runs/old"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none", "There are no results none in {0}/runs or {0}/analyses. The newest are "),
        ("old", "old is in {0}/runs and in {0}/analyses: give the path of one."),
        ("unjudged", "{0}/runs/unjudged has no summary.json: write one with playbooks/report.yml -e run_ids=unjudged"),
        ("./none", "There is no folder {0}/none: give one that holds a summary.json."),
    ],
)
def test_results_that_cannot_be_found_are_explained(folders, tmp_path, name, sentence):
    with pytest.raises(ValueError) as error:
        find_results(name, folders, tmp_path)
    assert str(error.value).startswith(sentence.format(tmp_path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not valid JSON: "),
        ("[" * 100_000, "is not valid JSON: "),
        ("[]", "does not have the schema 'rackmark.summary/1'."),
        ('{"schema": "rackmark.summary/1"}', "lacks run_id, workload, unit, state, states, cases."),
    ],
)
def test_a_summary_that_is_none_is_refused(tmp_path, text, sentence):
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(ValueError) as error:
        read_results(tmp_path)
    assert f"{tmp_path}/summary.json {sentence}" in str(error.value)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda content: content["cases"].append(content["cases"][0]), "lists 1n1g more than once."),
        (lambda content: content["cases"].append(3), "is 3, which is not an object."),
        (lambda content: content["cases"][0].pop("median"), "lacks median."),
        (lambda content: content["cases"][0].update(runs=3), "has runs=3, which is not of the right type."),
        (lambda content: content["cases"][0].update(runs=[None]), "is None, which is not an object."),
        (lambda content: content["cases"][0]["runs"][0].update(throughput=float("nan")), "has throughput=nan, which"),
        (lambda content: content["cases"][0]["runs"][0].update(throughput=10**400), "which nobody can have measured."),
    ],
)
def test_a_damaged_summary_is_refused_rather_than_passed(measured, tmp_path, damage, sentence):
    measured("old", {"1n1g": [0.5]})
    path = tmp_path / "runs/old/summary.json"
    content = json.loads(path.read_text())
    damage(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError) as error:
        read_results(path.parent)
    assert sentence in str(error.value)
