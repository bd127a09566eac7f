"""Virtual clusters of the tests' own, beside any that the user has, and only one at a time in a process.

The tier is one story in the order of its file names: boot, provision, measure, break, remove.
"""

from __future__ import annotations

import pytest
from lab.accelerated import accelerated, blank, whole  # noqa: F401 (fixtures)
from lab.cluster import Cluster
from lab.monitored import monitored  # noqa: F401 (fixture)


@pytest.fixture(scope="session")
def no_cluster(tmp_path_factory):
    """The tests' cluster by name, without a node; what an interrupted earlier run left is removed."""
    cluster = Cluster(tmp_path_factory.mktemp("artifacts"))
    cluster.play("playbooks/lab_down.yml").succeeded()
    return cluster


@pytest.fixture(scope="session")
def cluster(no_cluster):
    no_cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    yield no_cluster
    no_cluster.play("playbooks/lab_down.yml").succeeded()


@pytest.fixture(scope="session")
def provisioned(cluster):
    cluster.play("site.yml").succeeded()
    return cluster
