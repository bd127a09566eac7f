"""The images of FlagPerf's cases: the vendor's Dockerfile, what its script installs, and what a case requires."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Mapping, NamedTuple

from .imported import FlagperfRun, Imported

_REQUIREMENTS = "case-requirements.txt"
_PLACE = "/flagperf-image"


class Image(NamedTuple):
    """`files` are texts by the name in the folder that the image is built of."""

    name: str
    files: Mapping[str, str]


def image_name(vendor: str, run: FlagperfRun) -> str:
    """Of a model's own, as models require different versions of the same packages."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", f"{vendor}-{run.cases[0].framework}-{run.model}".lower())
    return f"flagperf-{plain}:rackmark"


def images_of(imported: Imported) -> list[Image]:
    """One for each model and framework of the cases; everything that is missing is said at once."""
    folders = {image_name(imported.vendor, run): _docker_folder(imported, run) for run in imported.runs}
    problems = [
        f"{folder}/Dockerfile is not there. Name an image of your own with -e runtime=docker -e image=."
        for folder in folders.values()
        if not (folder / "Dockerfile").is_file()
    ]
    if problems:
        raise ValueError("\n".join(dict.fromkeys(problems)))
    required = {image_name(imported.vendor, run): _requirements(imported, run) for run in imported.runs}
    return [Image(name, _files(folder, required[name])) for name, folder in folders.items()]


def _docker_folder(imported: Imported, run: FlagperfRun) -> Path:
    return imported.training / imported.vendor / "docker_image" / run.cases[0].framework


def _requirements(imported: Imported, run: FlagperfRun) -> str:
    base = run.cases[0].framework.partition("_")[0]
    path = imported.training / imported.vendor / f"{run.model}-{base}/config/requirements.txt"
    return path.read_text() if path.is_file() else ""


def _files(folder: Path, requirements: str) -> dict[str, str]:
    """FlagPerf looks for <framework>_install.sh, and passes over the scripts that have another name: here they run."""
    files = {path.name: path.read_text(errors="replace") for path in sorted(folder.iterdir()) if path.is_file()}
    lines = [files["Dockerfile"].rstrip(), f"COPY . {_PLACE}", f"WORKDIR {_PLACE}"]
    lines += [f"RUN bash ./{name}" for name in files if name.endswith("_install.sh")]
    lines += [f"RUN python3 -m pip install -r {_REQUIREMENTS}"] if requirements.strip() else []
    return {**files, _REQUIREMENTS: requirements, "Dockerfile": "\n".join(lines) + "\n"}
