"""Package files of a vendor: which of them a host still needs, and in which order they go in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping, Sequence

_VERSION = re.compile(r"^\s*version\s*=\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """One file: a .deb, or an installer (.run) whose version stands in one of `version_files` once it is installed."""

    name: str
    version: str
    sha256: str
    source: str
    arguments: Sequence[str] = ()
    version_files: Sequence[str] = ()

    @property
    def is_deb(self) -> bool:
        return self.source.endswith(".deb")

    def is_version(self, installed: str | None) -> bool:
        return installed is not None and plain(installed) == plain(self.version)


def plain(version: str) -> str:
    """A version without the v that some files write before it."""
    return version[1:] if re.match(r"[vV]\d", version) else version


def package_of(entry: Mapping[str, object]) -> Package:
    """A package as an inventory names it; what it lacks is said in one sentence."""
    name = str(entry.get("name") or "")
    sources = [str(entry[key]) for key in ("file", "url") if entry.get(key)]
    if len(sources) != 1:
        raise ValueError(
            f"Package {name!r}: give either file (on the control machine) or url (that the host can reach)."
        )
    sha256 = str(entry.get("sha256") or "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ValueError(
            f"Package {name!r}: sha256 is {sha256!r}; give the 64 digits that sha256sum prints for its file."
        )
    package = Package(
        name,
        str(entry.get("version") or ""),
        sha256,
        sources[0],
        _words(entry.get("arguments")),
        _words(entry.get("version_files")),
    )
    if not package.version:
        raise ValueError(f"Package {name!r}: give its version, as the host names it once it is installed.")
    if not package.is_deb and not package.version_files:
        raise ValueError(
            f"Package {name!r}: give version_files, where its version stands once it is installed;"
            " without it every run would install it again."
        )
    return package


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def version_in(patterns: Iterable[str], root: Path = Path("/")) -> str | None:
    """The version that the first of these files tells; None where there is none or it tells nothing."""
    for pattern in patterns:
        for path in sorted(root.glob(pattern.lstrip("/"))):
            match = _VERSION.search(path.read_text(encoding="utf-8", errors="replace"))
            return match[1] if match else None
    return None


def in_order(
    needed: Sequence[Package], installed: Mapping[str, str | None], upgrade_order: Sequence[str]
) -> list[Package]:
    """As listed; those of `upgrade_order` in its order when the host has all of them already, in other versions."""
    upgraded = [package for package in needed if package.name in upgrade_order]
    if not all(installed.get(package.name) for package in upgraded):
        return list(needed)
    turned = iter(sorted(upgraded, key=lambda package: upgrade_order.index(package.name)))
    return [next(turned) if package in upgraded else package for package in needed]


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()
