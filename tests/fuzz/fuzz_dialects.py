"""Looks for logs that break the dialects, led by which lines of the code they reach.

pip install -r tests/fuzz/requirements.txt
python tests/fuzz/fuzz_dialects.py [-max_total_time=600] [other options of libFuzzer] [folder of its own]

Texts begin as those of all dialects. What breaks is written as crash-... into the current folder; the first byte
chooses the dialect, the rest is the log. Given as an argument, such a file is read again.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "module_utils")]
with atheris.instrument_imports(include=["rackmark"]):
    from dialect_lines import text_of
    from log_check import check_log
    from rackmark.dialects.catalog import DIALECTS

LINES = (0, 1, 3, 70)


def write_corpus(folder: Path) -> None:
    for number, dialect in enumerate(DIALECTS):
        for lines in LINES:
            folder.joinpath(f"{dialect.name}-{lines}").write_bytes(bytes([number]) + text_of(dialect, lines).encode())


def write_dictionary(path: Path) -> None:
    """The texts by which lines are known, which are seldom found by chance."""
    anchors = {kind.line.anchor for dialect in DIALECTS for kind in dialect.kinds}
    quoted = ("".join(f"\\x{byte:02x}" for byte in anchor) for anchor in sorted(anchors))
    path.write_text("".join(f'"{text}"\n' for text in quoted))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rackmark-fuzz-") as name:
        folder = Path(name)
        for part in ("log", "corpus"):
            folder.joinpath(part).mkdir()
        write_corpus(folder / "corpus")
        write_dictionary(folder / "dictionary")

        def read(data: bytes) -> None:
            if data:
                dialect = DIALECTS[data[0] % len(DIALECTS)]
                check_log(folder / "log", dialect.name, data[1:])

        given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
        options = [f"-dict={folder / 'dictionary'}", "-timeout=30", "-max_len=65536", "-rss_limit_mb=8192"]
        corpus = [] if any(Path(path).is_file() for path in given) else [str(folder / "corpus")]
        atheris.Setup([sys.argv[0], *options, *sys.argv[1:], *corpus], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
