from __future__ import annotations

import io
from pathlib import Path

import pytest
from matplotlib import image
from rackmark.report.pictures import pictures
from unit.run_fixture import break_repeat, read_run, write_run

ALL = ["throughput.png", "speedup.png", "efficiency.png", "steps.png", "ranks.png", "loss.png"]


def pictures_of(run_dir: Path):
    run = read_run(run_dir)
    drawn, missing = pictures(run.summary, run.measured)
    return {picture.file: picture.content for picture in drawn}, missing


def without_loss(run_dir):
    for log in run_dir.glob("cases/*/*/rank-*.log"):
        lines = log.read_text().splitlines()
        log.write_text(
            "\n".join(line.split(', "loss"')[0] + "}" if '"loss"' in line else line for line in lines) + "\n"
        )


def test_every_picture_that_there_are_data_for(tmp_path):
    drawn, missing = pictures_of(write_run(tmp_path, {"1n1g": [0.5, 0.4], "2n1g": [0.5, 0.4], "4n8g": [0.6, 0.7]}))
    assert (list(drawn), missing) == (ALL, [])
    for content in drawn.values():
        height, width, _ = image.imread(io.BytesIO(content)).shape
        assert (height, width) == (646, 950)


@pytest.mark.parametrize(
    ("cases", "damage", "sentence"),
    [
        ({"1n1g": [0.5]}, None, "No picture of the speedup of each case against the ideal: there is no second case"),
        ({"1n1g": [0.5]}, None, "No picture of the mean step time of every rank: no case has more than one rank."),
        ({"2n1g": [0.5]}, None, "No picture of the efficiency of each case: the run has no case with one device"),
        ({"1n1g": [0.5]}, without_loss, "No picture of the loss over the steps: the logs hold none."),
    ],
)
def test_a_picture_without_data_is_replaced_by_the_reason(tmp_path, cases, damage, sentence):
    run_dir = write_run(tmp_path, cases)
    if damage:
        damage(run_dir)
    drawn, missing = pictures_of(run_dir)
    assert len(drawn) + len(missing) == len(ALL)
    assert [said for said in missing if said.startswith(sentence)] != []


def test_a_run_in_which_nothing_is_ok_has_no_picture(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5]})
    break_repeat(tmp_path, "1n1g", 1)
    drawn, missing = pictures_of(tmp_path)
    assert drawn == {}
    assert len(missing) == len(ALL) and all("no repeat is ok" in sentence for sentence in missing)


def test_a_case_without_a_number_keeps_its_place_in_every_picture(tmp_path):
    write_run(tmp_path, {"1n1g": [0.5], "2n1g": [0.5], "4n1g": [0.5]})
    whole, _ = pictures_of(tmp_path)
    break_repeat(tmp_path, "2n1g", 1)
    drawn, missing = pictures_of(tmp_path)
    assert (list(drawn), missing) == (ALL, [])
    assert [name for name in ALL if drawn[name] == whole[name]] == []
