"""The checkpoint of a training with MindSpore: one file for all ranks, which the first one replaces as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping

import mindspore
from mindspore import Tensor
from outcome import TrainingError, UsageError

NAME = "resnet50.ckpt"
UNFINISHED = ".unfinished.ckpt"


def prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / UNFINISHED).write_bytes(b"")
        (folder / UNFINISHED).unlink()
    except OSError as error:
        raise UsageError(f"--checkpoint {folder} cannot be written to: {error.strerror}") from error


def exists(folder: Path) -> bool:
    return (folder / NAME).exists()


def write(folder: Path, step: int, settings: Mapping[str, object], state: Mapping[str, Tensor]) -> None:
    unfinished = folder / UNFINISHED
    parameters = [{"name": name, "data": value} for name, value in state.items()]
    try:
        mindspore.save_checkpoint(
            parameters, str(unfinished), append_dict={"step": step, "settings": json.dumps(settings)}
        )
        unfinished.replace(folder / NAME)
    except (OSError, RuntimeError, ValueError) as error:
        unfinished.unlink(missing_ok=True)
        raise TrainingError(f"the checkpoint of step {step} cannot be written to {folder}: {error}") from error


def read(folder: Path, settings: Mapping[str, object]) -> tuple[int, dict[str, Tensor]]:
    """Step and state of the newest checkpoint, if it is one of a training with the same settings."""
    path = folder / NAME
    try:
        state = mindspore.load_checkpoint(str(path))
        step = int(state.pop("step").asnumpy())
        made_with = json.loads(str(state.pop("settings")))
    except Exception as error:  # load_checkpoint raises whatever the bytes happen to lead it to
        raise TrainingError(f"the checkpoint {path} cannot be read: {error}") from error
    differences = [
        f"{name} {made_with.get(name)} instead of {now}" for name, now in settings.items() if made_with.get(name) != now
    ]
    if differences:
        raise UsageError(f"the checkpoint {path} was made with {', '.join(differences)}")
    return step, state
