from __future__ import annotations

import pytest
from rackmark.run.cases import Case, choose_cases, scaling_series


def names_asked(requests):
    return names(request.case for request in requests)


def names(cases):
    return [case.name for case in cases]


def test_a_case_reads_and_writes_its_name():
    case = Case.parse("12n8g")
    assert (case.nodes, case.devices_per_node, case.world_size, case.name) == (12, 8, 96, "12n8g")


@pytest.mark.parametrize("text", ["", "2n", "n8g", "0n1g", "1n0g", "2N8G", "2n8g ", "-1n1g", "2n8g:1", "1.5n1g"])
def test_what_is_no_case_is_refused_with_the_form_of_one(text):
    with pytest.raises(ValueError, match=r"^.* is not a case: write <nodes>n<devices per node>g .* example 2n8g\.$"):
        Case.parse(text)


@pytest.mark.parametrize(
    ("nodes", "devices", "series"),
    [
        (1, 1, "1n1g"),
        (4, 1, "1n1g 2n1g 4n1g"),
        (3, 1, "1n1g 2n1g 3n1g"),
        (1, 6, "1n1g 1n2g 1n4g 1n6g"),
        (4, 8, "1n1g 1n2g 1n4g 1n8g 2n8g 4n8g"),
        (5, 3, "1n1g 1n2g 1n3g 2n3g 4n3g 5n3g"),
    ],
)
def test_the_series_doubles_devices_and_then_nodes_up_to_all_of_them(nodes, devices, series):
    assert names(scaling_series(nodes, devices)) == series.split()


def test_nodes_may_be_the_text_of_a_command_line_and_defaults_to_all():
    assert names_asked(choose_cases("2", None, 4, 1)) == ["1n1g", "2n1g"]
    assert names_asked(choose_cases(2, None, 4, 1)) == ["1n1g", "2n1g"]
    assert names_asked(choose_cases(None, None, 4, 1)) == ["1n1g", "2n1g", "4n1g"]


def test_cases_are_taken_as_listed():
    assert names_asked(choose_cases(None, "4n8g, 1n8g", 4, 8)) == ["4n8g", "1n8g"]


@pytest.mark.parametrize(
    ("nodes", "cases", "sentence"),
    [
        (5, None, "nodes=5 needs 5 nodes, the cluster has 4."),
        (0, None, "nodes=0 is not a number of nodes: give a whole number of at least 1."),
        ("-1", None, "nodes=-1 is not a number of nodes: give a whole number of at least 1."),
        ("four", None, "nodes=four is not a number of nodes: give a whole number of at least 1."),
        (None, "5n1g", "Case 5n1g needs 5 nodes, the cluster has 4."),
        (None, "1n9g", "Case 1n9g needs 9 devices per node, a node has 8."),
        (
            None,
            "resnet50:pytorch:A100:1:8",
            "'resnet50:pytorch:A100:1:8' is not a case: FlagPerf's notation is <model>:<framework>:<hardware>:<nodes>:"
            "<devices per node>:<repeats> with numbers of at least 1, for example resnet50:pytorch_2.0:A100:2:8:3.",
        ),
        (None, "resnet50:pytorch:A100:5:8:1", "Case 5n8g needs 5 nodes, the cluster has 4."),
        (None, "1n1g,1n1g", "Case 1n1g is listed twice in cases=1n1g,1n1g: use repeats to run it more often."),
        (2, "1n1g", "nodes=2 and cases=1n1g were both given: give one of them."),
    ],
)
def test_what_the_cluster_cannot_run_is_refused_with_the_reason(nodes, cases, sentence):
    with pytest.raises(ValueError) as error:
        choose_cases(nodes, cases, available_nodes=4, devices_per_node=8)
    assert str(error.value) == sentence


def test_an_empty_cluster_has_no_cases():
    with pytest.raises(
        ValueError, match=r"^There is nothing to measure on: the cluster has 0 nodes with 8 devices each\.$"
    ):
        choose_cases(None, None, 0, 8)


def test_flagperf_notation_is_a_case_with_its_repeats():
    (request,) = choose_cases(None, "resnet50:pytorch_2.0:A100:2:8:3", 4, 8)
    assert (request.case.name, request.repeats) == ("2n8g", 3)
    assert (request.model, request.framework, request.hardware) == ("resnet50", "pytorch", "A100")
