"""Virtual clusters of the tests' own, beside any that the user has, and only one at a time in a process.

Which files of tests share one is a story, told in the order of its file names: tests/stories.py.
"""

from __future__ import annotations

import pytest
from lab.accelerated import accelerated, blank, whole  # noqa: F401 (fixtures)
from lab.cluster import Cluster
from lab.monitored import monitored  # noqa: F401 (fixture)
from lab.trainings import python, training  # noqa: F401 (fixtures)
from stories import story_of


@pytest.fixture(scope="session")
def no_cluster(tmp_path_factory):
    """The tests' cluster by name, without a node; what an interrupted earlier run left is removed."""
    cluster = Cluster(tmp_path_factory.mktemp("artifacts"))
    cluster.down()
    yield cluster
    cluster.down()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Nodes of a story that has been told would only take processor time from the others."""
    result = yield
    cluster = item.funcargs.get("no_cluster")
    if cluster and cluster.purpose and nextitem and story_of(item.nodeid) != story_of(nextitem.nodeid):
        cluster.down()
    return result


@pytest.fixture(scope="module")
def cluster(no_cluster, request):
    """Four nodes, which the files of a story hand on as they leave them."""
    no_cluster.boot_for(story_of(request.node.nodeid), lab_nodes=4)
    return no_cluster


@pytest.fixture(scope="module")
def provisioned(cluster):
    cluster.provision()
    return cluster
