from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rackmark.compare.side_by_side import RunToCompare, compare
from rackmark.report.comparison_report import comparison_files, remarks, terminal_table, verdicts, warning
from unit.run_fixture import BATCH, break_repeat, read_run, write_run

TEMPLATES = Path(__file__).parents[2] / "reports" / "templates"
BEFORE = {"1n1g": [0.50, 0.51, 0.49], "2n1g": [0.60, 0.61, 0.59]}


@pytest.fixture
def run(tmp_path):
    def run(name, cases, broken=(), **manifest):
        run_dir = write_run(tmp_path / name, cases, run_id=name, **manifest)
        for case, repeat in broken:
            break_repeat(run_dir, case, repeat)
        read = read_run(run_dir)
        return RunToCompare(read.manifest, read.summary, read.hosts)

    return run


def case_of(comparison, name):
    return next(case for case in comparison["cases"] if case["case"] == name)


def test_the_difference_and_its_interval_are_those_of_the_ratio_of_medians(run):
    """Both sides: logarithms m - d, m, m + d, so a standard error of d * sqrt(2/3) with 4 degrees of freedom."""
    spread = math.exp(0.01)
    one, two = [[seconds / spread, seconds, seconds * spread] for seconds in (0.5, 0.4)]
    case = case_of(compare([run("a", {"1n1g": one}), run("b", {"1n1g": two})]), "1n1g")
    half = 2.7764 * 0.01 * math.sqrt(2 / 3)
    assert (case["base_median"], case["median"]) == (pytest.approx(BATCH / 0.5), pytest.approx(BATCH / 0.4))
    assert case["difference"] == pytest.approx(0.25)
    assert case["difference_ci95"] == pytest.approx([1.25 * math.exp(-half) - 1, 1.25 * math.exp(half) - 1])


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ([0.40, 0.41, 0.39], "better"),
        ([0.60, 0.61, 0.59], "worse"),
        ([0.51, 0.50, 0.49], "same"),
        ([0.30], "undecided"),
    ],
)
def test_a_verdict_follows_from_the_interval_alone(run, after, verdict):
    comparison = compare([run("a", {"1n1g": BEFORE["1n1g"]}), run("b", {"1n1g": after})])
    assert [case["verdict"] for case in comparison["cases"]] == [verdict]
    assert verdicts(comparison) == f"B against A: 1 case {verdict}."


def test_only_repeats_that_are_ok_enter_and_what_is_lacking_is_said(run):
    runs = [run("a", BEFORE), run("b", BEFORE, broken=[("1n1g", 1), ("2n1g", 1), ("2n1g", 2), ("2n1g", 3)])]
    comparison = compare(runs)
    one, two = case_of(comparison, "1n1g"), case_of(comparison, "2n1g")
    assert one["median"] == pytest.approx((BATCH / 0.51 + BATCH / 0.49) / 2)
    assert (two["median"], two["difference"], two["difference_ci95"], two["verdict"]) == (None, None, None, "undecided")
    assert remarks(comparison, runs)[:-1] == [
        "Undecided, with fewer than two ok repeats: 2n1g of B has 0.",
        "B is not complete. Partial: 2 of 6 repeats are ok, the others are not (4 timeout).",
        "Simulated in A and B: nodes.",
    ]


def test_every_run_is_compared_with_the_first_in_the_cases_that_both_have(run):
    runs = [
        run("a", BEFORE),
        run("b", {"2n1g": [0.6, 0.6], "4n1g": [0.6]}),
        run("c", {"1n1g": [0.4, 0.4], "2n1g": [0.6, 0.6]}),
    ]
    comparison = compare(runs)
    pairs = [(case["case"], case["run_id"]) for case in comparison["cases"]]
    assert pairs == [("1n1g", "c"), ("2n1g", "b"), ("2n1g", "c")]
    assert comparison["not_in_common"] == {"a": ["1n1g"], "b": ["4n1g"], "c": ["1n1g"]}
    assert "B has 4n1g, which not every run has." in remarks(comparison, runs)
    assert terminal_table(comparison)[:3] == ["A is a", "B is b", "C is c"]


@pytest.mark.parametrize(
    ("changed", "what", "values"),
    [
        ({"settings": {"image_size": 224}}, "image size", "64, 224"),
        ({"data": "ImageFolder"}, "data", "synthetic, ImageFolder"),
        ({"workload": "bert"}, "workload", "resnet50, bert"),
    ],
)
def test_runs_that_did_not_measure_the_same_are_loudly_said_to(run, changed, what, values):
    comparison = compare([run("a", BEFORE), run("b", BEFORE, **changed)])
    assert warning(comparison) == f"These runs did not measure the same thing: they differ in {what} ({values})."


@pytest.mark.parametrize(
    ("name", "value", "words"), [("batch_per_device", 16, "batch per device"), ("precision", "bf16", "precision")]
)
def test_another_batch_or_precision_in_a_common_case_is_another_measurement(run, tmp_path, name, value, words):
    runs = [run("a", BEFORE), run("b", {**BEFORE, "4n1g": [0.5]})]
    assert warning(compare(runs)) is None
    manifest = json.loads((tmp_path / "b/manifest.json").read_text())
    manifest["cases"][1][name] = value
    (tmp_path / "b/manifest.json").write_text(json.dumps(manifest))
    read = read_run(tmp_path / "b")
    said = warning(compare([runs[0], RunToCompare(read.manifest, read.summary, read.hosts)]))
    assert words in said and f"{value} in 2n1g" in said


def test_software_and_hosts_that_differ_are_listed_and_not_loud(run):
    hosts = [{"name": "gpu1", "model": "AMD EPYC", "devices": ["A100"] * 8}]
    runs = [
        run("a", BEFORE),
        run("b", BEFORE, software={"PyTorch": "2.0", "Python": "3.11.2", "cuDNN": None}, hosts=hosts),
    ]
    comparison = compare(runs)
    found = {difference["what"]: tuple(difference["values"].values()) for difference in comparison["differences"]}
    assert found["software: PyTorch"] == ("1.13.1", "2.0")
    assert found["hosts"] == ("node[1-2]", "gpu1")
    assert found["hosts: devices"] == ("\N{EN DASH}", "8 \N{MULTIPLICATION SIGN} A100")
    assert "software: Python" not in found and "hosts: model" not in found
    assert warning(comparison) is None


def test_runs_in_different_units_are_not_compared(run):
    with pytest.raises(ValueError, match="a measured samples/s and b tokens/s: only runs with the same unit"):
        compare([run("a", BEFORE), run("b", BEFORE, unit="tokens/s")])


class Words(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_needs_nothing_but_itself_and_the_files_say_the_same(run):
    runs = [run("a", BEFORE), run("b", {"1n1g": [0.40, 0.41, 0.39]}, settings={"image_size": 96})]
    comparison = compare(runs)
    files = comparison_files(comparison, runs, TEMPLATES)
    assert sorted(files) == ["comparison.html", "comparison.json", "comparison.md", "difference.png"]
    assert json.loads(files["comparison.json"]) == json.loads(json.dumps(comparison))
    page = files["comparison.html"].decode()
    words = Words(page)
    assert not re.search(r"https?://|@import|url\(", page)
    assert {tag for tag, _ in words.tags}.isdisjoint({"script", "link", "iframe"})
    assert [attributes["src"][:22] for tag, attributes in words.tags if tag == "img"] == ["data:image/png;base64,"]
    markdown = files["comparison.md"].decode()
    for fact in (warning(comparison), "+25.0 %", "better", "A has 2n1g, which not every run has.", "image size"):
        assert fact in " ".join(words.words) and fact in markdown


def test_runs_without_a_case_in_common_say_so(run):
    runs = [run("a", {"1n1g": [0.5]}), run("b", {"2n1g": [0.5]})]
    files = comparison_files(compare(runs), runs, TEMPLATES)
    assert "difference.png" not in files
    assert "The runs have no case in common." in files["comparison.md"].decode()
