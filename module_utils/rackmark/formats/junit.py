"""junit.xml: the repeats of a run, or the cases of a regression gate, as test results for CI."""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Sequence
from xml.etree import ElementTree

from ..compare.gate import Gate, GateCase, in_words, name_of
from ..node.states import BY_NAME, MACHINE
from ..numbers.summary_json import Run, Summary
from ..numbers.words import quantity

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Fault(NamedTuple):
    element: str
    kind: str
    message: str
    reason: str


class _Test(NamedTuple):
    """`said` is what a reader of a test that passed may want to know."""

    name: str
    said: str
    fault: _Fault | None
    seconds: float | None = None


def junit(summary: Summary) -> bytes:
    """A suite per case, a test per repeat."""
    suites = {
        case["case"]: [_of_repeat(summary, case["case"], run) for run in case["runs"]] for case in summary["cases"]
    }
    return _document(summary["run_id"], summary["workload"], suites)


def junit_of_gate(gate: Gate) -> bytes:
    """A test per case, and one for the run as a whole."""
    problems = "\n".join(gate["problems"])
    fault = _Fault("failure", "run", "The run cannot pass as a whole.", problems) if problems else None
    whole = _Test("the run as a whole", "\n".join(gate["remarks"]), fault)
    tests = [whole, *(_of_case(case) for case in gate["cases"])]
    return _document(f"{gate['run']} against {gate['baseline']}", "gate", {gate["run"]: tests})


def _of_case(case: GateCase) -> _Test:
    words, reason = in_words(case), case["reason"] or ""
    if case["verdict"] == "passed":
        return _Test(name_of(case), f"{words} {reason}".strip(), None)
    return _Test(name_of(case), "", _Fault("failure", case["verdict"], words, reason))


def _of_repeat(summary: Summary, case: str, run: Run) -> _Test:
    name, value = f"repeat {run['repeat']}", run["measures"][summary["headline"]]
    if run["state"] != "ok":
        known = BY_NAME.get(run["state"])
        element = "error" if known is not None and known.fault == MACHINE else "failure"
        reason = run["reason"] or "There is no reason known."
        return _Test(name, "", _Fault(element, run["state"], f"{case} {name} is {run['state']}.", reason))
    said = f"{quantity(value)} {summary['unit']}" if value is not None else ""
    return _Test(name, said, None, run["time_to_train_s"])


def _document(name: str, package: str, suites: Mapping[str, Sequence[_Test]]) -> bytes:
    everything = [test for tests in suites.values() for test in tests]
    root = ElementTree.Element("testsuites", {"name": _clean(name), **_counts(everything)})
    for suite, tests in suites.items():
        element = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **_counts(tests)})
        for test in tests:
            _add(element, test, f"{package}.{suite}")
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _add(suite: ElementTree.Element, test: _Test, classname: str) -> None:
    time = {} if test.seconds is None else {"time": f"{test.seconds:.3f}"}
    case = ElementTree.SubElement(
        suite, "testcase", {"classname": _clean(classname), "name": _clean(test.name), **time}
    )
    if test.fault is not None:
        of_fault = {"type": _clean(test.fault.kind), "message": _clean(test.fault.message)}
        ElementTree.SubElement(case, test.fault.element, of_fault).text = _clean(test.fault.reason)
    if test.said:
        ElementTree.SubElement(case, "system-out").text = _clean(test.said)


def _counts(tests: Sequence[_Test]) -> Mapping[str, str]:
    elements = [test.fault.element for test in tests if test.fault is not None]
    return {
        "tests": str(len(tests)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
    }


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold, not even escaped."""
    return _FORBIDDEN.sub("", text)
