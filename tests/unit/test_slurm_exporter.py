"""The Slurm exporter with programs in place of Slurm's that answer, hang, fail or talk nonsense."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "roles/slurm_exporter/files"))
sys.path.insert(0, str(Path(__file__).parents[2] / "roles/monitoring_access/files"))

from slurm_exporter import cache as cache_module
from unit.slurm_programs_fixture import ALL, FOLDERS, HANGS, NO_ACCOUNTING, NODES, UP, Slurm


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    return Slurm(tmp_path, monkeypatch)


def ups(metrics):
    return {name: metrics.get(("query_up", name)) for name in ALL}


def test_a_healthy_cluster(slurm):
    began = time.monotonic()
    metrics = slurm.scrape_until(lambda found: all(ups(found).values()))
    assert metrics["nodes", "mixed"] == metrics["nodes", "down"] == metrics["partition_nodes", "compute", "down"] == 1
    assert metrics["nodes", "idle"] == 0
    assert metrics["node_out_of_service", "n2", 'no "fan" \\ é', "down"] == 1
    assert [key for key in metrics if key[0] == "node_powered_down"] == [("node_powered_down", "n3")]
    assert {state: metrics["cpus", state] for state in ("allocated", "idle", "other", "total")} == {
        "allocated": 1,
        "idle": 3,
        "other": 4,
        "total": 8,
    }
    assert (metrics["devices", "compute", "gpu"], metrics["devices_allocated", "compute", "gpu", "ann"]) == (16, 2)
    assert (metrics["jobs", "compute", "running"], metrics["jobs", "compute", "pending"]) == (1, 0)
    assert (metrics["queue_wait_seconds", "compute"], metrics["oldest_pending_seconds", "compute"]) == (30, 0)
    assert (metrics["controller_up", "head", "primary"], metrics[("database_up",)], metrics[("database_queue",)]) == (
        1,
        1,
        3,
    )
    assert all(0 <= metrics["query_age_seconds", name] < time.monotonic() - began for name in ALL)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (HANGS, "squeue gave no answer within 0.25 s and was ended."),
        ("while echo -n x; do sleep 0.05; done", "squeue gave no answer within 0.25 s and was ended."),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", "status 1: Unable to contact slurm controller."),
        ("head -c 3000 /dev/urandom", "squeue prints a job that cannot be read"),
        ("kill -9 $$", "squeue failed with status -9: it gave no reason."),
    ],
)
def test_one_question_without_an_answer_holds_no_other_one_up(slurm, capfd, script, sentence):
    slurm.limit = 0.25
    slurm.does("jobs", script)
    others = {"nodes": 1, "jobs": 0, "searches": 1, "controllers": 1, "database": 1}
    metrics = slurm.scrape_until(lambda found: ("query_duration_seconds", "jobs") in found and ups(found) == others)
    assert metrics["nodes", "mixed"] == 1
    assert not [name for name, *_ in metrics if name.startswith(("jobs", "oldest", "queue_wait", "devices_a"))]
    assert sentence in capfd.readouterr().err


def test_a_sentence_is_said_once_until_all_is_well(slurm, capfd):
    slurm.does("ping", "echo nonsense; exit 1")
    slurm.scrape_until(lambda _: len(slurm.started("ping")) > 3)
    slurm.prints("ping", UP)
    slurm.scrape_until(lambda found: found.get(("controller_up", "head", "primary")))
    assert capfd.readouterr().err.splitlines() == [
        "Slurm's controllers: 'scontrol ping' names no controller but says 'nonsense'.",
        "Slurm's controllers can be asked again.",
    ]


def test_commands_that_hang_never_pile_up_and_leave_nothing_behind(slurm):
    slurm.limit = 2
    slurm.does("nodes", HANGS)
    slurm.scrape()
    slurm.scrape()
    threads = [threading.Thread(target=slurm.scrape) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (pid,) = slurm.started("nodes")
    assert os.getpgid(pid) == pid
    slurm.prints("nodes", NODES)
    slurm.scrape_until(lambda found: found["query_up", "nodes"])
    assert alive_in_group(pid) == []


def alive_in_group(group: int) -> list[str]:
    """Zombies only wait for the system to take note."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(path.read_text())
    return found


def test_the_last_values_stay_for_a_while_with_their_age_and_come_back(slurm, monkeypatch):
    slurm.limit = 0.25
    slurm.scrape_until(lambda found: all(ups(found).values()))
    slurm.does("nodes", HANGS)
    slurm.does("ping", HANGS)
    metrics = slurm.scrape_until(lambda found: not found["query_up", "nodes"] and not found["query_up", "controllers"])
    assert (metrics["nodes", "mixed"], metrics["cpus", "total"]) == (1, 8)
    assert metrics["query_age_seconds", "nodes"] > 0.2
    assert metrics["query_duration_seconds", "nodes"] > 0.2
    assert not [name for name, *_ in metrics if name == "controller_up"]  # that it was up is not that it is
    with monkeypatch.context() as later:
        later.setattr(cache_module, "OLDEST", 0.1)
        metrics = slurm.scrape()
    assert not [name for name, *_ in metrics if name in ("nodes", "cpus")]
    assert ("query_age_seconds", "nodes") not in metrics
    slurm.prints("nodes", NODES.replace("MIXED", "IDLE"))
    slurm.prints("ping", UP)
    assert slurm.scrape_until(lambda found: all(ups(found).values()))["nodes", "idle"] == 1


def test_slurm_is_asked_once_for_scrapes_that_follow_each_other(slurm):
    slurm.interval = 15
    slurm.scrape_until(lambda found: all(ups(found).values()))
    time.sleep(0.05)
    metrics = slurm.scrape()
    assert [len(slurm.started(what)) for what in ("nodes", "jobs", "ping", "sacctmgr", "sdiag")] == [1] * 5
    assert metrics["query_age_seconds", "nodes"] > 0.05


def test_a_controller_that_is_down_is_an_answer(slurm):
    slurm.does("ping", "echo 'Slurmctld(primary) at head is DOWN'; echo 'Slurmctld(backup) at b is UP'; exit 1")
    metrics = slurm.scrape_until(lambda found: all(ups(found).values()))
    assert (metrics["controller_up", "head", "primary"], metrics["controller_up", "b", "backup"]) == (0, 1)


@pytest.mark.parametrize("script", ["echo 'sacctmgr: error: Connection refused' >&2; exit 1", HANGS, "true"])
def test_a_database_that_does_not_answer_is_down(slurm, script):
    slurm.limit = 0.5
    slurm.does("sacctmgr", script)
    metrics = slurm.scrape_until(lambda found: ("database_up",) in found and ("database_queue",) in found)
    assert (metrics[("database_up",)], metrics["query_up", "database"], metrics[("database_queue",)]) == (0, 0, 3)


def test_what_the_database_waits_for_is_not_known_without_a_controller(slurm):
    slurm.does("sdiag", "exit 1")
    metrics = slurm.scrape_until(lambda found: ("database_up",) in found)
    assert (metrics[("database_up",)], metrics["query_up", "database"]) == (1, 0)
    assert ("database_queue",) not in metrics


def test_without_accounting_there_is_no_database(slurm):
    slurm.does("sacctmgr", NO_ACCOUNTING)
    metrics = slurm.scrape_until(lambda found: ("query_up", "database") not in found)
    assert not [key for key in metrics if "database" in " ".join(key)]


@pytest.mark.parametrize(
    ("private", "running", "level", "up"),
    [("jobs,usage", 1, "None", 0), ("jobs,usage", 1, "Operator", 1), ("jobs", 0, "None", 1), ("none", 1, "None", 1)],
)
def test_jobs_that_slurm_hides_are_not_taken_for_none(slurm, private, running, level, up):
    slurm.prints("jobs", "")
    slurm.does("sacctmgr", f"echo {level}")
    slurm.does("config", f"echo 'PrivateData             = {private}'")
    slurm.does("sdiag", f"echo 'Jobs running:   {running}'; echo 'DBD Agent queue size: 0'")
    metrics = slurm.scrape_until(lambda found: ("query_duration_seconds", "jobs") in found)
    assert metrics["query_up", "jobs"] == up
    assert (("jobs", "compute", "running") in metrics) == bool(up)


def test_programs_that_are_not_there_are_named(slurm, capfd):
    for name in ("squeue", "sacctmgr"):
        (slurm.folder / name).unlink()
        (slurm.folder / name).mkdir()
    metrics = slurm.scrape_until(lambda found: ("query_duration_seconds", "jobs") in found and ups(found)["nodes"])
    assert metrics["query_up", "jobs"] == 0
    assert "squeue cannot be started" in capfd.readouterr().err


def test_the_program_serves_them(slurm):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "slurm_exporter", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ":".join(FOLDERS)})
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    text = answer.read().decode()
                break
            except OSError:
                assert time.monotonic() < deadline and process.poll() is None
                time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert 'rackmark_slurm_query_up{query="nodes"} 1.0' in text
    assert 'rackmark_slurm_nodes{state="mixed"} 1.0' in text
