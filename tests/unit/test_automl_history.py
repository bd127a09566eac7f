"""The files by which the nodes of a search know of each other's results."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os

import pytest
from automl_history_fixture import began, ended, started
from rackmark.automl.history import LONGEST_LINE, OPENS_PER_SECOND, History, append, history_file


def text(path, content, mode="w"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as file:
        file.write(content)


def test_a_look_gives_what_all_workers_wrote_since_the_last_one(tmp_path):
    history = History(tmp_path, 3)
    assert history.look() == []  # there is not even a folder
    append(tmp_path, began(2))
    append(tmp_path, began(0))
    assert history.look() == [began(0), began(2)]
    append(tmp_path, started(2, 3))
    assert history.look() == [started(2, 3)]
    assert history.look() == []
    assert (history.bad, history.complaints, history.unread()) == (0, [], [])


def test_a_line_that_is_not_whole_waits_for_its_end(tmp_path):
    history = History(tmp_path, 1)
    line = json.dumps(began(0)) + "\n"
    for part, found in ((line[:20], []), (line[20:-1], []), (line[-1:], [began(0)])):
        text(history_file(tmp_path, 0), part, "a")
        assert history.look() == found


def test_after_a_torn_line_only_that_line_is_lost(tmp_path):
    append(tmp_path, began(0))
    text(history_file(tmp_path, 0), '{"event":"started","wor', "a")
    history = History(tmp_path, 1)
    assert history.look() == [began(0)]
    torn = history_file(tmp_path, 0).stat().st_size
    assert history.unread() == ["The last line of history/worker-0.jsonl is torn: 23 bytes without an end."]
    append(tmp_path, started(0, 1))
    assert history.look() == [started(0, 1)]
    assert history.bad == 1
    assert history.complaints == [
        f"A line of history/worker-0.jsonl is not JSON, at byte {torn - 23}: it was passed over."
    ]


@pytest.mark.parametrize("written", [0, 17])
def test_a_full_disk_loses_no_record_that_is_written_again(tmp_path, monkeypatch, written):
    append(tmp_path, began(0))
    real = os.write

    def half(file, data):
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data[:written])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left"):
        append(tmp_path, started(0, 1))
    monkeypatch.setattr(os, "write", real)
    append(tmp_path, started(0, 1))
    history = History(tmp_path, 1)
    assert history.look() == [began(0), started(0, 1)]
    assert history.bad == 0


def test_a_record_that_no_reader_would_take_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=f"more than {LONGEST_LINE}"):
        append(tmp_path, ended(0, 1, reason="x" * LONGEST_LINE))
    with pytest.raises(ValueError, match="JSON"):
        append(tmp_path, ended(0, 1, accuracy=float("nan")))
    assert not history_file(tmp_path, 0).exists()


WRONG = {
    "is not JSON": ["", "x", "[" * 3000, "\udcff", '{"a":' + "9" * 5000],
    "is no record": ["1", "null", "[]", '"began"'],
    "which is none of": ['{"event": "finished"}', '{"event": ["began"]}', "{}"],
    "is a record without": [
        json.dumps({**began(0), "time": None}),
        json.dumps({**ended(0, 2), "state": None}),
    ],
    "has ": [
        json.dumps({**began(0), "time": "noon"}),
        json.dumps({**began(0), "time": True}),
        '{"event":"began","worker":0,"time":1e999}',
        '{"event":"began","worker":0,"time":NaN}',
        '{"event":"began","worker":0,"time":1' + "0" * 400 + "}",
        json.dumps(ended(0, 2, accuracy=1.2)),
        json.dumps(ended(0, 2, state="running")),
        json.dumps(ended(0, 2, state=["ok"])),
        json.dumps(ended(0, 2, epochs=-1)),
        json.dumps(ended(0, 2, trainings=[{"hyperparameter": None}])),
        json.dumps(started(0, 2, flops={"evaluation": 1})),
        json.dumps(started(0, 2, features=["1"])),
        json.dumps(started(0, 2, features=[1.0] * 65)),
        json.dumps(started(0, 2, hyperparameter={"batch_size": "64"})),
    ],
    "is a record of another worker": [json.dumps(began(1)), json.dumps({**started(1, 2), "worker": 0})],
    "is too long": [json.dumps({**began(0), "host": "x" * LONGEST_LINE})],
}


@pytest.mark.parametrize(("reason", "line"), [(reason, line) for reason, lines in WRONG.items() for line in lines])
def test_a_line_that_is_no_record_is_counted_and_said_with_its_place(tmp_path, reason, line):
    append(tmp_path, began(0))
    place = history_file(tmp_path, 0).stat().st_size
    with history_file(tmp_path, 0).open("ab") as file:
        file.write(line.encode(errors="surrogateescape") + b"\n")
    append(tmp_path, started(0, 2))
    history = History(tmp_path, 2)
    assert history.look() == [began(0), started(0, 2)]
    assert history.bad == 1
    (sentence,) = history.complaints
    if len(line) < LONGEST_LINE:
        assert reason in sentence
    assert sentence.startswith("A line of history/worker-0.jsonl ")
    assert sentence.endswith(f"at byte {place}: it was passed over.")


def test_megabytes_without_a_line_are_one_bad_line(tmp_path):
    text(history_file(tmp_path, 0), "x" * 3_000_000)
    history = History(tmp_path, 1)
    assert history.look() == []
    append(tmp_path, began(0))
    append(tmp_path, started(0, 1))
    assert history.look() == [began(0), started(0, 1)]
    assert history.bad == 1


@pytest.mark.parametrize("later", ["", "x" * 1000 + "\n"])
def test_a_file_that_shrank_is_said_and_read_again(tmp_path, later):
    for record in (began(0), started(0, 1)):
        append(tmp_path, record)
    history = History(tmp_path, 1)
    history.look()
    text(history_file(tmp_path, 0), json.dumps(began(0)) + "\n" + later)
    assert history.look() == [began(0)]
    assert "worker-0.jsonl was changed behind byte" in history.complaints[0]


def test_a_file_of_nobody_is_said_and_an_empty_one_is_nothing(tmp_path):
    append(tmp_path, began(1))
    for name in ("worker-0.jsonl", "worker-2.jsonl", "notes.txt"):
        (tmp_path / "history" / name).touch()
    history = History(tmp_path, 2)
    assert history.look() == [began(1)]
    assert history.unread() == [
        "history/notes.txt is the file of no worker and was not read.",
        "history/worker-2.jsonl is the file of no worker and was not read.",
    ]


def test_what_cannot_be_opened_is_said_and_the_others_are_read(tmp_path):
    append(tmp_path, began(1))
    history_file(tmp_path, 0).mkdir()
    history = History(tmp_path, 2)
    assert history.look() == [began(1)]
    assert history.complaints == ["history/worker-0.jsonl cannot be read: Is a directory."]


def test_in_a_large_search_a_worker_reads_its_own_file_always_and_the_others_in_turns(tmp_path):
    workers, now = 1000, [0.0]
    for worker in range(workers):
        append_quickly(tmp_path, began(worker))
    history = History(tmp_path, workers, reader=7, clock=lambda: now[0])
    seen = [record["worker"] for record in history.look()]
    assert seen[0] == 7
    assert len(seen) == 1 + 60 * OPENS_PER_SECOND / workers
    for look in range(9):
        now[0] += 60
        append_quickly(tmp_path, began(7, time=look))
        new = [record["worker"] for record in history.look()]
        assert new[0] == 7
        seen += new[1:]
    assert sorted(seen) == list(range(workers))  # nobody twice, nobody never


def append_quickly(folder, record):
    text(history_file(folder, record["worker"]), json.dumps(record) + "\n", "a")


def write_many(folder, worker, workers):
    for seq in range(worker, 50 * workers, workers):
        append(folder, started(seq, workers))


def test_a_reader_misses_nothing_of_what_others_write_meanwhile(tmp_path):
    writers = [multiprocessing.Process(target=write_many, args=(tmp_path, worker, 3)) for worker in range(3)]
    for writer in writers:
        writer.start()
    history, found = History(tmp_path, 3), []
    while any(writer.is_alive() for writer in writers):
        found += history.look()
    found += history.look()
    assert sorted(record["seq"] for record in found) == list(range(150))
    assert history.bad == 0
