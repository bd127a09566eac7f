"""Searches for networks as a job starts them on a node: search.py in the folder of a repeat, with its own images."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from lab.automl_environment import AUTOML, automl_environment
from rackmark.automl.history import History
from rackmark.automl.trials import trials_of
from workload_code import code_of

SETTINGS = {
    "profile": "lab",
    "maxTrialNum": 6000,
    "warmup_1": 1,
    "warmup_2": 1,
    "warmup_3": 1,
    "epochs": 2,
    "initial_lr": 0.05,
    "patience": "10",
    "batch_size": [16, 48],
    "batch_size_absolute": True,
    "kernel_size": [3, 5],
    "start_graph": "lab",
    "max_growth": 1.33,
    "seed": 7,
    "workers": 0,
}


class Search:
    """One in a folder, by one or more workers on this machine."""

    def __init__(self, folder, data, kind="idx", workers=1, duration=120, stalled_after=30, devices=1, **settings):
        self.folder, self.data, self.workers = folder, data, workers
        self.experiment = folder / "experiment"
        self.processes = []
        folder.mkdir(exist_ok=True)
        record = {
            "schema": "rackmark.job/1",
            "name": "tests:1n1g:1",
            "case": "1n1g",
            "repeat": 1,
            "launcher": "local",
            "nodes": workers,
            "devices_per_node": devices,
            "program": ["search.py"],
            "device": "cpu",
            "minutes": 5,
            "stalled_after": stalled_after,
            "ranks": "node",
            "data": kind,
            "batch": 32,
            "precision": "fp32",
            "duration": duration,
            "settings": {**SETTINGS, **settings},
        }
        (folder / "record.json").write_text(json.dumps(record))

    def start(self, before=None):
        """`before` is done in each process before it becomes the program."""
        command = [automl_environment(), str(code_of(AUTOML) / "search.py"), "--data", str(self.data)]
        for worker in range(self.workers):
            told = {"RANK": str(worker), "WORLD_SIZE": str(self.workers), "OMP_NUM_THREADS": "1"}
            with self.log(worker).open("a") as log:
                self.processes.append(
                    subprocess.Popen(
                        command,
                        cwd=self.folder,
                        env={**os.environ, **told},
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        preexec_fn=before,
                    )
                )
        return self

    def ended(self):
        """The exit statuses of what was started."""
        statuses = [process.wait(timeout=240) for process in self.processes]
        self.processes = []
        return statuses

    def run(self):
        assert set(self.start().ended()) == {0}, self.said()
        return self.trials()

    def kill(self):
        """Comes back when what they had started is gone, too."""
        started = [each for process in self.processes for each in descendants(process.pid)]
        for process in self.processes:
            process.kill()
            process.wait()
        while any(map(is_alive, started)):
            time.sleep(0.02)

    def log(self, worker=0):
        return self.folder / f"rank-{worker}.log"

    def said(self, worker=0):
        return self.log(worker).read_text()

    def events(self, name, worker=0):
        lines = (line.partition(" ") for line in self.said(worker).splitlines())
        found = [json.loads(content) for word, _, content in lines if word == "RACKMARK"]
        return [event for event in found if event["event"] == name]

    def records(self, event=None):
        history = History(self.experiment, self.workers)
        records = [record for record in history.look() if event in (None, record["event"])]
        assert history.complaints == []
        return records

    def trials(self):
        return trials_of(self.records(), now_lost=False)

    def worker_process(self):
        """The number of the process that the first supervisor has at work."""
        return children_of(self.processes[0].pid)[0]

    def trial_process(self):
        """That of a trial: the one that has its log open."""
        for number in children_of(self.worker_process()):
            with suppress(OSError):
                if any(str(file.readlink()).endswith("trial.log") for file in Path(f"/proc/{number}/fd").iterdir()):
                    return number
        return None

    def rank_process(self, rank):
        """That of another device: what is forked next to the first one is in its process group."""
        first = self.trial_process()
        group = sorted(number for number in children_of(self.worker_process()) if os.getpgid(number) == first)
        return group[rank]

    def wait_for(self, holds):
        """What it gives once it holds."""
        deadline = time.monotonic() + 120
        while True:
            with suppress(OSError, IndexError):
                found = holds()
                if found:
                    return found
            assert time.monotonic() < deadline and self.processes[0].poll() is None, self.said()
            time.sleep(0.02)

    def wait_for_trial(self, seq):
        """The process of that trial, which has begun to train."""
        log = self.experiment / f"trials/{seq:05d}/trial.log"
        self.wait_for(lambda: "Epoch" in log.read_text())
        return self.wait_for(self.trial_process)


def children_of(number):
    return [int(child) for child in Path(f"/proc/{number}/task/{number}/children").read_text().split()]


def descendants(number):
    with suppress(OSError):
        for child in children_of(number):
            yield child
            yield from descendants(child)


def kill(number):
    os.kill(number, signal.SIGKILL)


def is_alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def draw_idx(folder, train=240, evaluated=90, side=28):
    """Images of noise in three classes, which differ in the third of them that is a little brighter."""
    folder.mkdir()
    chance = random.Random(1)
    for part, count in (("train", train), ("t10k", evaluated)):
        labels = [number % 3 for number in range(count)]
        third = side * side // 3
        pixels = b""
        for label in labels:
            image = bytearray(chance.getrandbits(6) for _ in range(side * side))
            image[label * third : (label + 1) * third] = bytes(10 + chance.getrandbits(6) for _ in range(third))
            pixels += bytes(image)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, count, side, side) + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + bytes(labels))
    return folder
