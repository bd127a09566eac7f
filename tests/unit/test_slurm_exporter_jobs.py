"""What the exporter makes of Slurm's list of jobs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "roles/slurm_exporter/files"))

from slurm_exporter import jobs
from unit.slurm_jobs_fixture import JOBS, NOW, squeue


def test_jobs():
    found = jobs.parse_jobs(squeue(JOBS), NOW)
    assert found.states == {
        ("compute", "pending"): 5,
        ("urgent", "pending"): 1,
        ("compute", "running"): 2,
        ("compute", "completing"): 1,
    }
    assert found.pending["urgent", "ReqNodeNotAvail"] == 1
    assert found.oldest_pending == {"compute": NOW - 1795046658}
    assert found.queue_wait == {"compute": 15}
    assert found.cpus == {("compute", "ann"): 3, ("compute", "bob"): 2}
    assert found.devices == {("compute", "ann", "gpu"): 7, ("compute", "bob", "nic"): 2}


@pytest.mark.parametrize(
    "reason",
    [
        *("BeginTime", "Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue"),
        *("JobArrayTaskLimit", "launch failed requeued held", "job requeued in held state", "Reservation", "Licenses"),
        *("ReservationDeleted", "ReqNodeNotAvail, Reserved for maintenance", "AssocGrpCpuLimit", "AssocMaxJobsLimit"),
        *("QOSMaxJobsPerUserLimit", "QOSNotAllowed", "InvalidAccount", "InvalidQOS", "AccountNotAllowed"),
        *("MaxCpuPerAccount", "PartitionTimeLimit", "PartitionNodeLimit"),
    ],
)
def test_a_job_that_its_user_or_a_rule_holds_back_could_not_start(reason):
    row = ("compute", "PENDING", "ann", reason, "100", "100", "N/A", "cpu=1")
    assert jobs.parse_jobs(squeue([row]), NOW).oldest_pending == {}


@pytest.mark.parametrize("reason", ["None", "Resources", "Priority", "NodeDown", "BadConstraints", "PartitionDown"])
def test_a_job_that_waits_for_the_cluster_could_start(reason):
    row = ("compute", "PENDING", "ann", reason, "100", "100", "N/A", "cpu=1")
    assert jobs.parse_jobs(squeue([row]), NOW).oldest_pending == {"compute": NOW - 100}


def test_no_jobs_are_an_answer():
    assert jobs.parse_jobs(b"", NOW) == ({}, {}, {}, {}, {}, {})


def test_devices_with_a_model_are_counted_once():
    assert jobs.held("cpu=4,mem=8G,gres/gpu=2,gres/gpu:a100=2") == (4, {"gpu": 2})
    assert jobs.held("cpu=4,gres/gpu:a100=2,gres/gpu:h100=1") == (4, {"gpu": 3})


def test_a_user_name_of_any_kind_is_kept_apart():
    row = ("compute", "RUNNING", 'DOM\\an"n|é RUNNING', "None", "1", "1", "2", "cpu=1")
    assert jobs.parse_jobs(squeue([row]), NOW).cpus == {("compute", 'DOM\\an"n|é RUNNING'): 1}
    long = jobs.parse_jobs(squeue([("compute", "RUNNING", "é" * 5000, *row[3:])]), NOW)
    assert len(next(iter(long.cpus))[1]) <= 96
