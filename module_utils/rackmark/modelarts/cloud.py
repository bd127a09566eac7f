"""The services that a run in the cloud talks to, with the keys of the account."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .ais_bench_config import keys_in
from .client import Client
from .credentials import Credentials, credentials
from .errors import CredentialsError
from .settings import PATH_STYLES, Settings
from .store import Store


def keys_of(settings: Settings, given: Mapping[str, str]) -> Credentials:
    """Those given from a vault, else the environment's, else the ones in ais-bench's file."""
    if any(given.values()):
        return credentials({}, given)
    try:
        return credentials(os.environ, {})
    except CredentialsError:
        found = keys_in(Path(settings.config)) if settings.config else {}
        if not found:
            raise
        return credentials({}, found)


def client_of(settings: Settings, keys: Credentials) -> Client:
    return Client(settings.endpoint, settings.project_id, keys, ca_file=settings.ca_file)


def store_of(settings: Settings, keys: Credentials) -> Store:
    return Store(
        settings.obs_endpoint,
        keys,
        ca_file=settings.ca_file,
        signature=settings.obs_signature,
        path_style=PATH_STYLES[settings.obs_path_style],
        region=settings.region,
    )
