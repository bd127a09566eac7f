"""The jobs of a run as training jobs in ModelArts: the cloud's own queue, asked from this machine."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Collection, Iterable, Mapping, Sequence

from ...modelarts.bring_back import bring_back
from ...modelarts.errors import CloudAwayError, CloudError, NoSuchJobError, SettingsError
from ...modelarts.job_file import JobFile, read_job_file, write_job_file
from ...modelarts.phases import ENDED, job_state
from ...modelarts.request import Attempt, attempt_named, check_size, name_of_run
from ...modelarts.session import Session, attempt_at, sentences
from ...node.job_record import JobRecord, read_record
from ...node.vendors import CPU, DEVICES
from ..job_state import END, JobId, JobState, QueueError, read_state
from ..place import Place
from ..run_folder import STOPPED
from .queue import FOLLOWING, Devices, QueuedJob, Setting, Stuck, Traits

_SDK = "huaweicloudsdkmodelarts"
_ASK_TO_END_AGAIN = 10.0
_MANY = 1024  # servers, where ModelArts does not say how many a job may have
_EARLIER = re.compile(r"attempt-\d+")


class ModelArtsQueue:
    traits = Traits(
        "modelarts",
        "As training jobs in ModelArts, on servers of the cloud",
        shown_by="ModelArts' console",
        starts_on="here",
        on_cluster=False,
        engine=False,
        silence=300.0,
        role="modelarts",
        playbook="run_modelarts.yml",
    )

    def __init__(self, setting: Setting) -> None:
        self._run = Session(setting.run_dir, setting.options, setting.secrets)
        self._asked_to_end: dict[str, float] = {}

    def place(self, devices: Devices) -> Place:
        """Servers are there when they are asked for; what a job may have of them, ModelArts says."""
        settings = self._run.settings
        with sentences():
            flavors = self._run.client.flavors()
            simulated = self._run.client.simulated()
        device = devices.device if devices.device != "auto" else CPU if simulated else "npu"
        if device not in DEVICES:
            raise ValueError(f"benchmark_device is {device!r}: use auto, {', '.join(DEVICES)}.")
        return Place(
            nodes=_MANY if settings.pool_id else max(flavors.get(each) or _MANY for each in settings.flavors.values()),
            devices_per_node=max(map(int, settings.flavors)),
            device=device,
            simulated=simulated,
        )

    def versions(self) -> Mapping[str, str]:
        try:
            return {_SDK: version(_SDK)}
        except PackageNotFoundError:
            return {}

    def check(self, largest: QueuedJob) -> None:
        self.check_access([largest])

    def check_access(self, jobs: Sequence[QueuedJob]) -> None:
        """Whether the project may use the servers that they need."""
        with sentences():
            flavors = self._run.client.flavors() if jobs else {}
            for job in jobs:
                check_size(self._run.settings, *job.size())
                self._check_flavor(job, flavors)

    def script_head(self, _job: QueuedJob) -> Sequence[str]:
        return []

    def request(self, job: QueuedJob, record: JobRecord) -> str:
        with sentences():
            body = self._run.request(attempt_at(job.name), job.size(), job.minutes, record)
        return json.dumps(body, indent=1)

    def submit(
        self,
        jobs: Sequence[QueuedJob],
        running: Sequence[JobId] = (),
        one_at_a_time: bool = False,
        leftovers: Collection[str] = (),
    ) -> dict[str, JobId]:
        """ModelArts starts each as soon as there are servers for it."""
        if one_at_a_time:
            raise QueueError(
                "benchmark_one_at_a_time has no use with ModelArts, where no job waits for another and each has servers"
                " of its own: leave it out."
            )
        ids: dict[str, JobId] = {}
        for job in jobs:
            try:
                if (self._run.run_dir / STOPPED).exists():
                    raise QueueError("The run was stopped while its jobs were submitted.")
                ids[job.name] = self._submit(job)
            except QueueError as error:
                self._take_back(ids, error)
                raise
        return ids

    def states(self, names: Iterable[str]) -> dict[str, JobState]:
        """One search for all; those that were written down as ended are not asked about again. Of one that has ended
        its results and logs are brought to its folder first."""
        folders = {name: self._run.folder(name) for name in names}
        found = {name: state for name, folder in folders.items() if (state := read_state(folder)) and state.finished}
        left = {name: folder for name, folder in folders.items() if name not in found}
        with sentences():
            shown = self._shown() if left else {}
            for name, folder in left.items():
                state = self._state(name, folder, shown)
                if state is not None:
                    found[name] = state
        return found

    def remembered(self, _names: Iterable[str]) -> dict[str, JobState]:
        """ModelArts shows jobs until somebody deletes them."""
        return {}

    def hopeless(self, _states: Mapping[str, JobState]) -> Mapping[str, str]:
        return {}

    def stuck(self, _jobs: Sequence[QueuedJob], _states: Mapping[str, JobState]) -> Mapping[str, Stuck]:
        return {}

    def cancel(self, states: Mapping[str, JobState]) -> None:
        """By their ids. One that ends at this moment is refused, and seen as ended the next time."""
        now = time.monotonic()
        for name, state in states.items():
            recently = now - self._asked_to_end.get(name, -_ASK_TO_END_AGAIN) < _ASK_TO_END_AGAIN
            if state.finished or state.state == "COMPLETING" or recently:
                continue
            self._asked_to_end[name] = now
            with sentences():
                try:
                    self._run.client.terminate(str(state.job_id))
                except CloudAwayError:
                    raise
                except CloudError:
                    continue

    def last_word(self, state: JobState) -> JobState:
        return state

    def _check_flavor(self, job: QueuedJob, flavors: Mapping[str, int | None]) -> None:
        settings = self._run.settings
        if settings.pool_id:
            return
        flavor = settings.flavors[str(job.devices_per_node)]
        case = f"{job.nodes}n{job.devices_per_node}g"
        if flavor not in flavors:
            known = ", ".join(sorted(flavors)) or "none"
            raise SettingsError(f"{case}: the project has no servers {flavor}, its flavors are {known}.")
        most = flavors[flavor]
        if most is not None and job.nodes > most:
            raise SettingsError(f"{case}: a job may have {most} servers {flavor} at most.")

    def _submit(self, job: QueuedJob) -> str:
        """What is asked for is written down before, so that a job whose id was never heard is found by its name."""
        number = 1 + sum(bool(_EARLIER.fullmatch(path.name)) for path in job.folder.iterdir())
        with sentences():
            body = self._run.request(attempt_at(job.name, number), job.size(), job.minutes, read_record(job.folder))
            record = JobFile(body["metadata"]["name"], number, body)
            write_job_file(job.folder, record)
            answer = self._create(record)
        job_id = str((answer.get("metadata") or {}).get("id") or "")
        if not job_id:
            raise QueueError(f"ModelArts took {record.name} and did not say the job's id: look at its console.")
        known = replace(record, job_id=job_id, simulated=self._run.client.simulated())
        write_job_file(job.folder, known.seen(_phase(answer)))
        return job_id

    def _create(self, record: JobFile) -> dict[str, Any]:
        """Where the answer was lost the job may be there all the same."""
        try:
            return self._run.client.create(record.request)
        except CloudAwayError:
            for job in self._run.client.search(record.name):
                if (job.get("metadata") or {}).get("name") == record.name:
                    return job
            raise

    def _take_back(self, ids: Mapping[str, JobId], error: QueueError) -> None:
        try:
            self.cancel({name: JobState(job_id, name, "PENDING") for name, job_id in ids.items()})
        except QueueError:
            raise QueueError(f"{error} {len(ids)} jobs are still there: end them with playbooks/stop.yml.") from error

    def _shown(self) -> dict[Attempt, dict[str, Any]]:
        """The jobs of this run, as ModelArts lists them."""
        found = {}
        for job in self._run.client.search(f"{name_of_run(self._run.run_id)}-"):
            attempt = attempt_named(self._run.run_id, str((job.get("metadata") or {}).get("name") or ""))
            if attempt is not None:
                found[attempt] = job
        return found

    def _state(self, name: str, folder: Path, shown: Mapping[Attempt, Mapping[str, Any]]) -> JobState | None:
        """Of the latest attempt; None where none was submitted."""
        record = read_job_file(folder)
        listed = None if record is None else shown.get(attempt_at(name, record.attempt))
        if record is None or (listed is None and not record.job_id):
            return None
        attempt = attempt_at(name, record.attempt)
        job_id = record.job_id or str((listed or {}).get("metadata", {}).get("id") or "")
        if listed is None or _phase(listed) in ENDED:  # a list may lack a new job, and what became of workers
            try:
                listed = self._run.client.show(job_id)
            except NoSuchJobError:
                gone = JobState(job_id, name, "CANCELLED", reason="ModelArts no longer has the job")
                self._bring_back(attempt, folder, {}, gone)
                return gone
        with suppress(OSError):  # a full disk ends no watch
            if (learnt := replace(record, job_id=job_id).seen(_phase(listed))) != record:
                write_job_file(folder, learnt)
        state = job_state(name, listed)
        if state.state == "RUNNING":
            self._keep_last_lines(folder, job_id)
        if state.finished:
            self._bring_back(attempt, folder, listed, state)
        return state

    def _bring_back(self, attempt: Attempt, folder: Path, shown: Mapping[str, Any], state: JobState) -> None:
        """Once: the record of the end is written last."""
        if not (folder / END).exists():
            bring_back(self._run.store, self._run.settings.bucket, self._run.prefix(attempt), folder, shown, state)
            (folder / FOLLOWING).unlink(missing_ok=True)

    def _keep_last_lines(self, folder: Path, job_id: str) -> None:
        """For who watches; the whole logs come with the results."""
        with suppress(CloudError, OSError):
            if text := self._run.client.last_lines(job_id, 0):
                (folder / FOLLOWING).write_text(text + "\n")


def _phase(job: Mapping[str, Any]) -> str:
    return str((job.get("status") or {}).get("phase") or "")
