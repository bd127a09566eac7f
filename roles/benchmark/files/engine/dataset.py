"""What an ImageFolder tree holds: train/ and val/ with one folder per class."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

PARTS = ("train", "val")
# Asking for the size of each of ImageNet's files would take minutes over a network: of larger trees, a sample is sized.
MOST_SIZED = 20_000


def read_dataset(folder: Path) -> tuple[dict[str, Any], list[str]]:
    missing = [str(folder / part) for part in PARTS if not (folder / part).is_dir()]
    if missing:
        return {"dataset": None}, [f"The dataset has no folder {' and no '.join(missing)}."]
    try:
        trees = {part: _images(folder / part) for part in PARTS}
    except OSError as error:
        return {"dataset": None}, [f"The dataset cannot be read: {error.strerror}: {error.filename}."]
    problems = [*_different_classes(folder, trees), *_empty_classes(folder, trees)]
    images = [path for tree in trees.values() for paths in tree.values() for path in paths]
    return {"dataset": {**_counts(trees), "bytes": _bytes(images)}}, problems


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


def _bytes(images: list[str]) -> int:
    every = -(-len(images) // MOST_SIZED) or 1
    return sum(Path(path).stat().st_size for path in images[::every])


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
