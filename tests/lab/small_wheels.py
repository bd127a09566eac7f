"""The smallest packages that pip installs, as a wheel and as a source."""

from __future__ import annotations

import io
import tarfile
import zipfile


def wheel(folder, name, version, *requires, tag="py3-none-any"):
    """The smallest wheel that pip installs."""
    info = f"{name}-{version}.dist-info"
    metadata = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {other}" for other in requires)]
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", *metadata, ""]),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as file:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            file.writestr(path, content)


BACKEND = """
import os, time, zipfile
import anvil  # what is in the environment is there while it is compiled

def prepare_metadata_for_build_wheel(folder, settings=None):
    os.mkdir(f"{folder}/hammer-1.0.dist-info")
    with open(f"{folder}/hammer-1.0.dist-info/METADATA", "w") as file:
        file.write("Metadata-Version: 2.1\\nName: hammer\\nVersion: 1.0\\n")
    return "hammer-1.0.dist-info"

def build_wheel(folder, settings=None, metadata=None):
    if os.environ.get("HAMMER_FAILS"):
        raise SystemExit("hammer.c:1:10: fatal error: mpi.h: No such file or directory")
    print("[ 45%] Building C object hammer.c.o", flush=True)
    time.sleep(float(os.environ.get("HAMMER_TAKES", "0")))
    said = " ".join([anvil.version, os.environ["HAMMER_WITH"], os.environ["MAKEFLAGS"]])
    info = "hammer-1.0.dist-info"
    files = {
        "hammer.py": f"version = {said!r}\\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: hammer\\nVersion: 1.0\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    record = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(f"{folder}/hammer-1.0-py3-none-any.whl", "w") as file:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            file.writestr(path, content)
    return "hammer-1.0-py3-none-any.whl"
"""


SOURCE = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "smithy"\nbackend-path = ["."]\n',
    "smithy.py": BACKEND,
    "PKG-INFO": "Metadata-Version: 2.1\nName: hammer\nVersion: 1.0\n",
}


def source_of_hammer(folder):
    with tarfile.open(folder / "hammer-1.0.tar.gz", "w:gz") as tar:
        for name, text in SOURCE.items():
            member = tarfile.TarInfo(f"hammer-1.0/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
