"""What comes back from the machine that a run was on, whatever its jobs have left there."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import os
import random
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from rackmark.dialects.catalog import dialect_named
from rackmark.judging.repeat import read_rank_log
from rackmark.logs import excerpt
from rackmark.logs.series import Window
from rackmark.run import collecting
from rackmark.run.collecting import pack
from unit.run_fixture import WARMUP, summary_of, write_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def unpack(monkeypatch):
    """With the tarfile of Python 3.11.2, which is Debian 12's."""

    def extract(self, member, path="", set_attrs=True, *, numeric_owner=False):
        raise AssertionError("knows no filters and would write anything anywhere")

    monkeypatch.setattr(tarfile.TarFile, "extract", extract)
    spec = importlib.util.spec_from_file_location("collect", ROOT / "action_plugins/benchmark_collect.py")
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    return plugin._unpack


def archive(**members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for number, (kind, (name, content)) in enumerate(members.items()):
            member = tarfile.TarInfo(name)
            member.mtime = 1000 + number
            if kind.startswith("link"):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content.encode()))
    return base64.b64encode(packed.getvalue()).decode()


def test_files_come_with_their_times_and_replace_older_ones(unpack, tmp_path):
    packed = archive(one=("manifest.json", "{}"), two=("cases/1n1g/r1/rank-0.log", "a line\n"))
    for _ in range(2):
        names = set()
        unpack(packed, tmp_path / "run", names)
        assert names == {"manifest.json", "cases/1n1g/r1/rank-0.log"}
    log = tmp_path / "run/cases/1n1g/r1/rank-0.log"
    assert (log.read_text(), log.stat().st_mtime) == ("a line\n", 1001)


def test_nothing_is_written_elsewhere_and_no_link_is_followed(unpack, tmp_path):
    kept = tmp_path / "kept.log"
    kept.write_text("kept")
    hostile = archive(
        above=("../kept.log", "lost"),
        whole=(str(kept), "lost"),
        link=("cases/link.log", "../../kept.log"),
        behind=("cases/link.log", "ours"),
    )
    names = set()
    unpack(hostile, tmp_path / "run", names)
    assert names == {"cases/link.log"}
    assert kept.read_text() == "kept"
    assert (tmp_path / "run/cases/link.log").read_text() == "ours"


def collect(run_dir, dest, unpack, texts=("RACKMARK {",)):
    """As the action does; returns the sizes of all answers, and the logs that were shortened."""
    left, known, names, sizes, shortened = None, None, set(), [], set()
    while True:
        answer = pack(run_dir, left, known)
        unpack(base64.b64encode(answer.archive).decode(), dest, names)
        sizes.append(len(answer.archive))
        shortened.update(answer.shortened)
        if answer.needs_texts:
            known = [text.encode() for text in texts]
        left = answer.left
        if left is None:
            return sizes, shortened


def in_folder(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", {"1n1g": [0.5, 0.5], "1n2g": [0.5]})


def test_what_a_run_has_left_comes_whole_in_many_small_answers(unpack, run, tmp_path, monkeypatch):
    (run / "cases/1n2g/r1/telemetry-node1.jsonl").write_bytes(random.Random(1).randbytes(400_000))
    (run / "cases/1n2g/r1/rank-1.exit").write_text("")
    monkeypatch.setattr(collecting, "LARGEST_PART", 10_000)
    monkeypatch.setattr(collecting, "LARGEST_ANSWER", 20_000)
    sizes, shortened = collect(run, tmp_path / "here", unpack)
    assert in_folder(tmp_path / "here") == in_folder(run)
    assert (len(sizes) > 8, max(sizes) < 60_000, shortened) == (True, True, set())
    there, here = (folder / "cases/1n1g/r2/rank-0.exit" for folder in (run, tmp_path / "here"))
    assert here.stat().st_mtime == pytest.approx(there.stat().st_mtime)


def test_links_and_pipes_are_left_where_they_are(unpack, run, tmp_path):
    (run / "cases/1n1g/r1/secret.log").symlink_to("/etc/passwd")
    os.mkfifo(run / "cases/1n1g/r1/pipe.log")
    collect(run, tmp_path / "here", unpack)
    assert not list((tmp_path / "here").rglob("secret.log")) + list((tmp_path / "here").rglob("pipe.log"))


NOISE = "INFO worker {}: a batch came in {} ms\n"
BAR = " 50%|#####     | {}/100 [00:01<00:01]\r"
ENDINGS = ("", "a line without its end", "RACKMARK {")


def noisy(log, rnd, end=""):
    """A log with what else programs print between its lines, before them and after them."""
    lines = [f"{line}\n" for line in log.read_text().splitlines()]
    for line in lines[:]:
        at = lines.index(line)
        more = [NOISE.format(rnd.randrange(10**6), rnd.random()) for _ in range(rnd.randrange(400))]
        bars = [BAR.format(place) for place in range(rnd.randrange(50))]
        colour = ["\x1b[31m" if rnd.random() < 0.3 else ""]
        lines[at:at] = [*more, "\x00\xff\x08\x08 garbage \r\n" if rnd.random() < 0.3 else "", *bars, *colour]
    return ("".join(lines) + end).encode("latin-1")


@pytest.mark.parametrize("seed", range(6))
def test_of_a_huge_log_the_ends_and_the_lines_with_numbers_come_and_it_is_judged_the_same(
    unpack, run, tmp_path, monkeypatch, seed
):
    rnd = random.Random(seed)
    log = run / "cases/1n2g/r1/rank-1.log"
    log.write_bytes(noisy(log, rnd, ENDINGS[seed % 3]))
    monkeypatch.setattr(excerpt, "LARGE", 20_000)
    monkeypatch.setattr(excerpt, "AROUND", 3_000)
    monkeypatch.setattr(excerpt, "PIECE", rnd.choice([700, 5_000, 1 << 20]))
    monkeypatch.setattr(collecting, "LARGEST_ANSWER", rnd.choice([100, 1 << 20]))
    _, shortened = collect(run, tmp_path / "here", unpack)
    here = tmp_path / "here/cases/1n2g/r1/rank-1.log"
    assert shortened == {str(log)}
    whole, kept = log.read_bytes(), here.read_bytes()
    assert len(kept) < len(whole) / 2
    assert kept[:2500] == whole[:2500]
    assert kept[-2500:] == whole[-2500:]
    note = [line for line in kept.decode("latin-1").splitlines() if line.startswith("rackmark: ")]
    assert len(note) == 1
    assert note[0].endswith(f"The whole log is {log} on {socket.gethostname()}.")
    as_whole, as_kept = (
        read_rank_log(path, 1, dialect_named("rackmark"), Window(WARMUP, None), 1).ranks for path in (log, here)
    )
    assert repr(as_kept) == repr(as_whole)
    assert summary_of(tmp_path / "here") == summary_of(run)


def test_a_huge_log_of_a_dialect_that_reads_more_than_lines_comes_whole(unpack, run, tmp_path, monkeypatch):
    monkeypatch.setattr(excerpt, "LARGE", 100)
    _, shortened = collect(run, tmp_path / "here", unpack, texts=())
    assert shortened == set()
    assert in_folder(tmp_path / "here") == in_folder(run)


def of_200_mb(content, lines):
    """What is written before each line, by its place."""
    if content == "one line":
        return {3: [b"\0" * (200 << 20), b"\n"]}
    text_and_binary = [random.Random(1).randbytes(1 << 19), b"a line of text\n" * (1 << 15)]
    return dict.fromkeys(range(len(lines)), text_and_binary * (200 // len(lines) + 1) + [b"\n"])


@pytest.mark.parametrize("content", ["one line", "text and binary"])
def test_a_log_of_any_size_is_collected_and_read_with_little_memory(run, tmp_path, content):
    log = run / "cases/1n2g/r1/rank-1.log"
    lines = log.read_bytes().splitlines(keepends=True)
    before = of_200_mb(content, lines)
    with log.open("wb") as file:
        for place, line in enumerate(lines):
            file.writelines([*before.get(place, ()), line])
    said = collected_alone(run, tmp_path)
    assert said["here"] == said["there"] == [4.0, 32.0, True]
    assert said["kept_mb"] < 4
    assert max(said["peak_mb"]) < 150


def test_a_log_of_many_lines_with_numbers_is_collected_whole_and_with_little_memory(run, tmp_path):
    log = run / "cases/1n2g/r1/rank-1.log"
    start, step = (
        next(line for line in log.read_text().splitlines() if word in line) for word in ("start", '"step": 2,')
    )
    with log.open("w") as file:
        file.write(f"{start}\n")
        file.writelines(step.replace('"step": 2,', f'"step": {number},') + "\n" for number in range(1, 900_000))
    said = collected_alone(run, tmp_path)
    assert log.stat().st_size > 100 << 20
    assert said["here"] == said["there"] == [899_997.0, 8 * 899_997.0, True]
    assert max(said["peak_mb"]) < 150


def collected_alone(run, tmp_path):
    program = [sys.executable, str(Path(__file__).with_name("collect_with_little_memory.py")), str(run), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "module_utils")}
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
