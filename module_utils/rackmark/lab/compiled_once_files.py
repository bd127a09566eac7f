"""The files that make a machine compile Ansible's modules once; one is a copy of `compiled_once`, which says how."""

from __future__ import annotations

import pkgutil

from . import compiled_once


def compiled_once_files() -> dict[str, str]:
    """Contents by path below the root; the folder of the cache has to be made as well."""
    source = pkgutil.get_data(compiled_once.__package__, "compiled_once.py") or b""  # Ansible has it in a zip file
    module = f"usr/lib/python3/dist-packages/{compiled_once.MODULE}"
    return {f"{module}.py": source.decode(), f"{module}.pth": f"import {compiled_once.MODULE}\n"}
