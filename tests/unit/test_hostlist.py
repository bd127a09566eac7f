from __future__ import annotations

import re

import pytest
from rackmark.hostlist import MOST_NAMES, compact, expand, in_order


def as_slurm_reads(expression: str) -> list[str]:
    """What Slurm makes of an expression, written apart from the code under test: padding follows the first number."""
    names = []
    for part in re.findall(r"[^,\[\]]*(?:\[[^\]]*\][^,\[\]]*)?", expression):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            names += [part] if part else []
            continue
        for piece in match[2].split(","):
            low, _, high = piece.partition("-")
            numbers = range(int(low), int(high or low) + 1)
            names += [f"{match[1]}{number:0{len(low)}d}{match[3]}" for number in numbers]
    return names


@pytest.mark.parametrize(
    ("names", "expression"),
    [
        (["node1", "node2", "node3"], "node[1-3]"),
        (["node1"], "node1"),
        (["node1", "node3", "node4"], "node[1,3-4]"),
        (["node9", "node10"], "node[9-10]"),
        (["node09", "node10"], "node[09-10]"),
        (["cn1", "cn1"], "cn1"),
        (["gpu"], "gpu"),
        (["node1.a.example2", "node2.a.example2"], "node[1-2].a.example2"),
        (["a1-ib0", "a1-ib1"], "a1-ib[0-1]"),
        ([], ""),
    ],
)
def test_short_form(names, expression):
    assert compact(names) == expression


@pytest.mark.parametrize(
    "names",
    [
        ["node-2", "node-03"],
        ["n1", "n01", "n001", "n2", "n02", "n10", "n100"],
        ["head", "node1", "node7", "node8", "gpu01", "gpu02", "gpu04"],
        ["r1n1.x", "r1n2.x", "r2n1.x", "r2n1.y"],
        [f"node{number}" for number in range(1, 1001)],
        [f"node{number:04d}" for number in range(95, 105)] + ["node7"],
    ],
)
def test_expands_to_exactly_the_same_names(names):
    assert sorted(as_slurm_reads(compact(names))) == sorted(set(names))


def test_a_thousand_names_stay_short():
    assert len(compact(f"node{number}" for number in range(1, 1001))) < 20


def test_names_can_keep_their_order():
    assert in_order(["b9", "b10", "a2", "a1", "x"]) == "b[9-10],a2,a1,x"
    assert as_slurm_reads(in_order(["n08", "n09", "n10", "n3"])) == ["n08", "n09", "n10", "n3"]


def test_an_expression_is_read_back():
    assert expand("node[1-3,07-08].x,gpu1, a2-ib[0]") == [
        "node1.x",
        "node2.x",
        "node3.x",
        "node07.x",
        "node08.x",
        "gpu1",
        "a2-ib0",
    ]
    assert expand("node1,node[1-2]") == ["node1", "node2"]
    assert expand("") == []


@pytest.mark.parametrize(
    "expression",
    [
        "node[1-",
        "node[a-b]",
        "node]1[",
        "n[1][2]",
        "node[1-[2-3]]",
        "node[]",
        "node[1,,2]",
        "node[-1]",
        f"n[{'9' * 5000}]",
    ],
)
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(ValueError, match=r"list of hosts|neither a number"):
        expand(expression)


def test_a_range_that_runs_backwards_is_refused():
    with pytest.raises(ValueError, match=r"3-1 in node\[3-1\] runs backwards: write 1-3"):
        expand("node[3-1]")


def test_as_many_names_as_slurm_takes_and_no_more():
    assert len(expand(f"node[1-{MOST_NAMES}]")) == MOST_NAMES
    for expression in (
        f"node[0-{MOST_NAMES}]",
        "node[1-30000000]",
        "node[1-40000],gpu[1-40000]",
        "node[1-999999999999999999]",
        ",".join(["n[1-60000]"] * 1000),
        ",".join(map(str, range(MOST_NAMES + 1))),
    ):
        with pytest.raises(ValueError, match=r"more than 65,536 hosts"):
            expand(expression)
