"""The checkpoint of a training: one file that all ranks can read and the first one replaces as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Mapping

import torch
from outcome import TrainingError, UsageError

NAME = "resnet50.pt"


def prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _unfinished(folder).write_bytes(b"")
        _unfinished(folder).unlink()
    except OSError as error:
        raise UsageError(f"--checkpoint {folder} cannot be written to: {error.strerror}") from error


def exists(folder: Path) -> bool:
    return (folder / NAME).exists()


def write(folder: Path, step: int, settings: Mapping[str, object], state: Mapping[str, Any]) -> None:
    unfinished = _unfinished(folder)
    try:
        with unfinished.open("wb") as file:
            torch.save({"step": step, "settings": dict(settings), **state}, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(folder / NAME)
    except (OSError, RuntimeError) as error:
        unfinished.unlink(missing_ok=True)
        raise TrainingError(f"the checkpoint of step {step} cannot be written to {folder}: {error}") from error


def read(folder: Path, settings: Mapping[str, object]) -> dict[str, Any]:
    """The newest checkpoint, if it is one of a training with the same settings."""
    path = folder / NAME
    try:
        found: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        made_with = found["settings"]
    except Exception as error:  # torch.load raises whatever the bytes happen to lead it to
        raise TrainingError(f"the checkpoint {path} cannot be read: {error}") from error
    differences = [
        f"{name} {made_with.get(name)} instead of {now}" for name, now in settings.items() if made_with.get(name) != now
    ]
    if differences:
        raise UsageError(f"the checkpoint {path} was made with {', '.join(differences)}")
    return found


def _unfinished(folder: Path) -> Path:
    return folder / f".{NAME}.unfinished"
