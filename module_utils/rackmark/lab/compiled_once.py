"""On virtual nodes, what Python reads out of a zip file is compiled once per node.

Ansible sends every module as a zip file, which Python compiles anew each time: half of what a task costs a host. As
virtual nodes share the cores of one machine, a play would spend much of its time on that. Every Python of a node runs
its copy of this file at its start: it imports nothing that is not there by then.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys
import zipimport

FOLDER = "/var/cache/rackmark-lab"  # root's alone to write in, since root runs what is kept there
MODULE = "rackmark_compiled_once"


def install(folder: str = FOLDER) -> None:
    compile_source = getattr(zipimport, "_compile_source", None)
    if compile_source is None:  # a Python that goes about it differently: it compiles as ever
        return

    def compiled(path: str, source: bytes) -> object:
        kept = f"{folder}/{_imp.source_hash(sys.hexversion, source).hex()}"
        try:
            with open(kept, "rb") as file:  # noqa: PTH123 - pathlib is not there yet
                code = marshal.loads(file.read())
            _imp._fix_co_filename(code, path)  # type: ignore[attr-defined]
            return code
        except (OSError, EOFError, ValueError, TypeError):
            code = compile_source(path, source)
        partial = f"{kept}.{os.getpid()}"
        try:
            with open(partial, "wb") as file:  # noqa: PTH123
                file.write(marshal.dumps(code))
            os.rename(partial, kept)  # noqa: PTH104
        except OSError:  # the user is not root, or the disk is full
            pass
        return code

    zipimport._compile_source = compiled  # type: ignore[attr-defined]


if __name__ == MODULE:
    install()
