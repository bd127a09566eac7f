"""ais-bench's modelarts_config.py, read and never executed.

access_config = ed({"access_key": ..., "region_name": ..., ...})
session_config_v2 = ed({"parameters": [{"name": ..., "value": ...}], "code_dir": ..., ...})
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import SettingsError
from .places import bucket_and_folder

_LARGEST = 1 << 20
_ACCESS = "access_config"
_SESSIONS = ("session_config_v2", "session_config")  # the interface that is used here comes first
_DEVICES = re.compile(r"\.(\d*)xlarge\b")


@dataclass(frozen=True)
class AisBenchConfig:
    settings: Mapping[str, Any] = field(default_factory=dict)
    cases: str = ""
    warnings: Sequence[str] = ()


def read_config(path: Path) -> AisBenchConfig:
    sections = _sections(path)
    access = sections.get(_ACCESS, {})
    session = next((sections[name] for name in _SESSIONS if sections.get(name)), {})
    if not session:
        raise SettingsError(f"{path} has no session_config: name ais-bench's modelarts_config.py.")
    settings = {
        "region": access.get("region_name"),
        "project_id": access.get("project_id"),
        "endpoint": _url(access.get("modelarts_endpoint")),
        "obs_endpoint": _url(access.get("obs_endpoint") or access.get("server")),
        "engine": session.get("framework_type"),
        "engine_version": session.get("framework_version"),
        "pool_id": session.get("pool_id"),
        "bucket": _bucket(session.get("code_dir") or session.get("out_base_url")),
        "data": _data(session.get("inputs")),
        "boot": _boot(session),
        "code": _code_beside(path),
        "parameters": _parameters(session, path),
        "flavors": _flavors(session),
    }
    given = {name: value for name, value in settings.items() if value not in (None, "", {})}
    return AisBenchConfig(given, _case(session, path), _open_to_others(path, access))


def keys_in(path: Path) -> dict[str, str]:
    """The keys of the account, by the names of the variables that they stand for; empty where the file has none."""
    access = _sections(path).get(_ACCESS, {})
    found = {"modelarts_access_key": "access_key", "modelarts_secret_key": "secret_access_key"}
    return {name: str(access[key]) for name, key in found.items() if access.get(key)}


def _sections(path: Path) -> dict[str, dict[str, Any]]:
    try:
        text = path.read_bytes()[: _LARGEST + 1]
    except OSError as error:
        raise SettingsError(f"modelarts_config={path} cannot be read: {error.strerror}.") from None
    if len(text) > _LARGEST:
        raise SettingsError(f"modelarts_config={path} is larger than 1 MB, which no configuration of ais-bench is.")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise SettingsError(f"modelarts_config={path}{line} is not Python that can be read.") from None
    found: dict[str, dict[str, Any]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in (_ACCESS, *_SESSIONS):
                found[name] = _dictionary(node.value, name, path)
    return found


def _dictionary(value: ast.expr, name: str, path: Path) -> dict[str, Any]:
    """Of `ed({...})` or a bare dictionary. What the values are is not said: keys are among them."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]
    try:
        content = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        content = None
    if not isinstance(content, dict):
        raise SettingsError(
            f"modelarts_config={path}, line {value.lineno}: {name} is not made of plain values, and nothing in the file"
            " is executed: write the values themselves."
        )
    return content


def _parameters(session: Mapping[str, Any], path: Path) -> dict[str, str]:
    entries = session.get("parameters") or session.get("hyperparameters") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SettingsError(f"modelarts_config={path}: the parameters are not a list of names and values.")
    names = [entry.get("name", entry.get("label")) for entry in entries]
    if None in names or not all("value" in entry for entry in entries):
        raise SettingsError(f"modelarts_config={path}: a parameter lacks its name or its value.")
    return {str(name): str(entry["value"]) for name, entry in zip(names, entries)}


def _url(text: object) -> str:
    """ais-bench takes a bare host, too."""
    host = str(text or "").strip()
    return host if not host or "://" in host else f"https://{host}"


def _bucket(place: object) -> str:
    return bucket_and_folder(str(place or "")).partition("/")[0]


def _data(inputs: object) -> str:
    """Sometimes the one entry of a list."""
    entry = inputs[0] if isinstance(inputs, list) and inputs else inputs
    return str(entry or "")


def _boot(session: Mapping[str, Any]) -> str:
    """Its place inside the folder of the code."""
    code, boot = (str(session.get(name) or "").strip("/") for name in ("code_dir", "boot_file"))
    return boot[len(code) + 1 :] if code and boot.startswith(f"{code}/") else boot


def _code_beside(path: Path) -> str:
    """ais-bench has its training in code/code, beside code/config."""
    folder = path.resolve().parent.parent / "code"
    return str(folder) if folder.is_dir() else ""


def _devices(session: Mapping[str, Any]) -> int:
    """A dedicated pool has servers with eight."""
    match = _DEVICES.search(str(session.get("train_instance_type") or ""))
    return int(match[1] or 1) if match else 8


def _flavors(session: Mapping[str, Any]) -> dict[str, str]:
    flavor = session.get("train_instance_type")
    return {str(_devices(session)): str(flavor)} if flavor and not session.get("pool_id") else {}


def _case(session: Mapping[str, Any], path: Path) -> str:
    count = session.get("train_instance_count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SettingsError(f"modelarts_config={path}: train_instance_count is no number of servers.")
    return f"{count}n{_devices(session)}g"


def _open_to_others(path: Path, access: Mapping[str, Any]) -> list[str]:
    if not (access.get("access_key") or access.get("secret_access_key")) or not path.stat().st_mode & 0o077:
        return []
    return [f"{path} holds keys, and others can read it: chmod 600 {path}."]
