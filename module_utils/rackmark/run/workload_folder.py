"""Reads the folder of a workload on the machine that Ansible runs on, and checks all that is declared there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Mapping, Sequence

from . import program
from .code_files import code_files, pack
from .framework import Dialects
from .keys import told
from .workload import Model, Workload, presets_by_name, workload_from
from .yaml_file import lines_of, read_yaml

FILE = "workload.yml"


def read_folder(folder: Path, dialects: Dialects) -> dict[str, Any]:
    """What the folder declares, with the place of every program written out."""
    content = load(folder)
    workload = workload_from(content, str(folder / FILE), dialects, partial(lines_of, folder / FILE))
    files = code_files(folder, _shared_folders(folder, content))
    _check_programs(workload, folder, files)
    for name, framework in workload.frameworks.items():
        content["frameworks"][name]["program"] = program.explicit(framework.program, files)
    return content


def packed(folder: Path) -> bytes:
    """An archive of all files that travel with a run of a workload."""
    return pack(folder, _shared_folders(folder, load(folder)))


def models(workloads: Path) -> dict[str, Model]:
    """Of the folders below this one, by the names that case strings have for them."""
    found: dict[str, Model] = {}
    for path in sorted(workloads.glob(f"*/{FILE}")):
        content = load(path.parent)
        presets = {str(content.get("name") or ""): "", **presets_by_name(content.get("also_called") or ())}
        found.update({name: Model(path.parent.name, preset) for name, preset in presets.items() if name})
    return found


def load(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a workload: it has no {FILE}{_others(folder)}.")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a mapping of names to values.")
    return content


def _shared_folders(folder: Path, content: Mapping[str, Any]) -> list[Path]:
    """The folder that a workload names as `shared`, and where that is a workload, too, those that it shares."""
    found: list[Path] = []
    place = folder
    while content.get("shared") is not None:
        place = _beside(place, content["shared"], [folder, *found])
        found.append(place)
        content = load(place) if (place / FILE).is_file() else {}
    return found


def _beside(folder: Path, shared: str, known: Sequence[Path]) -> Path:
    """Only a folder beside the workload's own, so that both are found wherever they are."""
    found = folder / shared
    if (
        not found.is_dir()
        or found.resolve().parent != folder.resolve().parent
        or found.resolve() in [one.resolve() for one in known]
    ):
        problem = f"shared={shared} is no folder beside {folder}: name one, as in ../common."
        raise told([problem], str(folder / FILE), partial(lines_of, folder / FILE))
    return found


def _others(folder: Path) -> str:
    known = sorted(path.parent.name for path in folder.parent.glob(f"*/{FILE}"))
    return f"; those beside it are {', '.join(known)}" if known else ""


def _check_programs(workload: Workload, folder: Path, files: Mapping[str, Path]) -> None:
    missing = [
        f"frameworks.{name}.program names {file}, which {folder} does not have."
        for name, framework in workload.frameworks.items()
        for file in program.missing_files(framework.program, files)
    ]
    if missing:
        raise told(missing, str(folder / FILE), partial(lines_of, folder / FILE))
