"""What the health check of a node tells Prometheus."""

from __future__ import annotations

import time

import pytest
from unit.health_node_fixture import Node


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def metrics(node):
    """Values by what is left of a metric's name and its label, without the time, which has to be now."""
    (path,) = node.folder.glob("metrics/*")
    assert path.name == "rackmark-health.prom"
    assert path.stat().st_mode & 0o777 == 0o644
    lines = [line.split(" ") for line in path.read_text().splitlines() if not line.startswith("#")]
    values = {name.replace("rackmark_health_", ""): float(value) for name, value in lines}
    assert abs(time.time() - values.pop("last_run_timestamp_seconds")) < 60
    return values


@pytest.fixture
def watched(node):
    (node.folder / "metrics").mkdir()
    node.sections["node"]["metrics"] = str(node.folder / "metrics/rackmark-health.prom")
    return node


def test_prometheus_is_told_of_every_check_and_fault_until_it_is_gone(watched):
    watched.check()
    assert metrics(watched) == {"ok": 1, 'fault{check="shared"}': 0, 'fault{check="disk"}': 0}
    watched.sections["disk"]["folders"] = "/nowhere"
    watched.check()
    assert metrics(watched) == {"ok": 0, 'fault{check="shared"}': 0, 'fault{check="disk"}': 1}
    watched.sections["disk"]["folders"] = str(watched.folder)
    assert watched.check("--prolog").returncode == 0
    assert metrics(watched)["ok"] == 1


def test_prometheus_is_told_before_slurm_which_may_be_slow(watched):
    watched.sections["disk"]["folders"] = "/nowhere"
    watched.tool("scontrol", f"cp {watched.folder}/metrics/rackmark-health.prom {watched.folder}/seen; exit 1")
    assert watched.check("--prolog").returncode == 1
    assert "rackmark_health_ok 0\n" in (watched.folder / "seen").read_text()


def test_prometheus_is_told_nothing_of_what_could_not_be_looked_at(watched):
    watched.sections["clock"] = {"max_skew": "1"}  # where there is no chronyc it cannot
    shown = watched.check("--show").stdout
    watched.check()
    assert ('fault{check="clock"}' in metrics(watched)) == ("clock   not known" not in shown)


def test_who_only_looks_tells_nobody(watched):
    watched.check("--show")
    assert list(watched.folder.glob("metrics/*")) == []


def test_prometheus_cannot_lead_the_check_elsewhere(watched):
    (watched.folder / "metrics").rmdir()
    (watched.folder / "elsewhere").mkdir()
    (watched.folder / "metrics").symlink_to("elsewhere")
    assert "could not be written" in watched.check().stdout
    assert list((watched.folder / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("there", ["no folder", "a folder of that name"])
def test_what_cannot_be_told_changes_nothing(watched, there):
    if there == "no folder":
        (watched.folder / "metrics").rmdir()
    else:
        (watched.folder / "metrics/rackmark-health.prom").mkdir()
    done = watched.check()
    assert (done.returncode, watched.what_slurm_was_told()) == (0, "")
    assert bool(done.stdout) == (there != "no folder")  # monitoring is off where there is no folder
    watched.sections["disk"]["folders"] = "/nowhere"
    assert watched.check("--prolog").returncode == 1
    assert "state=drain" in watched.what_slurm_was_told()
