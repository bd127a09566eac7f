"""The code of a shipped workload as a run lays it out: its own files and those it shares in one folder."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from rackmark.run.code_files import unpack
from rackmark.run.workload_folder import packed

_FOLDERS = tempfile.TemporaryDirectory(prefix="rackmark-code-")  # goes with the process


@functools.cache
def code_of(workload: Path) -> Path:
    folder = Path(_FOLDERS.name, workload.name)
    unpack(packed(workload), folder)
    return folder
