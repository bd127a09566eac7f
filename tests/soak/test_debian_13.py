"""Debian 13 and a machine without wheels: the nodes train with what their distribution has.

That such nodes become a cluster is seen by tests/lab/test_9_foreign.py as well.
"""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def trixie(no_cluster):
    no_cluster.boot_for("Debian 13", lab_nodes=2, lab_suite="trixie", lab_pip_config="")
    return no_cluster


def test_a_cluster_of_debian_13(trixie):
    trixie.play("site.yml").succeeded()
    assert trixie.on("node1", "cut -d. -f1 /etc/debian_version") == "13"
    assert trixie.node_states() == {"node1": "idle", "node2": "idle"}
    again = trixie.play("site.yml").succeeded()
    assert again.changed == []


def test_training_with_the_distributions_pytorch(trixie):
    trixie.play("run_resnet.yml", cases="1n1g,2n1g", repeats=1).succeeded()
    run = trixie.latest_run()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["state"] == "ok"
    assert summary["cases"][1]["speedup"] > 1
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["software"]["environment"].startswith("distribution")
    preflight = json.loads((run / "cases/2n1g/r1/preflight.json").read_text())
    assert [node["package_version"][0].isdigit() for node in preflight["nodes"].values()] == [True, True]
    assert trixie.on("node2", "dpkg-query -W -f '${db:Status-Status}' python3-torch") == "installed"
