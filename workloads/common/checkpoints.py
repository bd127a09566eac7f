"""The checkpoint of a training with PyTorch."""

from __future__ import annotations

from pathlib import Path

import torch
from checkpoint_file import CheckpointFile, Content


class TorchCheckpoint(CheckpointFile):
    def save(self, path: Path, content: Content) -> None:
        torch.save({"step": content.step, "settings": dict(content.settings), "state": dict(content.state)}, path)

    def load(self, path: Path) -> Content:
        found = torch.load(path, map_location="cpu", weights_only=True)
        return Content(int(found["step"]), found["settings"], found["state"])
