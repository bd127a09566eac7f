"""The checkpoint of a training: one file that all ranks can read and the first one replaces as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from outcome import TrainingError, UsageError


class Content(NamedTuple):
    """`settings` is what a training that goes on from it must share."""

    step: int
    settings: Mapping[str, object]
    state: Any


class CheckpointFile:
    """How a framework writes and reads one is its own business."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._path = folder / name
        self._unfinished = folder / f".unfinished-{name}"

    def save(self, path: Path, content: Content) -> None:
        raise NotImplementedError

    def load(self, path: Path) -> Content:
        raise NotImplementedError

    def prepare(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._unfinished.write_bytes(b"")
            self._unfinished.unlink()
        except OSError as error:
            raise UsageError(f"--checkpoint {self.folder} cannot be written to: {error.strerror}") from error

    def exists(self) -> bool:
        return self._path.exists()

    def write(self, content: Content) -> None:
        try:
            self.save(self._unfinished, content)
            with self._unfinished.open("rb") as file:
                os.fsync(file.fileno())
            self._unfinished.replace(self._path)
        except (OSError, RuntimeError, ValueError) as error:
            self._unfinished.unlink(missing_ok=True)
            raise TrainingError(
                f"the checkpoint of step {content.step} cannot be written to {self.folder}: {error}"
            ) from error

    def read(self, settings: Mapping[str, object]) -> Content:
        """The newest checkpoint, if it is one of a training with the same settings."""
        try:
            found = self.load(self._path)
        except Exception as error:  # frameworks raise whatever the bytes happen to lead them to
            raise TrainingError(f"the checkpoint {self._path} cannot be read: {error}") from error
        differences = [
            f"{name} {found.settings.get(name)} instead of {now}"
            for name, now in settings.items()
            if found.settings.get(name) != now
        ]
        if differences:
            raise UsageError(f"the checkpoint {self._path} was made with {', '.join(differences)}")
        return found
