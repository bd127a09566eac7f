from __future__ import annotations

import shlex

import pytest
from rackmark.run.way_back import lines_of, to_resume, to_stop

RUN = "run_id=20261118-101500-resnet50"


@pytest.mark.parametrize(
    ("typed", "resumed"),
    [
        ("run_resnet.yml -e nodes=4", "run_resnet.yml"),
        ("run_resnet.yml -i ours -e 'nodes=4 launcher=ssh' -K", "run_resnet.yml -i ours -e launcher=ssh -K"),
        (
            "run_resnet.yml --extra-vars=cases=1n8g --extra-vars benchmark_user=me",
            "run_resnet.yml --extra-vars benchmark_user=me",
        ),
        ("run.yml -e @site.yml -e 'data=/sets/my images'", "run.yml -e @site.yml -e 'data=/sets/my images'"),
        ("""run.yml -e '{"nodes": 4, "x": 1}' -e "it's" """, """run.yml -e '{"nodes": 4, "x": 1}' -e "it's" """),
        ("run.yml -e run_id=of-before -e benchmark_minutes=3 -e hf_token=abc", "run.yml -e 'hf_token=***'"),
    ],
)
def test_a_run_is_resumed_by_what_was_typed_without_what_it_knows(typed, resumed):
    words = shlex.split(f"ansible-playbook {typed}")
    assert to_resume(words, RUN) == [*shlex.split(f"ansible-playbook {resumed}"), "-e", RUN]


def test_a_run_is_stopped_by_another_playbook_in_the_same_place():
    words = shlex.split("ansible-playbook -i ours run_resnet.yml -e 'nodes=4 benchmark_dir=/data/bench'")
    stop = to_stop(words, RUN, ("run_resnet.yml",), "playbooks/stop.yml")
    assert shlex.join(stop) == f"ansible-playbook -i ours playbooks/stop.yml -e benchmark_dir=/data/bench -e {RUN}"


def test_a_command_fits_the_window_and_can_be_copied():
    words = ["ansible-playbook", "run_resnet.yml", "-e", "a=b c", "-e", RUN]
    lines = lines_of(words, 40)
    assert max(map(len, lines)) <= 40
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == words
    assert lines_of(words, 400) == [shlex.join(words)]
