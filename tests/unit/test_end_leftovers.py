"""What ends a job's leftovers, where Docker was stopped, runs, or cannot be asked."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "roles/slurm_health/files/end_leftovers.py"


@pytest.fixture
def leftovers(tmp_path, monkeypatch):
    """With an engine's client that cannot do anything."""
    spec = importlib.util.spec_from_file_location("end_leftovers", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    client = tmp_path / "docker"
    client.write_text("#!/bin/sh\necho Cannot connect to the Docker daemon >&2; exit 1\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    module.DOCKER = tmp_path / "docker.sock"
    return module


@pytest.fixture
def engine(leftovers):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(leftovers.DOCKER))
        listening.listen()
        yield listening


def test_a_node_without_docker_is_not_drained_for_it(leftovers):
    assert leftovers.end_containers("7") == []


def test_a_node_whose_docker_was_stopped_is_not_drained_for_it(leftovers, engine):
    engine.close()
    assert leftovers.DOCKER.exists()
    assert leftovers.end_containers("7") == []


def test_an_engine_that_cannot_say_what_is_left_is_a_complaint(leftovers, engine):
    (complaint,) = leftovers.end_containers("7")
    assert complaint.startswith("containers of job 7 could not be ended") and "Cannot connect" in complaint


def test_containers_that_outlive_their_engine_are_a_complaint(leftovers, tmp_path):
    program = tmp_path / "containerd-shim"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "60"]) as container:
        try:
            assert len(leftovers.end_containers("7")) == 1
        finally:
            container.kill()
