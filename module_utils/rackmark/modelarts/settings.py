"""What a run in the cloud is told: from variables, and from ais-bench's own file where one is named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from .ais_bench_config import AisBenchConfig, read_config
from .endpoints import wrong_endpoint
from .errors import SettingsError
from .places import bucket_and_folder

# Servers by their number of devices, as ais-bench names them.
FLAVORS: Mapping[str, str] = {
    "1": "modelarts.kat1.xlarge",
    "2": "modelarts.kat1.2xlarge",
    "4": "modelarts.kat1.4xlarge",
    "8": "modelarts.kat1.8xlarge",
}
SIGNATURES = ("auto", "obs", "v2", "v4")
PATH_STYLES: Mapping[str, bool | None] = {"auto": None, "true": True, "false": False}
_REQUIRED = ("region", "project_id", "bucket")
_OF_CODE = ("code", "boot", "parameters")  # which say nothing of another training
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_REGION = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PROJECT = re.compile(r"[A-Za-z0-9]{1,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Settings:
    """No key is among them: a run's manifest holds them. `config` is the file that keys may be read from again."""

    region: str
    project_id: str
    bucket: str
    endpoint: str
    obs_endpoint: str
    code: str = ""
    boot: str = ""
    data: str = ""
    ca_file: str = ""
    obs_signature: str = "auto"
    obs_path_style: str = "auto"
    engine: str = ""
    engine_version: str = ""
    image: str = ""
    flavors: Mapping[str, str] = field(default_factory=lambda: dict(FLAVORS))
    pool_id: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, str] = field(default_factory=dict)
    single_server: bool = False
    keep_code: bool = False
    config: str = ""

    def data_for_json(self) -> dict[str, Any]:
        return asdict(self)

    def prefix(self, run_id: str) -> str:
        """Of everything that this run has in the bucket; no other run writes there."""
        return f"rackmark/{run_id}"


@dataclass(frozen=True)
class Read:
    """`cases` are those that ais-bench's file asks for, empty without one."""

    settings: Settings
    cases: str
    warnings: Sequence[str]


def settings_of(options: Mapping[str, Any]) -> Settings:
    """From what was recorded of a run, by this or another version."""
    known = {each.name for each in fields(Settings)}
    return Settings(**{name: value for name, value in options.items() if name in known})


def read_settings(given: Mapping[str, Any], our_code: bool) -> Read:
    """`given` are the variables without their prefix, empty where nobody gave one. `our_code` is a workload's."""
    path = str(given.get("config") or "")
    config = read_config(Path(path).expanduser()) if path else AisBenchConfig()
    offered = {name: value for name, value in config.settings.items() if not our_code or name not in _OF_CODE}
    values: dict[str, Any] = {**offered, **{name: value for name, value in given.items() if _is_given(value)}}
    if path:
        values["config"] = str(Path(path).expanduser().resolve())
    settings = settings_of(_completed(values, our_code))
    _check(settings, our_code)
    return Read(settings, config.cases, [*config.warnings, *_doubts(settings)])


def refuse_others(given: Mapping[str, Any], begun: Mapping[str, Any], run_id: str) -> None:
    """Who gives a value with a run that is resumed expects it to be used. Switches that are off are nobody's word."""
    said = {name: value for name, value in given.items() if _is_given(value) and value not in (False, "auto")}
    now = _completed(said, our_code=not begun.get("code"))
    other = [f"modelarts_{name}" for name in said if name in begun and name != "config" and now[name] != begun[name]]
    if other:
        raise SettingsError(
            f"run_id={run_id} is resumed with its original options, which have other values of {_and(other)}:"
            " leave that out, or start a new run."
        )


def _is_given(value: object) -> bool:
    return value not in ("", None, {}, [])


def _completed(values: Mapping[str, Any], our_code: bool) -> dict[str, Any]:
    found = dict(values)
    region = str(found.get("region", ""))
    for name, service in (("endpoint", "modelarts"), ("obs_endpoint", "obs")):
        found.setdefault(name, f"https://{service}.{region}.myhuaweicloud.com" if region else "")
    for name in ("region", "project_id", "bucket", "pool_id", "boot", "data", "image", "engine", "engine_version"):
        found[name] = str(found.get(name, "")).strip()
    found["flavors"] = {str(count): str(flavor) for count, flavor in dict(found.get("flavors") or FLAVORS).items()}
    for name in ("parameters", "environments"):
        found[name] = {str(key): _text(value) for key, value in dict(found.get(name) or {}).items()}
    found["obs_path_style"] = str(found.get("obs_path_style", "auto")).lower()
    for name in ("single_server", "keep_code"):
        found[name] = str(found.get(name, False)).lower() in ("true", "yes", "1", "on")
    if not our_code and found.get("code"):
        found["code"] = str(Path(found["code"]).expanduser().resolve())
    if found.get("ca_file"):
        found["ca_file"] = str(Path(found["ca_file"]).expanduser().resolve())
    return found


def _text(value: object) -> str:
    """As ais-bench passes values on to a program."""
    return str(value)


def _check(settings: Settings, our_code: bool) -> None:
    lacking = [name for name in _REQUIRED if not getattr(settings, name)]
    if lacking:
        raise SettingsError(
            f"modelarts_{lacking[0]} is empty: give {_and([f'-e modelarts_{one}=' for one in lacking])}."
        )
    _must_match("region", settings.region, _REGION, "letters, digits, - and _, as in cn-north-4")
    _must_match("project_id", settings.project_id, _PROJECT, "the letters and digits that 'My Credentials' shows")
    _must_match("bucket", settings.bucket, _BUCKET, "the bare name of a bucket in small letters, digits, dots and -")
    _check_endpoint("modelarts_endpoint", settings.endpoint)
    _check_endpoint("modelarts_obs_endpoint", settings.obs_endpoint)
    if settings.ca_file and not Path(settings.ca_file).is_file():
        raise SettingsError(f"modelarts_ca_file={settings.ca_file} is no file: name the PEM file of the authority.")
    if settings.obs_signature not in SIGNATURES:
        raise SettingsError(f"modelarts_obs_signature={settings.obs_signature} is unknown: use {_or(SIGNATURES)}.")
    if settings.obs_path_style not in PATH_STYLES:
        raise SettingsError(f"modelarts_obs_path_style={settings.obs_path_style} is unknown: use {_or(PATH_STYLES)}.")
    _check_engine(settings)
    _check_flavors(settings)
    _check_names(settings)
    if settings.data and not bucket_and_folder(settings.data):
        raise SettingsError(f"modelarts_data={settings.data} names no bucket: give /<bucket>/<folder>/.")
    if our_code and settings.boot:
        raise SettingsError(f"modelarts_boot={settings.boot} has no use: the workload's own code has its boot file.")
    if our_code and settings.single_server:
        raise SettingsError("modelarts_single_server=true is for ais-bench's trainings: our own train on all servers.")
    if our_code:
        return
    if not settings.code:
        raise SettingsError("modelarts_code is empty: give the folder of the training with -e modelarts_code=./code.")
    if not Path(settings.code).is_dir():
        raise SettingsError(f"modelarts_code={settings.code} is no folder: name the one that holds the training.")
    if not settings.boot:
        raise SettingsError("modelarts_boot is empty: give the file that starts the training, as in train.py.")


def _must_match(name: str, value: str, pattern: re.Pattern[str], words: str) -> None:
    if not pattern.fullmatch(value):
        raise SettingsError(f"modelarts_{name}={value} cannot be: use {words}.")


def _check_endpoint(name: str, url: str) -> None:
    """Keys sign requests and do not travel, but the code, the data and a security token do."""
    wrong = wrong_endpoint(name, url)
    if wrong:
        raise SettingsError(wrong)


def _check_engine(settings: Settings) -> None:
    if settings.image and (settings.engine or settings.engine_version):
        raise SettingsError("modelarts_image and modelarts_engine are both given: a job runs in one of them.")
    if not settings.image and not (settings.engine and settings.engine_version):
        raise SettingsError(
            "There is nothing to run the code in: give modelarts_engine and modelarts_engine_version, or"
            " modelarts_image."
        )


def _check_flavors(settings: Settings) -> None:
    for count in settings.flavors:
        if not (count.isdecimal() and 1 <= int(count) <= 64):
            raise SettingsError(f"modelarts_flavors has {count!r}, which is no number of devices: use numbers as in 8.")
    if settings.pool_id and settings.flavors != FLAVORS:
        raise SettingsError("modelarts_pool_id and modelarts_flavors are both given: a pool has its own servers.")


def _check_names(settings: Settings) -> None:
    for variable, names in (("parameters", settings.parameters), ("environments", settings.environments)):
        for name in names:
            if not _NAME.fullmatch(name):
                raise SettingsError(f"modelarts_{variable} has {name!r}: use a name of letters, digits and _.")
    taken = next((name for name in settings.environments if name.startswith("MA_")), None)
    if taken:
        raise SettingsError(
            f"modelarts_environments has {taken}: ModelArts keeps names that begin with MA_ for itself."
        )


def _doubts(settings: Settings) -> list[str]:
    epochs, saved = (settings.parameters.get(name) for name in ("epoch_size", "save_checkpoint_epochs"))
    if None in (epochs, saved) or epochs == saved:
        return []
    return [
        f"save_checkpoint_epochs={saved} is not epoch_size={epochs}: ais-bench wants them equal, since saving in"
        " between costs time inside the measurement."
    ]


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _or(words: Mapping[str, object] | Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}"
