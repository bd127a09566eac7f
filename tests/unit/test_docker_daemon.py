from __future__ import annotations

from pathlib import Path

import pytest
from rackmark import docker_daemon
from rackmark.docker_daemon import action, merge, parse

LOGS = {"log-driver": "json-file", "log-opts": {"max-size": "50m", "max-file": "3"}}
NVIDIA = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}


def test_an_empty_file_gets_ours():
    merged = merge({}, {}, LOGS, NVIDIA)
    assert merged.options == merged.ours == {**LOGS, **NVIDIA}


def test_keys_of_others_stay_also_inside_a_key_that_is_shared():
    others = {"bip": "10.9.0.1/16", "runtimes": {"kata": {"path": "kata"}, "nvidia": {"args": ["-x"]}}}
    merged = merge(others, {}, LOGS, NVIDIA)
    assert merged.options == {
        "bip": "10.9.0.1/16",
        "runtimes": {"kata": {"path": "kata"}, "nvidia": {"args": ["-x"], "path": "nvidia-container-runtime"}},
        **LOGS,
    }
    assert merge(merged.options, merged.ours, {}, {}).options == others


def test_defaults_yield_to_others_and_wishes_do_not():
    others = {"live-restore": False}
    assert merge(others, {}, {"live-restore": True}, {}).options == others
    assert merge(others, {}, {}, {"live-restore": True}).options == {"live-restore": True}


def test_what_is_no_longer_wanted_goes_and_what_was_changed_by_hand_comes_back():
    first = merge({}, {}, LOGS, NVIDIA)
    assert merge(first.options, first.ours, LOGS, {}).options == LOGS
    by_hand = {**first.options, "log-opts": {"max-size": "9g", "max-file": "3"}}
    assert merge(by_hand, first.ours, LOGS, NVIDIA).options == first.options


def test_a_second_time_nothing_changes():
    others = {"bip": "10.9.0.1/16", "log-opts": {"tag": "x"}, "runtimes": {"kata": {"path": "kata"}}}
    first = merge(others, {}, LOGS, NVIDIA)
    assert merge(first.options, first.ours, LOGS, NVIDIA) == first


def test_null_deletes_whoever_wrote_it():
    merged = merge({"bip": "10.9.0.1/16", "runtimes": {"kata": {}}}, {}, LOGS, {"bip": None, "log-opts": None})
    assert merged.options == {"runtimes": {"kata": {}}, "log-driver": "json-file"}
    assert merge({}, {}, LOGS, {"log-opts": {"max-file": None}}).options["log-opts"] == {"max-size": "50m"}


@pytest.mark.parametrize(("current", "wanted"), [({"log-driver": "journald"}, {}), ({}, {"log-driver": "syslog"})])
def test_log_drivers_that_do_not_rotate_are_not_told_to(current, wanted):
    assert "log-opts" not in merge(current, {}, LOGS, wanted).options


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (LOGS, dict(reversed(list(LOGS.items()))), "none"),
        ({}, {"live-restore": True}, "reload"),
        ({"runtimes": {"a": {}}}, {"runtimes": {"b": {}}}, "reload"),
        ({"registry-mirrors": ["x"]}, {}, "restart"),  # a reload would keep the mirror
        ({}, LOGS, "restart"),
        ({"debug": True}, {"debug": False, "mtu": 1400}, "restart"),
    ],
)
def test_a_restart_only_where_a_reload_is_not_enough(before, after, expected):
    assert action(before, after) == expected


def test_the_strongest_of_several_reasons_counts():
    assert docker_daemon.strongest("none", "restart", "reload") == "restart"
    assert docker_daemon.strongest("none", "reload") == "reload"


@pytest.mark.parametrize("text", ["{", "{'live-restore': true}", "live-restore: true", "[1]", '"x"'])
def test_a_file_that_is_no_json_object_is_refused(text):
    with pytest.raises(ValueError, match=r"/etc/docker/daemon\.json is .*JSON"):
        parse(text, Path("/etc/docker/daemon.json"))


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_no_file_and_an_empty_one_have_no_options(text):
    assert parse(text, Path("x")) == {}


def test_text_is_read_back_as_it_was():
    options = {**LOGS, "labels": ["Zürich"]}
    assert parse(docker_daemon.text_of(options), Path("x")) == options
