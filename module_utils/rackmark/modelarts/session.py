"""A run in the cloud as its queue sees it: what it was told, the services with their keys, the names of its jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from ..node.job_record import JobRecord, RecordError
from ..run.job_state import QueueError
from . import own_code
from .client import Client
from .cloud import client_of, keys_of, store_of
from .credentials import Credentials
from .errors import CloudError, CredentialsError, SettingsError, StoreError
from .request import Attempt, job_request
from .settings import Settings, settings_of
from .store import Store


@contextmanager
def sentences() -> Iterator[None]:
    """Troubles with the cloud are troubles with the queue."""
    try:
        yield
    except (CloudError, StoreError, CredentialsError, SettingsError, RecordError) as error:
        raise QueueError(str(error)) from None


class Session:
    """What a run is told is in its manifest, so that who follows, resumes or stops it needs its name alone."""

    def __init__(self, run_dir: Path, options: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        self.run_dir = run_dir
        self._options = options
        self._secrets = secrets

    @cached_property
    def settings(self) -> Settings:
        """Of a run that was begun, those it was begun with."""
        try:
            options = json.loads((self.run_dir / "manifest.json").read_text())["options"]
        except (OSError, ValueError, KeyError, TypeError):
            options = self._options
        if not options:
            raise QueueError("ModelArts is not told where it is: start the run with run_modelarts.yml.")
        return settings_of(options)

    @cached_property
    def client(self) -> Client:
        return client_of(self.settings, self._keys)

    @cached_property
    def store(self) -> Store:
        return store_of(self.settings, self._keys)

    @cached_property
    def _keys(self) -> Credentials:
        with sentences():
            return keys_of(self.settings, self._secrets)

    @property
    def run_id(self) -> str:
        return self.run_dir.name

    def folder(self, name: str) -> Path:
        attempt = attempt_at(name)
        return self.run_dir / "cases" / attempt.case / f"r{attempt.repeat}"

    def prefix(self, attempt: Attempt) -> str:
        """Of what a job writes in the bucket."""
        return f"{self.settings.prefix(attempt.run_id)}/{attempt.folder}"

    def request(self, attempt: Attempt, size: tuple[int, int], minutes: int, record: JobRecord) -> dict[str, Any]:
        ours = self.settings.boot == own_code.BOOT
        told = own_code.environments(record, str(self.run_dir)) if ours else {}
        return job_request(self.settings, attempt, *size, minutes, told)


def attempt_at(name: str, number: int = 1) -> Attempt:
    """`name` is that of a job in the plan: rackmark:<run>:<case>:<repeat>."""
    run_id, case, repeat = name.partition(":")[2].rsplit(":", 2)
    return Attempt(run_id, case, int(repeat), number)
