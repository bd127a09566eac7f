"""The role docker: containers run, and daemon.json has one owner who respects others."""

from __future__ import annotations

import json
import shutil

import pytest
from lab import stub_packages
from lab.cluster import ROOT
from lab.stub_packages import Signer

FILE = "/etc/docker/daemon.json"


class Docker:
    """The role, and the engines that it made."""

    def __init__(self, cluster, inventory):
        self.cluster = cluster
        self.inventory = inventory
        self.on = cluster.on

    def play(self, limit="docker_hosts", options="", **variables):
        for node in ("node1", "node2"):  # systemd lets an engine start three times in a minute, the tests more often
            self.on(node, "systemctl reset-failed docker 2>/dev/null || true")
        inventories = f"-i {ROOT}/inventory -i {self.inventory}"
        return self.cluster.play(
            "tests/lab/docker.yml", cmdline=f"{inventories} --limit {limit} {options}", **variables
        )

    def info(self, node, field):
        return json.loads(self.on(node, f"docker info --format '{{{{json .{field}}}}}'"))

    def config(self, node):
        return json.loads(self.on(node, f"cat {FILE}"))

    def engine(self, node):
        return self.on(node, "systemctl show docker --property=MainPID --value")

    def container(self, node, name, *options):
        """The first process of a container that is not ended by itself."""
        self.on(node, f"docker run --detach --name {name} {' '.join(options)} small sleep 3600")
        return self.process(node, name)

    def process(self, node, name):
        return self.on(node, f"docker inspect --format '{{{{.State.Running}}}} {{{{.State.Pid}}}}' {name}")


@pytest.fixture(scope="module")
def blank(no_cluster, tmp_path_factory):
    devices = {"node1": "nvidia:8", "node2": "ascend:8"}
    no_cluster.boot_for("docker", lab_nodes=2, lab_accelerators=devices)
    inventory = tmp_path_factory.mktemp("inventory") / "docker.yml"
    inventory.write_text("{all: {children: {docker_hosts: {children: {lab_compute: }}}}}")
    return Docker(no_cluster, inventory)


@pytest.fixture(scope="module")
def docker(blank):
    blank.play(options="--check --diff").succeeded()
    blank.on("node1", "! command -v dockerd")
    blank.play().succeeded()
    for node in ("node1", "node2"):
        blank.on(node, "apt-get install --yes --quiet --no-install-recommends busybox-static")
        blank.on(node, "mkdir -p /root/small/bin && cp /bin/busybox /root/small/bin/sleep")
        blank.on(node, "cp /bin/busybox /root/small/bin/echo && tar -C /root/small -c . | docker import - small")
    return blank


def test_a_second_run_changes_nothing_with_and_without_check_mode(docker):
    assert docker.play(options="--check --diff").succeeded().changed == []
    engine = docker.engine("node1")
    assert docker.play().succeeded().changed == []
    assert docker.engine("node1") == engine


def test_containers_run_with_rotated_logs_on_a_layered_file_system(docker):
    assert docker.on("node1", "docker run --rm small echo hello") == "hello"
    docker.container("node1", "logged")
    log = json.loads(docker.on("node1", "docker inspect --format '{{json .HostConfig.LogConfig}}' logged"))
    assert log == {"Type": "json-file", "Config": {"max-size": "50m", "max-file": "3"}}
    docker.on("node1", "docker rm --force logged")
    assert docker.info("node1", "Driver") == "overlay2"
    assert docker.info("node1", "LiveRestoreEnabled") is True
    assert docker.on("node1", f"stat --format '%U %a' {FILE}") == "root 644"


def test_each_host_has_the_runtime_of_its_accelerators(docker):
    assert set(docker.info("node1", "Runtimes")) & {"nvidia", "ascend"} == {"nvidia"}
    assert set(docker.info("node2", "Runtimes")) & {"nvidia", "ascend"} == {"ascend"}
    docker.on(
        "node1", "printf '#!/bin/sh\\necho used >>/root/used\\nexec runc \"$@\"\\n' >/usr/bin/nvidia-container-runtime"
    )
    docker.on("node1", "chmod 755 /usr/bin/nvidia-container-runtime")
    assert docker.on("node1", "docker run --rm --runtime=nvidia small echo by runtime") == "by runtime"
    assert "used" in docker.on("node1", "cat /root/used")


def test_containers_survive_a_restart_of_the_engine(docker):
    container, engine = docker.container("node1", "training"), docker.engine("node1")
    docker.play("node1", docker_options={"registry-mirrors": ["https://mirror.example"]}).succeeded()
    assert docker.engine("node1") == engine, "a reload is enough"
    assert docker.info("node1", "RegistryConfig.Mirrors") == ["https://mirror.example/"]
    docker.play("node1", docker_log_max_size="5m").succeeded()
    assert docker.engine("node1") != engine
    assert docker.info("node1", "RegistryConfig.Mirrors") in (None, []), "a key of ours that is no longer wanted goes"
    assert docker.process("node1", "training") == container
    docker.on("node1", "docker rm --force training")


def test_containers_of_an_engine_that_would_end_them_survive_as_well(docker):
    docker.play("node2", docker_options={"live-restore": False}).succeeded()
    container, engine = docker.container("node2", "older"), docker.engine("node2")
    docker.play("node2", docker_log_max_files=7).succeeded()
    assert docker.engine("node2") != engine
    assert docker.process("node2", "older") == container
    docker.on("node2", "docker rm --force older")


def test_a_restart_that_was_missed_is_caught_up(docker):
    refusing = "/run/systemd/system/docker.service.d/refusing.conf"
    docker.on(
        "node2", f"mkdir -p {refusing.rpartition('/')[0]} && printf '[Unit]\\nRefuseManualStop=yes\\n' >{refusing}"
    )
    docker.on("node2", "systemctl daemon-reload")
    docker.play("node2", docker_log_max_files=5).failed_with("Operation refused")
    docker.on("node2", f"rm {refusing} && systemctl daemon-reload")
    engine = docker.engine("node2")
    assert docker.play("node2", options="--check", docker_log_max_files=5).succeeded().changed != []
    docker.play("node2", docker_log_max_files=5).succeeded()
    assert docker.engine("node2") != engine
    assert docker.play("node2", docker_log_max_files=5).succeeded().changed == []


def test_an_engine_whose_program_was_replaced_is_restarted(docker):
    engine = docker.engine("node2")
    docker.on("node2", "cp -p /usr/sbin/dockerd /usr/sbin/new && mv /usr/sbin/new /usr/sbin/dockerd")
    docker.play("node2", docker_log_max_files=7).succeeded()
    assert docker.engine("node2") != engine
    assert docker.play("node2", docker_log_max_files=7).succeeded().changed == []


def test_keys_of_others_stay_until_the_operator_deletes_them(docker):
    theirs = {**docker.config("node1"), "max-concurrent-uploads": 2, "log-opts": {"tag": "site", "max-size": "9g"}}
    docker.on("node1", f"echo '{json.dumps(theirs)}' >{FILE}")
    docker.play("node1", docker_options={"labels": ["rack=4"]}).succeeded()
    assert docker.config("node1")["labels"] == ["rack=4"]
    assert docker.config("node1")["max-concurrent-uploads"] == 2
    assert docker.config("node1")["log-opts"] == {"tag": "site", "max-size": "50m", "max-file": "3"}, "ours comes back"
    docker.play("node1").succeeded()
    assert "labels" not in docker.config("node1")
    assert docker.config("node1")["max-concurrent-uploads"] == 2
    docker.play("node1", docker_options={"max-concurrent-uploads": None, "log-opts": {"tag": None}}).succeeded()
    assert "max-concurrent-uploads" not in docker.config("node1")
    assert docker.play("node1").succeeded().changed == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"no-such-key": 1}, "no-such-key"),
        ({"live-restore": "often"}, "live-restore"),
        ({"hosts": ["tcp://127.0.0.1:2375"]}, "specified both as a flag and in the configuration file: hosts"),
    ],
)
def test_what_dockerd_does_not_take_never_lands(docker, options, words):
    before, engine = docker.config("node1"), docker.engine("node1")
    refused = docker.play("node1", docker_options=options)
    refused.failed_with(f"{FILE} was left as it is, dockerd refuses the new one", words, "Correct docker_options")
    assert docker.config("node1") == before
    assert docker.engine("node1") == engine
    assert docker.play("node1").succeeded().changed == []


def test_a_broken_file_is_refused_and_left_alone(docker):
    docker.on("node1", f"cp {FILE} /root/kept && echo '{{broken' >{FILE}")
    docker.play("node1").failed_with(f"{FILE} is not JSON", "correct it, or move it away")
    assert docker.on("node1", f"cat {FILE}") == "{broken"
    docker.on("node1", f"cp /root/kept {FILE}")
    assert docker.play("node1").succeeded().changed == []


def test_only_named_users_may_use_it(docker):
    assert docker.on("node1", "getent group docker").endswith(":")
    docker.on("node1", "useradd somebody")
    docker.play("node1", docker_users=["somebody"]).succeeded()
    assert docker.on("node1", "id -nG somebody").split() == ["somebody", "docker"]
    assert docker.play("node1", docker_users=["somebody"]).succeeded().changed == []


def test_the_engine_goes_through_a_proxy(docker):
    proxy = {"https": "http://user:p%40ss@proxy.example:3128", "except": ["192.0.2.0/24"]}
    docker.play("node1", docker_proxy=proxy).succeeded()
    assert docker.info("node1", "HTTPSProxy").endswith("@proxy.example:3128")
    assert docker.on("node1", "runuser -u nobody -- systemctl show docker | grep -c p%40ss || true") == "0"
    assert {"192.0.2.0/24", "head", "node2"} <= set(docker.info("node1", "NoProxy").split(","))
    docker.play("node1").succeeded()
    assert docker.info("node1", "HTTPSProxy") == ""


@pytest.fixture
def repository(docker, tmp_path):
    """A signed repository in the shared folder, with a package that no other source has."""
    folder = docker.cluster.directory / "shared/repository"
    folder.mkdir()
    stub_packages.build_deb(folder, "site-engine", "1", {}, depends="docker.io")
    signer = Signer(tmp_path / "key")
    signer.sign(stub_packages.index(folder))
    key = tmp_path / "key.asc"
    key.write_text(signer.public)
    yield {"url": "file:///userhome/repository", "suite": "./", "key": str(key)}
    signer.close()
    shutil.rmtree(folder)


def test_an_engine_from_a_given_repository(docker, repository):
    wanted = {"docker_repository": repository, "docker_packages": ["site-engine"]}
    docker.play("node2", **wanted).succeeded()
    assert docker.on("node2", "dpkg-query -W -f '${db:Status-Status}' site-engine") == "installed"
    assert docker.play("node2", **wanted).succeeded().changed == []
    docker.play("node2", docker_repository={"url": "file:///userhome/repository"}).failed_with(
        "parameters are required together: url, key found in docker_repository"
    )
    docker.play("node2").succeeded()
    docker.on("node2", "! ls /etc/apt/sources.list.d/rackmark-docker.sources /etc/apt/keyrings/rackmark-docker.asc")
