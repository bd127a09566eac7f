"""The checkpoint of a training with MindSpore."""

from __future__ import annotations

import json
from pathlib import Path

import mindspore
from checkpoint_file import CheckpointFile, Content


class MindSporeCheckpoint(CheckpointFile):
    def save(self, path: Path, content: Content) -> None:
        parameters = [{"name": name, "data": value} for name, value in content.state.items()]
        about = {"step": content.step, "settings": json.dumps(content.settings)}
        mindspore.save_checkpoint(parameters, str(path), append_dict=about)

    def load(self, path: Path) -> Content:
        state = mindspore.load_checkpoint(str(path))
        step = int(state.pop("step").asnumpy())
        return Content(step, json.loads(str(state.pop("settings"))), state)
