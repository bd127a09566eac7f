"""The request that makes a training job, and the names and places that belong to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import SettingsError
from .phases import limit_in_hours
from .places import bucket_and_folder
from .settings import Settings

LONGEST_NAME = 64
DEVICES_OF_A_SERVER = 8


@dataclass(frozen=True)
class Attempt:
    """One job for a repeat of a case: the first attempt at it, or a later one, which begins in places of its own."""

    run_id: str
    case: str
    repeat: int
    number: int = 1

    @property
    def name(self) -> str:
        """Letters, digits, _ and - alone are taken."""
        again = f"-a{self.number}" if self.number > 1 else ""
        return f"{name_of_run(self.run_id)}-{self.case}-{self.repeat}{again}"

    @property
    def folder(self) -> str:
        return f"{self.case}/r{self.repeat}" + (f"-a{self.number}" if self.number > 1 else "")


def name_of_run(run_id: str) -> str:
    """What the names of all its jobs begin with."""
    return "rackmark-" + re.sub(r"[^A-Za-z0-9_-]", "_", run_id)


def attempt_named(run_id: str, name: str) -> Attempt | None:
    """None for the job of another run, whose name may begin alike."""
    match = re.fullmatch(rf"{re.escape(name_of_run(run_id))}-(\d+n\d+g)-(\d+)(?:-a(\d+))?", name)
    return None if match is None else Attempt(run_id, match[1], int(match[2]), int(match[3] or 1))


def check_size(settings: Settings, nodes: int, devices: int) -> None:
    """What ModelArts would refuse, said before it is asked."""
    if nodes > 1 and devices < DEVICES_OF_A_SERVER:
        raise SettingsError(
            f"{nodes}n{devices}g: ModelArts trains on several nodes with {DEVICES_OF_A_SERVER} devices each only."
        )
    if not settings.pool_id and str(devices) not in settings.flavors:
        known = ", ".join(sorted(settings.flavors, key=int))
        raise SettingsError(
            f"{nodes}n{devices}g: modelarts_flavors names no server with {devices} devices, only with {known}."
        )


def job_request(
    settings: Settings,
    attempt: Attempt,
    nodes: int,
    devices: int,
    minutes: int,
    environments: Mapping[str, str],
) -> dict[str, Any]:
    """`environments` are those that our own boot file reads, beside the operator's."""
    check_size(settings, nodes, devices)
    if len(attempt.name) > LONGEST_NAME:
        raise SettingsError(f"{attempt.name} is longer than the {LONGEST_NAME} letters that ModelArts takes for a job.")
    place = f"/{settings.bucket}/{settings.prefix(attempt.run_id)}"
    resource: dict[str, Any] = {"node_count": nodes}
    if settings.pool_id:
        resource["pool_id"] = settings.pool_id
    else:
        resource["flavor_id"] = settings.flavors[str(devices)]
    engine = (
        {"image_url": settings.image}
        if settings.image
        else {"engine_name": settings.engine, "engine_version": settings.engine_version}
    )
    algorithm: dict[str, Any] = {
        "code_dir": f"{place}/code/",
        "boot_file": f"{place}/code/{settings.boot}",
        "engine": engine,
        "parameters": [{"name": name, "value": value} for name, value in settings.parameters.items()],
        "inputs": [_remote("data_url", _folder(settings.data))] if settings.data else [],
        "outputs": [_remote("train_url", f"{place}/{attempt.folder}/out/")],
        "environments": {**settings.environments, **environments},
    }
    return {
        "kind": "job",
        "metadata": {"name": attempt.name, "description": f"Rackmark {attempt.run_id}"},
        "algorithm": algorithm,
        "spec": {
            "resource": resource,
            "log_export_path": {"obs_url": f"{place}/{attempt.folder}/log/"},
            "auto_stop": {"time_unit": "HOURS", "duration": limit_in_hours(minutes)},
        },
    }


def _remote(name: str, url: str) -> dict[str, Any]:
    return {"name": name, "remote": {"obs": {"obs_url": url}}}


def _folder(place: str) -> str:
    """As requests name it: /<bucket>/<folder>/."""
    return f"/{bucket_and_folder(place)}/"
