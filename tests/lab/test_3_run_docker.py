"""runtime=docker with real engines: ranks run in containers, as the benchmark user, and no container is left."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest
from lab.cluster import ROOT
from lab.counting_runs import LONG, only_repeat, run, running

TWO = ("node1", "node2")
IMAGE = "counting:1"
PYTHON = "/image/python3"  # only the image has it
USER = "rackmark"
SHARED = "/userhome/counting.tar"
# Python, and the libraries that it and its module ctypes are linked with.
BUILD = f"""
set -e
tree=$(mktemp -d)
libraries=$(ldd /usr/bin/python3 /usr/lib/python3.*/lib-dynload/_ctypes.*.so | grep -o '/lib[^ ]* (' | cut -d' ' -f1)
cp --parents -L $(printf '%s\\n' $libraries | sort -u) /usr/bin/python3 $tree
cp -r --parents /usr/lib/python3.* $tree
mkdir $tree/image
ln -s /usr/bin/python3 $tree{PYTHON}
tar -C $tree -c . | docker import - {IMAGE}
rm -r $tree
docker save --output {SHARED} {IMAGE}
"""


@pytest.fixture(scope="module")
def nodes(provisioned):
    """All nodes have the image; the benchmark user may use Docker there, in jobs as well, and log in without one."""
    settings = {
        "docker_users": [USER],
        "slurm_config": {"LaunchParameters": "disable_send_gids"},
        "slurm_access_enabled": False,
    }
    provisioned.play("site.yml", cmdline="--tags slurm,slurm_access,docker", **settings).succeeded()
    names = list(provisioned.node_states())
    provisioned.on(names[0], BUILD)
    for node in names[1:]:
        provisioned.on(node, f"docker load --input {SHARED}")
    yield names
    for node in names:
        provisioned.on(node, f"docker rmi --force {IMAGE}; gpasswd --delete {USER} docker")
    provisioned.on(names[0], f"rm {SHARED}")
    provisioned.play("site.yml", cmdline="--tags slurm,slurm_access").succeeded()
    provisioned.wait_until_idle()


@pytest.fixture
def docker(provisioned, nodes):
    yield provisioned
    provisioned.wait_until_idle()
    assert {node: containers(provisioned, node) for node in nodes} == {node: [] for node in nodes}


def in_containers(**variables):
    return {"runtime": "docker", "image": IMAGE, "benchmark_image_python": PYTHON, "repeats": 1, **variables}


def containers(cluster, node, *options):
    """Names of containers, also of those that ended."""
    return cluster.on(node, f"docker ps --all --format '{{{{.Names}}}}' {' '.join(options)}").split()


def digest(cluster, node):
    return cluster.on(node, f"docker image inspect --format '{{{{.Id}}}}' {IMAGE}")


@pytest.mark.parametrize("launcher", ["slurm", "ssh"])
def test_ranks_run_in_containers_as_the_benchmark_user(docker, launcher):
    docker.on("node1", f"! test -e {PYTHON}")
    run(docker, **in_containers(cases="1n1g,2n1g", launcher=launcher)).succeeded()
    folder = docker.latest_run() / "cases/2n1g/r1"
    starts = [json.loads((folder / f"rank-{rank}.log").read_text().splitlines()[0][9:]) for rank in (0, 1)]
    assert [start["host"] for start in starts] == ["node1", "node2"]
    found = json.loads((folder / "preflight.json").read_text())["nodes"]
    assert {name: node["image_digest"] for name, node in found.items()} == {name: digest(docker, name) for name in TWO}
    for node in TWO:  # sampled from outside of the containers, which do not see its memory and disks as they are
        assert '"end":null' in (folder / f"telemetry-{node}.jsonl").read_text()
    owners = docker.on("head", f"find /userhome/{USER}/runs/{docker.latest_run().name} -printf '%u:%g\\n'")
    assert set(owners.splitlines()) == {f"{USER}:{USER}"}


def test_a_node_without_the_image_is_named(docker):
    docker.on("node2", f"docker rmi {IMAGE}")
    try:
        play = run(docker, **in_containers(cases="2n1g"))
        play.failed_with("preflight_failed", f"node2: Docker has no image {IMAGE}")
    finally:
        docker.on("node2", f"docker load --input {SHARED}")
    assert "node1: " not in only_repeat(docker, "2n1g")["reason"]


def test_a_job_that_may_not_use_docker_says_how_to_let_it(docker):
    docker.on("node2", f"gpasswd --delete {USER} docker; systemctl reload slurmd")
    try:
        play = run(docker, **in_containers(cases="2n1g"))
        play.failed_with("preflight_failed", f"node2: User {USER} may not use Docker. Put the user into the group")
        docker.on("node2", f"gpasswd --add {USER} docker")  # slurmd still has the groups in mind
        run(docker, **in_containers(cases="2n1g")).failed_with(
            f"node2: User {USER} is in the group docker, and the job is not"
        )
    finally:
        docker.on("node2", f"gpasswd --add {USER} docker; systemctl reload slurmd")


@pytest.fixture
def counting(docker):
    """A run of two nodes in the middle of its work: its playbook and the number of its job."""

    def both_count():
        return all("count.py" in processes(docker, node, job) for job in jobs(docker) for node in TWO)

    with running(docker, **in_containers(cases="2n1g", **LONG)) as playbook:
        docker.wait_until(lambda: jobs(docker) and both_count(), "ranks run in containers of the job")
        (job,) = jobs(docker)
        yield playbook, job


def jobs(cluster):
    return cluster.on("head", f"squeue --noheader --states=running --user={USER} --format=%i").split()


def processes(cluster, node, job):
    """Of the containers that carry the job's number."""
    names = f"docker ps --quiet --filter label=rackmark.job={job}"
    return cluster.on(node, f"{names} | xargs --no-run-if-empty --max-args=1 docker top", check=False)


def none_is_left(cluster, seconds=15):
    for node in TWO:
        cluster.wait_until(partial(nothing_contained, cluster, node), f"no container is left on {node}", seconds)


def nothing_contained(cluster, node):
    return containers(cluster, node) == []


def test_a_cancelled_job_leaves_no_container(docker, counting):
    playbook, job = counting
    docker.on("head", f"scancel {job}")
    none_is_left(docker)
    assert playbook.wait(60) != 0
    assert only_repeat(docker, "2n1g")["state"] == "cancelled"


@pytest.mark.parametrize("victim", ["engine/container.py", "docker run"])
def test_what_started_a_container_is_killed(docker, counting, victim):
    playbook, _ = counting
    docker.on("node2", f"pkill -KILL -u {USER} -f '{victim}'")
    none_is_left(docker)
    assert playbook.wait(60) != 0
    assert only_repeat(docker, "2n1g")["throughput"] is None


def test_a_restart_of_the_engine_leaves_no_container_that_nobody_follows(docker, counting):
    playbook, _ = counting
    docker.on("node2", "systemctl restart docker")
    none_is_left(docker)
    assert playbook.wait(60) != 0
    assert only_repeat(docker, "2n1g")["throughput"] is None


def test_an_image_is_built_of_a_checkout_and_its_programs_run_in_it(docker, tmp_path):
    checkout = shutil.copytree(ROOT / "tests/flagperf_like", tmp_path / "FlagPerf")
    (checkout / "training/homemade/tiny-pytorch/config/environment_variables.sh").unlink()  # the image has no shell
    given = {"flagperf": str(checkout), "cases": "tiny:pytorch_1.8:CPU:2:1:1"}
    image = "flagperf-homemade-pytorch_1.8-tiny:rackmark"
    try:
        docker.play("playbooks/image.yml", **given).succeeded()
        assert docker.play("playbooks/image.yml", **given).succeeded().changed == []
        assert docker.on("head", "ls /userhome/rackmark") == docker.on("head", "ls -I images /userhome/rackmark")
        docker.on("head", "install -d -o rackmark /userhome/tiny && touch /userhome/tiny/one")
        done = docker.play("run_flagperf.yml", driver="flagperf", data="/userhome/tiny", runtime="docker", **given)
        done.succeeded()
    finally:
        for node in docker.node_states():
            docker.on(node, f"docker rmi --force {image}; rm -rf /var/lib/rackmark/images")
    suite = docker.on("head", "ls /userhome/rackmark/suites").split()[-1]
    (run,) = json.loads((docker.runs_dir.parent / "suites" / suite / "suite.json").read_text())["runs"]
    assert (run["state"], run["cases"][0]["repeats_ok"]) == ("ok", 1)
    tree = docker.runs_dir / run["run_id"] / "flagperf/tiny:pytorch_1.8:CPU:2:1:1/round1"
    assert sorted(path.name for path in tree.glob("*/rank*.log")) == ["rank0.out.log", "rank1.out.log"]
