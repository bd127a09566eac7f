"""Text, as it is or as numbers of tokens: *.bin, *.npy, *.txt, *.jsonl."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path
from typing import Any

from dataset_trees import digest, files_below, sampled_bytes

KINDS = (".bin", ".npy", ".txt", ".jsonl")
_MAGIC = b"\x93NUMPY"
_NUMBERS = re.compile(r"[<>|=][iu](\d+)")


def check_tokens(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    paths = files_below(folder, lambda name: name.endswith(KINDS))
    if not paths:
        names = ", ".join(f"*{kind}" for kind in KINDS)
        return None, [f"The dataset {folder} holds no text and no tokens: no {names}."]
    facts = {"files": len(paths), "names": digest(folder, paths), "bytes": sampled_bytes(paths)}
    if not any(path.stat().st_size for path in paths):
        return facts, [f"All {len(paths)} files of the dataset {folder} are empty."]
    arrays = [path for path in paths if path.suffix == ".npy"]
    return facts, [problem for problem in map(_fault_of_array, arrays) if problem]


def _fault_of_array(path: Path) -> str | None:
    """An array of NumPy says what it holds: type, shape, and by that its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(10)
        if len(begin) < 10 or not begin.startswith(_MAGIC):
            return f"{path} is not an array of NumPy: it does not begin as one."
        if begin[6] == 1:  # the version of the format
            (length,) = struct.unpack("<H", begin[8:])
        else:
            (length,) = struct.unpack("<I", begin[8:] + file.read(2))
        place = file.tell()
        if place + length > size:
            return f"{path} is cut off: its header alone is longer than the file."
        header = file.read(length)
    try:
        said = ast.literal_eval(header.decode("latin-1").strip())
        numbers, shape = _NUMBERS.fullmatch(said["descr"]), [int(extent) for extent in said["shape"]]
    except (ValueError, SyntaxError, TypeError, KeyError):
        return f"{path} is not an array of NumPy: its header cannot be read."
    if numbers is None:
        return f"{path} holds {said['descr']}, and tokens are whole numbers."
    values = int(numbers.group(1))
    for extent in shape:
        values *= extent
    if place + length + values > size:
        return f"{path} is cut off: it holds {size - place - length} bytes of {values}."
    return None
