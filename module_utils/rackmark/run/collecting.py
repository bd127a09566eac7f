"""What a run has left, packed in pieces of limited size, whatever its ranks have logged.

Runs on the host that has it, so with the standard library alone.
"""

from __future__ import annotations

import io
import socket
import stat
import tarfile
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from ..logs.excerpt import AROUND, Part, excerpt, is_large
from ..logs.whole_log import open_log
from ..node.code_digest import FILE as CODE_LIST
from ..node.code_digest import listed_files

KINDS = (".log", ".exit", ".json", ".jsonl", ".sh", ".txt", ".cfg")
BOARD = "tensorboard"  # what programs call the folder that TensorBoard shows
UPLOADED = "upload.json"
LARGEST_PART = 4 << 20  # of a file, before it is packed
LARGEST_ANSWER = 10 << 20  # packed; Ansible holds an answer about ten times, as text and as what the text says


class Left(NamedTuple):
    """What is still to be copied: of the first folder from a place in a file on."""

    folders: list[str]
    file: str = ""
    begin: int = 0


class Piece(NamedTuple):
    """Of a file. No text is for a log that cannot be shortened without knowing what its lines hold."""

    path: Path
    text: bytes | None
    left: Left


class Answer(NamedTuple):
    archive: bytes
    left: Left | None
    needs_texts: bool
    shortened: list[str]


def pack(run_dir: Path, left: Left | None, texts: Sequence[bytes] | None) -> Answer:
    """As much as fits into one answer; of a file that comes in several parts, each is a member of the archive."""
    archive = io.BytesIO()
    shortened: list[str] = []
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=3) as tar:
        if left is None:
            left = Left([str(path.relative_to(run_dir)) for path in sorted(run_dir.glob("cases/*/r*"))])
            for path in (run_dir / "manifest.json", *_of_the_run(run_dir)):
                _add(tar, run_dir, path, path.read_bytes())
        for piece in _pieces(run_dir, left, texts):
            if piece.text is None:
                return Answer(_ended(tar, archive), piece.left, True, shortened)
            if texts and is_large(piece.path) and str(piece.path) not in shortened:
                shortened.append(str(piece.path))
            _add(tar, run_dir, piece.path, piece.text)
            if archive.tell() >= LARGEST_ANSWER:
                return Answer(_ended(tar, archive), piece.left, False, shortened)
    return Answer(archive.getvalue(), None, False, shortened)


def boards(run_dir: Path) -> int:
    """How many repeats have drawn something for TensorBoard. It stays where it is."""
    return sum(path.is_dir() for path in run_dir.glob(f"cases/*/r*/{BOARD}"))


def _of_the_run(run_dir: Path) -> list[Path]:
    """The list of the program's files, and those on it; an older version wrote none. What was uploaded, if it was."""
    names = (UPLOADED, CODE_LIST, *listed_files(run_dir))
    return [path for path in (run_dir / name for name in names) if path.is_file()]


def _ended(tar: tarfile.TarFile, archive: io.BytesIO) -> bytes:
    tar.close()
    return archive.getvalue()


def _pieces(run_dir: Path, left: Left, texts: Sequence[bytes] | None) -> Iterator[Piece]:
    for place, folder in enumerate(left.folders):
        for path in _files(run_dir / folder):
            if place == 0 and str(path) < left.file:
                continue
            begin = left.begin if place == 0 and str(path) == left.file else 0
            folders = left.folders[place:]
            if texts is None and is_large(path):
                yield Piece(path, None, Left(folders, str(path), begin))
            for part in _parts(path, begin, texts or ()):
                yield Piece(path, part.text, Left(folders, str(path), part.next))


def _files(folder: Path) -> list[Path]:
    """Plain ones: a link would lead elsewhere, and a pipe keep everybody waiting."""
    found = [path for path in folder.rglob("[!.]*") if path.suffix in KINDS and stat.S_ISREG(path.lstat().st_mode)]
    return sorted(found, key=str)


def _parts(path: Path, begin: int, texts: Sequence[bytes]) -> Iterator[Part]:
    if texts and is_large(path):
        note = (
            f"rackmark: This log has {path.stat().st_size >> 20} MB. From here to its last {AROUND >> 20} MB only lines"
            f" with numbers were collected. The whole log is {path} on {socket.gethostname()}."
        )
        yield from excerpt(path, begin, texts, note)
        return
    with open_log(path) as file:
        file.seek(begin)
        while True:
            text = file.read(LARGEST_PART)
            yield Part(text, file.tell())
            if len(text) < LARGEST_PART:
                return


def _add(tar: tarfile.TarFile, run_dir: Path, path: Path, text: bytes) -> None:
    member = tarfile.TarInfo(str(path.relative_to(run_dir)))
    member.size, member.mtime = len(text), path.stat().st_mtime
    tar.addfile(member, io.BytesIO(text))
