from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rackmark.plan import Asked, make_plan

ROOT = Path(__file__).parents[2]
RESNET = yaml.safe_load((ROOT / "workloads/resnet50/workload.yml").read_text())
LAB = Asked(preset="lab")


def plan(asked=LAB, nodes=4, devices=1):
    return make_plan(RESNET, asked, "20261118-101500-resnet50", nodes, devices)


def test_the_lab_preset_measures_one_two_and_four_nodes_twice():
    made = plan()
    assert [(case.case, case.repeats) for case in made.cases] == [("1n1g", 2), ("2n1g", 2), ("4n1g", 2)]
    assert [job.name for job in made.jobs][:2] == [
        "rackmark:20261118-101500-resnet50:1n1g:1",
        "rackmark:20261118-101500-resnet50:1n1g:2",
    ]
    assert made.jobs[-1].folder == "cases/4n1g/r2"


def test_what_the_operator_gives_wins_over_the_preset():
    made = plan(replace(LAB, cases="2n1g", repeats="5", batch="32", precision="bf16"))
    assert [(c.case, c.repeats, c.batch_per_device, c.precision) for c in made.cases] == [("2n1g", 5, 32, "bf16")]
    assert len(made.jobs) == 5


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (replace(LAB, nodes="9"), "nodes=9 needs 9 nodes, the cluster has 4"),
        (replace(LAB, precision="fp7"), "precision=fp7 is unknown to pytorch: use bf16, fp32"),
        (replace(LAB, framework="caffe"), "framework=caffe is unknown: use pytorch"),
        (replace(LAB, preset="huge"), "preset=huge is unknown: use full, lab"),
        (replace(LAB, batch="0"), "batch=0 is not a whole number"),
        (replace(LAB, repeats="many"), "repeats=many is not a whole number"),
        (replace(LAB, cases="8x"), "'8x' is not a case"),
    ],
)
def test_nonsense_is_refused_with_what_is_valid(asked, words):
    with pytest.raises(ValueError, match=words):
        plan(asked)
