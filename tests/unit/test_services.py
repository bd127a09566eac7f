from __future__ import annotations

import pytest
from rackmark.services import Service, action, parse

SHOWN = """LoadState=loaded
ActiveState=active
UnitFileState=enabled
NeedDaemonReload=no
ExecMainStartTimestampMonotonic=400000000
StateChangeTimestampMonotonic=450000000
"""
# The machine has been up for 500 s at 10000: the service started at 9900 and was reloaded at 9950.
NOW = 10_000.0


def service(**changes: str) -> Service:
    lines = [line.partition("=")[::2] for line in SHOWN.splitlines()]
    return parse("\n".join(f"{name}={changes.get(name, value)}" for name, value in lines), NOW, 500.0)


def test_what_systemd_says_is_understood():
    assert service() == Service(True, True, True, False, 9900.0, 9950.0)
    never = service(ActiveState="inactive", ExecMainStartTimestampMonotonic="0", UnitFileState="disabled")
    assert (never.active, never.enabled, never.started) == (False, False, None)
    assert not parse("LoadState=not-found\nActiveState=inactive\n", NOW, 500.0).exists


@pytest.mark.parametrize(
    ("restart_for", "reload_for", "wanted"),
    [
        ({}, {}, ""),
        ({"default": 9800.0}, {"config": 9940.0}, ""),
        ({"default": 9900.5}, {"config": 9999.0}, "restart"),
        ({"default": 9800.0}, {"config": 9950.5}, "reload"),
        ({"default": 10_100.0}, {}, ""),  # of a clock that was wrong
    ],
)
def test_a_file_that_is_newer_than_its_service_is_taken_over(restart_for, reload_for, wanted):
    assert action(service(), restart_for, reload_for, NOW) == wanted


def test_a_service_that_does_not_run_is_started_whatever_its_files_say():
    for state in ("inactive", "failed", "activating"):
        assert action(service(ActiveState=state), {"default": 9999.0}, {}, NOW) == "start"


def test_a_changed_unit_is_a_restart():
    assert action(service(NeedDaemonReload="yes"), {}, {}, NOW) == "restart"
