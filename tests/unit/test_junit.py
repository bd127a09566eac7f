"""junit.xml is read by programs that nobody here knows."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from rackmark.formats.junit import junit
from unit.run_fixture import break_repeat, summary_of, write_job, write_run


@pytest.fixture
def summary(tmp_path):
    run_dir = write_run(tmp_path, {"1n1g": [0.50, 0.51], "2n1g": [0.50, 0.51, 0.52]})
    break_repeat(run_dir, "2n1g", 1, "NODE_FAIL")
    break_repeat(run_dir, "2n1g", 2)
    return summary_of(run_dir)


def test_a_suite_per_case_and_a_test_per_repeat(summary):
    root = ElementTree.fromstring(junit(summary))
    assert (root.tag, root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == (
        "testsuites",
        "5",
        "1",
        "1",
    )
    suites = {suite.attrib["name"]: suite for suite in root}
    assert {name: suite.attrib["tests"] for name, suite in suites.items()} == {"1n1g": "2", "2n1g": "3"}
    names = [(test.attrib["classname"], test.attrib["name"]) for test in suites["1n1g"]]
    assert names == [("resnet50.1n1g", "repeat 1"), ("resnet50.1n1g", "repeat 2")]
    assert [test.findtext("system-out") for test in suites["1n1g"]] == ["16.00 samples/s", "15.69 samples/s"]


def test_what_failed_says_how_and_why(summary):
    root = ElementTree.fromstring(junit(summary))
    (error,), (failure,) = root.iter("error"), root.iter("failure")
    assert (error.attrib["type"], failure.attrib["type"]) == ("node_fail", "timeout")
    assert failure.attrib["message"] == "2n1g repeat 2 is timeout."
    assert failure.text.startswith("The job reached its time limit.")
    assert len(list(root.iter("system-out"))) == 3


def test_a_time_to_train_is_the_time_of_its_test(summary):
    summary["cases"][0]["runs"][0]["time_to_train_s"] = 61.25
    times = [test.attrib.get("time") for test in ElementTree.fromstring(junit(summary)).iter("testcase")]
    assert times == ["61.250", None, None, None, None]


@pytest.mark.parametrize(
    ("reason", "read_back"),
    [
        ("]]> <script>alert('1')</script> & \"more\"", None),
        ("a\x00b\x1b[31mc\ud800d\ufffee\x7f", "ab[31mcde\x7f"),
        ("two\nlines\tand \N{GRINNING FACE}", None),
    ],
)
def test_hostile_reasons_are_read_back_as_they_are(summary, reason, read_back):
    summary["cases"][1]["runs"][0]["reason"] = reason
    (error,) = ElementTree.fromstring(junit(summary)).iter("error")
    assert error.text == (read_back or reason)


def test_hostile_names_are_attributes_and_nothing_else(summary):
    hostile = "\"/><x>\x00' ]]>\n"
    summary["run_id"] = summary["workload"] = summary["cases"][0]["case"] = hostile
    root = ElementTree.fromstring(junit(summary))
    clean = hostile.replace("\x00", "")
    assert root.attrib["name"] == root[0].attrib["name"] == clean
    assert {element.tag for element in root.iter()} == {
        *("testsuites", "testsuite", "testcase", "system-out", "error", "failure")
    }


def test_a_line_of_a_log_with_markup_survives(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5]})
    write_job(tmp_path / "cases/1n1g/r1", "FAILED", "1:0")
    (tmp_path / "cases/1n1g/r1/rank-0.log").write_text("Error: <script>alert(1)</script> ]]> \x08\n")
    (tmp_path / "cases/1n1g/r1/rank-0.exit").write_text("1")
    (fault,) = (
        element for element in ElementTree.fromstring(junit(summary_of(tmp_path))).iter() if "type" in element.attrib
    )
    assert "Error: <script>alert(1)</script> ]]>" in fault.text
