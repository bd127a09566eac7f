"""Mounts read from the kernel, exports written from the inventory, and clocks compared."""

from __future__ import annotations

import pytest
from rackmark import clock, nfs

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro
90 22 0:45 / /userhome rw,relatime shared:7 - autofs systemd-1 rw,fd=51
95 90 0:50 / /userhome rw,nosuid,nodev,relatime shared:8 - nfs4 192.0.2.10:/userhome rw,vers=4.2,hard,timeo=600
96 22 0:51 / /my\\040data rw shared:9 - nfs4 192.0.2.10:/my\\040data rw,vers=4.1,soft
"""


def test_the_mount_that_one_sees_is_the_last_one():
    mount = nfs.mounted_at("/userhome", MOUNTINFO)
    assert (mount.kind, mount.source) == ("nfs4", "192.0.2.10:/userhome")
    assert nfs.mounted_at("/my data", MOUNTINFO).source == "192.0.2.10:/my data"
    assert nfs.mounted_at("/user", MOUNTINFO) is None
    assert nfs.is_mounted_at("/userhome", MOUNTINFO)
    assert not nfs.is_mounted_at("/", MOUNTINFO)


def test_options_that_a_mount_lacks_are_told_but_not_those_that_no_mount_shows():
    wanted = ["vers=4.2", "hard", "timeo=600", "nosuid", "nodev", "exec", "_netdev", "rsize=1048576"]
    assert nfs.mounted_at("/userhome", MOUNTINFO).lacks(wanted) == []
    assert nfs.mounted_at("/my data", MOUNTINFO).lacks(wanted) == ["vers=4.2", "hard", "timeo=600", "nosuid", "nodev"]


def test_the_answer_that_came_fastest_counts():
    """The first answer had to wait for the connection: it would allow for a clock that is 3 s off."""
    reading = clock.read([(100.0, 103.1, 103.2), (110.0, 110.06, 110.1)])
    assert reading.offset == pytest.approx(0.01)
    assert reading.error == pytest.approx(0.05)


def test_slow_connections_are_no_skew_and_a_wrong_clock_is():
    here = clock.ClockReading(0.0, 0.01)
    slow = clock.skew(clock.read([(100.0, 103.9, 104.0)]), here)
    assert not clock.surely_beyond(1, slow)
    wrong = clock.skew(clock.read([(100.0, 97.0, 100.1)]), here)
    assert clock.surely_beyond(1, wrong)


def test_clocks_are_compared_with_each_other_and_not_with_this_machine():
    reference, other = clock.ClockReading(-30.0, 0.1), clock.ClockReading(-30.2, 0.1)
    assert not clock.surely_beyond(1, clock.skew(other, reference))


def test_the_complaint_names_host_direction_and_fix():
    said = clock.complaint("node2", "head", 1, clock.ClockReading(-2.34, 0.1))
    assert said.startswith("The clock of node2 is 2.3 s behind that of head")
    assert "chronyc makestep" in said
