"""Writes the checksums into the files of requirements, from the index that pip is set to.

After a change of a version: python tests/lock_requirements.py
A file that is not listed there is not installed: all are that the promised Pythons and processors can choose from.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pip._internal.models.index import PyPI  # pip has no other word for its default index

ROOT = Path(__file__).parents[1]
FILES = (
    "requirements.txt",
    "tests/requirements.txt",
    "requirements-build.txt",
    "requirements-modelarts.txt",
    "tests/lab/modelarts/requirements.txt",
)
PYTHONS = (11, 12, 13, 14)
PROCESSORS = ("x86_64", "aarch64")
_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[\w.!+-]+)", re.MULTILINE)


class Links(HTMLParser):
    """Checksums by file name on a page of an index."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = urlsplit(dict(attrs).get("href") or "") if tag == "a" else None
        if address and address.fragment.startswith("sha256="):
            self.found[unquote(address.path.rpartition("/")[2])] = address.fragment.removeprefix("sha256=")


def serves(tag: Tag, python: int, processor: str) -> bool:
    of_python = tag.interpreter == "py3" or (
        tag.interpreter == f"cp3{python}" and tag.abi in (f"cp3{python}", "abi3", "none")
    )
    stable = tag.abi == "abi3" and re.fullmatch(r"cp3\d+", tag.interpreter) and int(tag.interpreter[3:]) <= python
    of_processor = tag.platform == "any" or re.fullmatch(rf"(many)?linux.*_{processor}", tag.platform)
    return bool((of_python or stable) and of_processor)


def chosen(checksums: dict[str, str], version: str) -> list[str]:
    """Checksums of the files that a promised host could install; of the source only where one would have to."""
    hosts = {(python, processor) for python in PYTHONS for processor in PROCESSORS}
    served: set[tuple[int, str]] = set()
    wheels, sources = [], []
    for file, checksum in checksums.items():
        try:
            if file.endswith(".whl"):
                _, found, _, tags = parse_wheel_filename(file)
                here = {host for host in hosts if any(serves(tag, *host) for tag in tags)}
                if found == Version(version) and here:
                    served |= here
                    wheels.append(checksum)
            elif file.endswith((".tar.gz", ".zip")) and parse_sdist_filename(file)[1] == Version(version):
                sources.append(checksum)
        except ValueError:  # names of a time before there were rules
            continue
    return sorted(wheels if served == hosts else wheels + sources)


def locked(text: str, checksums_of: dict[str, list[str]]) -> str:
    """The file's text with the checksums, by pin, in the place of those that were there."""
    bare = re.sub(r" \\\n +--hash=\S+", "", text)
    return _PIN.sub(lambda pin: " \\\n    --hash=sha256:".join([pin[0], *checksums_of[pin[0]]]), bare)


def index() -> str:
    command = [sys.executable, "-m", "pip", "config", "get"]
    for name in (":env:.index-url", "global.index-url"):
        done = subprocess.run([*command, name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return str(PyPI.simple_url)


def ask(where: str, pin: re.Match[str]) -> list[str]:
    page = f"{where.rstrip('/')}/{canonicalize_name(pin['name'])}/"
    request = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+html, text/html;q=0.1"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return chosen(Links(answer.read().decode()).found, pin["version"])


def main() -> None:
    where = index()
    for path in (ROOT / name for name in FILES):
        pins = list(_PIN.finditer(path.read_text()))
        with ThreadPoolExecutor() as pool:
            checksums_of = dict(zip((pin[0] for pin in pins), pool.map(functools.partial(ask, where), pins)))
        lacking = [pin for pin, checksums in checksums_of.items() if not checksums]
        if lacking:
            sys.exit(f"{path}: the index {where} has no file for {', '.join(lacking)}: correct the version.")
        path.write_text(locked(path.read_text(), checksums_of))


if __name__ == "__main__":
    main()
