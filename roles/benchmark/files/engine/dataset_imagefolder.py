"""An ImageFolder tree: train/ and val/ with one folder per class."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from dataset_trees import sampled_bytes

PARTS = ("train", "val")


def check_imagefolder(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    missing = [str(folder / part) for part in PARTS if not (folder / part).is_dir()]
    if missing:
        return None, [f"The dataset has no folder {' and no '.join(missing)}."]
    trees = {part: _images(folder / part) for part in PARTS}
    problems = [*_different_classes(folder, trees), *_empty_classes(folder, trees)]
    images = [Path(path) for tree in trees.values() for paths in tree.values() for path in paths]
    return {**_counts(trees), "bytes": sampled_bytes(images)}, problems


def _images(folder: Path) -> dict[str, list[str]]:
    """Paths of the files of every class, in one order on all nodes."""
    with os.scandir(folder) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    tree = {}
    for name in classes:
        with os.scandir(folder / name) as entries:
            tree[name] = sorted(entry.path for entry in entries if entry.is_file())
    return tree


def _counts(trees: dict[str, dict[str, list[str]]]) -> dict[str, Any]:
    names = hashlib.sha256("\n".join(trees["train"]).encode()).hexdigest()
    counts = {part: sum(map(len, tree.values())) for part, tree in trees.items()}
    return {"classes": len(trees["train"]), "class_names": names[:16], **counts}


def _different_classes(folder: Path, trees: dict[str, dict[str, list[str]]]) -> list[str]:
    train, val = (set(trees[part]) for part in PARTS)
    if not train:
        return [f"The dataset has no classes: {folder / 'train'} holds no folders."]
    different = sorted(train ^ val)
    if not different:
        return []
    return [
        f"train and val of the dataset {folder} have different classes: {len(different)} are in one of them alone,"
        f" such as {different[0]}."
    ]


def _empty_classes(folder: Path, trees: dict[str, dict[str, list[str]]]) -> list[str]:
    empty = [f"{part}/{name}" for part, tree in trees.items() for name, paths in tree.items() if not paths]
    return [f"{len(empty)} classes of the dataset {folder} hold no images, such as {empty[0]}."] if empty else []
