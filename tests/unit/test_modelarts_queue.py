"""ModelArts as a queue: what is asked of it when answers are lost, jobs are missing, or it refuses."""

from __future__ import annotations

import json

import pytest
from rackmark.modelarts.errors import CloudAwayError, CloudError, NoSuchJobError
from rackmark.modelarts.session import Session
from rackmark.modelarts.settings import FLAVORS, settings_of
from rackmark.node.job_record import JobRecord
from rackmark.run.job_state import JobState, QueueError, write_state
from rackmark.run.queues.modelarts import ModelArtsQueue
from rackmark.run.queues.queue import Devices, QueuedJob, Setting

RUN = "20261118-101500-modelarts"
OPTIONS = settings_of(
    {
        "region": "cn-north-4",
        "project_id": "a1",
        "bucket": "bench",
        "code": "/code",
        "boot": "train.py",
        "endpoint": "https://m.example",
        "obs_endpoint": "https://obs.example",
        "engine": "e",
        "engine_version": "1",
    }
).data_for_json()


class Cloud:
    """Keeps the jobs that it is given; `lost` answers do not arrive, `refused` names are not taken."""

    def __init__(self):
        self.jobs, self.lost, self.refused, self.listed = {}, False, "", True
        self.away, self.ended, self.searches, self.said = False, [], 0, []

    def create(self, request):
        name = request["metadata"]["name"]
        if self.refused and self.refused in name:
            raise CloudError("no quota")
        job_id = f"id-{len(self.jobs) + 1}"
        self.jobs[job_id] = {"metadata": {"id": job_id, "name": name}, "status": {"phase": "Creating"}}
        if self.lost:
            raise CloudAwayError("timeout")
        return self.jobs[job_id]

    def search(self, name):
        self.searches += 1
        if self.away:
            raise CloudAwayError("ModelArts does not answer")
        return [job for job in self.jobs.values() if self.listed and name in job["metadata"]["name"]]

    def show(self, job_id):
        if job_id not in self.jobs:
            raise NoSuchJobError("gone")
        return self.jobs[job_id]

    def terminate(self, job_id):
        if self.jobs[job_id]["status"]["phase"] == "Completed":
            raise CloudError("cannot be terminated")
        self.ended.append(job_id)

    def last_lines(self, job_id, worker):
        return "epoch 3"

    def flavors(self):
        return dict.fromkeys(FLAVORS.values(), 2)

    def simulated(self):
        return self.said

    def phase(self, job_id, phase):
        self.jobs[job_id]["status"]["phase"] = phase


class Bucket:
    def __init__(self):
        self.fetched = []

    def fetch(self, bucket, prefix, folder):
        self.fetched.append(prefix)
        folder.mkdir(exist_ok=True)
        if prefix.endswith("/log/"):
            (folder / "modelarts-job-x-worker-0.log").write_text("done\n")
        return []


@pytest.fixture
def cloud(monkeypatch):
    made = Cloud()
    monkeypatch.setattr(Session, "client", made)
    return made


@pytest.fixture
def bucket(monkeypatch):
    made = Bucket()
    monkeypatch.setattr(Session, "store", made)
    return made


@pytest.fixture
def jobs(tmp_path):
    made = []
    for number in (1, 2):
        folder = tmp_path / RUN / f"cases/2n8g/r{number}"
        folder.mkdir(parents=True)
        name = f"rackmark:{RUN}:2n8g:{number}"
        record = JobRecord(name, "2n8g", number, "modelarts", 2, 8, ["python"], "npu", 480, 1)
        (folder / "record.json").write_text(record.text())
        made.append(QueuedJob(name, folder, 2, 8, 480))
    (tmp_path / RUN / "manifest.json").write_text(json.dumps({"options": OPTIONS}))
    return made


def queue_of(jobs):
    """Another process each time."""
    return ModelArtsQueue(Setting(lambda _: (1, "", ""), jobs[0].folder.parents[2]))


def states(jobs):
    return {name[-1]: state.state for name, state in queue_of(jobs).states([job.name for job in jobs]).items()}


def test_jobs_are_found_again_by_who_knows_the_run_alone(cloud, bucket, jobs):
    assert states(jobs) == {}
    ids = queue_of(jobs).submit(jobs)
    assert list(ids.values()) == ["id-1", "id-2"]
    cloud.phase("id-1", "Running")
    assert states(jobs) == {"1": "RUNNING", "2": "PENDING"}
    assert (jobs[0].folder / "following.log").read_text() == "epoch 3\n"
    assert bucket.fetched == []


def test_a_job_whose_answer_was_lost_is_not_submitted_twice(cloud, bucket, jobs):
    cloud.lost = True
    assert queue_of(jobs).submit(jobs[:1]) == {jobs[0].name: "id-1"}
    # And one whose process died before it heard of it.
    (jobs[0].folder / "modelarts.json").write_text(
        json.dumps({**json.loads((jobs[0].folder / "modelarts.json").read_text()), "job_id": ""})
    )
    assert states(jobs) == {"1": "PENDING"}
    assert json.loads((jobs[0].folder / "modelarts.json").read_text())["job_id"] == "id-1"


def test_all_are_submitted_or_none(cloud, jobs):
    cloud.refused = "-2n8g-2"
    with pytest.raises(QueueError, match="no quota"):
        queue_of(jobs).submit(jobs)
    assert cloud.ended == ["id-1"]
    with pytest.raises(QueueError, match="benchmark_one_at_a_time has no use with ModelArts"):
        queue_of(jobs).submit(jobs, one_at_a_time=True)


def test_a_list_that_lacks_a_new_job_does_not_end_it(cloud, bucket, jobs):
    queue_of(jobs).submit(jobs)
    cloud.listed = False
    assert states(jobs) == {"1": "PENDING", "2": "PENDING"}
    del cloud.jobs["id-2"]
    found = queue_of(jobs).states([job.name for job in jobs])
    assert (found[jobs[1].name].state, found[jobs[1].name].reason) == ("CANCELLED", "ModelArts no longer has the job")


def test_results_are_there_when_a_job_shows_as_ended_and_fetched_once(cloud, bucket, jobs):
    queue_of(jobs).submit(jobs)
    cloud.phase("id-1", "Completed")
    for _ in range(2):
        assert states(jobs)["1"] == "COMPLETED"
    place = f"rackmark/{RUN}/2n8g/r1"
    assert bucket.fetched == [f"{place}/out/", f"{place}/log/"]
    assert (jobs[0].folder / "worker-0.log").read_text() == "done\n"
    assert json.loads((jobs[0].folder / "end.json").read_text())["state"] == "ok"
    phases = json.loads((jobs[0].folder / "modelarts.json").read_text())["phases"]
    assert [each["phase"] for each in phases] == ["Creating", "Completed"]


def test_a_second_attempt_has_places_of_its_own(cloud, bucket, jobs):
    queue_of(jobs).submit(jobs[:1])
    (jobs[0].folder / "attempt-1").mkdir()
    (jobs[0].folder / "modelarts.json").rename(jobs[0].folder / "attempt-1/modelarts.json")
    queue_of(jobs).submit(jobs[:1])
    request = json.loads((jobs[0].folder / "modelarts.json").read_text())["request"]
    assert request["metadata"]["name"].endswith("-2n8g-1-a2")
    cloud.phase("id-1", "Failed")
    assert states(jobs) == {"1": "PENDING"}, "the first attempt counts no more"
    cloud.phase("id-2", "Completed")
    assert states(jobs) == {"1": "COMPLETED"}
    assert bucket.fetched[0] == f"rackmark/{RUN}/2n8g/r1-a2/out/"


def test_jobs_that_were_written_down_as_ended_are_not_asked_about(cloud, jobs):
    for job in jobs:
        write_state(job.folder, JobState("id", job.name, "COMPLETED"))
    cloud.away = True
    assert states(jobs) == {"1": "COMPLETED", "2": "COMPLETED"}
    assert cloud.searches == 0


def test_a_cloud_that_is_away_is_a_sentence(cloud, jobs):
    queue_of(jobs).submit(jobs)
    cloud.away = True
    with pytest.raises(QueueError, match="ModelArts does not answer"):
        states(jobs)


def test_only_what_runs_is_ended_and_only_once(cloud, bucket, jobs):
    queue = queue_of(jobs)
    queue.submit(jobs)
    found = queue.states([job.name for job in jobs])
    cloud.phase("id-2", "Completed")  # meanwhile
    for _ in range(3):
        queue.cancel(found)
    assert cloud.ended == ["id-1"]


def test_what_the_project_may_not_use_is_said_before(cloud, tmp_path, jobs):
    queue = queue_of(jobs)
    place = queue.place(Devices())
    assert (place.nodes, place.devices_per_node, place.device, place.simulated) == (2, 8, "npu", [])
    cloud.said = ["modelarts"]
    assert (queue.place(Devices()).device, queue.place(Devices(device="npu")).device) == ("cpu", "npu")
    with pytest.raises(QueueError, match=r"^3n8g: a job may have 2 servers modelarts.kat1.8xlarge at most\.$"):
        queue.check(QueuedJob("n", tmp_path, 3, 8))
    cloud.flavors = lambda: {"other": None}
    with pytest.raises(
        QueueError, match=r"the project has no servers modelarts.kat1.8xlarge, its flavors are other\.$"
    ):
        queue.check(QueuedJob("n", tmp_path, 1, 8))


def test_without_settings_the_way_is_said(tmp_path):
    with pytest.raises(QueueError, match=r"start the run with run_modelarts\.yml"):
        ModelArtsQueue(Setting(lambda _: (1, "", ""), tmp_path)).place(Devices())
