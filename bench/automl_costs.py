"""What the parts of a search cost on this processor, as JSON: for bench/automl.py, in a Python with PyTorch and Optuna.

Seconds; the least of several rounds, in the time of the processor but for writing, which waits for the disk.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("module_utils", "workloads/automl", "workloads/common")]

import torch  # noqa: E402
from candidates import Rules, next_network  # noqa: E402
from graph import Graph  # noqa: E402
from inheritance import inherited  # noqa: E402
from layers import ACTIVATION  # noqa: E402
from morphs import OPERATIONS, Morph, morphed, propose  # noqa: E402
from network import Network  # noqa: E402
from parameters import Space  # noqa: E402
from rackmark.automl.history import History, append, history_file  # noqa: E402
from rackmark.automl.reservation import reserve  # noqa: E402
from rackmark.automl.trials import Trials  # noqa: E402
from settings_search import suggest  # noqa: E402
from start_graphs import start_graph  # noqa: E402
from surrogate import known_networks, upper_bounds  # noqa: E402

ENTRIES = (10, 1_000, 10_000, 100_000)
FILES = 512
ROUNDS = 3
SPACE = Space((0.0, 0.2), (3, 5, 7), (384, 448))
IMAGES = 32  # by which the weights of a child are set
KEPT_BEST, KEPT_LATEST = 3 * FILES, 1000  # what a worker remembers


def least(rounds: int, work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    found = []
    for _ in range(rounds):
        began = clock()
        work()
        found.append(clock() - began)
    return min(found)


def record_pair(seq: int, workers: int, chance: random.Random, features: list[float]) -> list[dict[str, Any]]:
    """A trial as workers write it, of a network with about these features."""
    common = {"worker": seq % workers, "seq": seq}
    settings = {"dropout_rate": round(chance.uniform(0, 0.2), 6), "kernel_size": 3, "batch_size": 400}
    accuracy = round(chance.uniform(0.5, 0.8), 4)
    started = {
        "event": "started",
        **common,
        "time": 1e9 + seq,
        "attempt": 1,
        "father": max(0, seq - workers),
        "digest": f"{chance.getrandbits(128):032x}",
        "morphs": ["deeper at 44", "skip_add at 9 from 3"],
        "hyperparameter": settings,
        "flops": {"evaluation": 7.8e9, "training": 2.3e10},
        "layers": 180,
        "params": 25_000_000,
        "features": [round(number + chance.gauss(0, 0.1), 5) for number in features],
        "waited": 0.1,
    }
    ended = {
        "event": "ended",
        **common,
        "time": 1e9 + seq + 0.5,
        "state": "ok",
        "accuracy": accuracy,
        "predicted": None,
        "epochs": 15,
        "images": 10**7,
        "seconds": 780.0,
        "trainings": [{"hyperparameter": settings, "accuracy": accuracy, "epochs": 15}],
        "reason": None,
    }
    return [started, ended]


def written(experiment: Path, entries: int, features: list[float]) -> None:
    """A history of so many records, in as many files as there are workers."""
    chance = random.Random(1)
    lines: dict[int, list[str]] = {worker: [] for worker in range(FILES)}
    for seq in range(entries // 2):
        for record in record_pair(seq, FILES, chance, features):
            lines[record["worker"]].append(json.dumps(record, separators=(",", ":")) + "\n")
    for worker, of_worker in lines.items():
        history_file(experiment, worker).parent.mkdir(exist_ok=True, parents=True)
        history_file(experiment, worker).write_text("".join(of_worker))


def history_costs(experiment: Path, entries: int, features: list[float]) -> dict[str, float]:
    written(experiment, entries, features)
    history = History(experiment, FILES)
    began = time.process_time()
    records = history.look()
    first = time.process_time() - began
    began = time.process_time()
    trials = trials_of(records)
    taken = time.process_time() - began
    assert len(records) == entries and not history.bad, history.complaints
    idle = least(5, history.look)
    appended, news = [], []
    for number in range(10**6, 10**6 + ROUNDS):
        new = [record_pair(number * FILES + worker, FILES, random.Random(2), features)[0] for worker in range(FILES)]
        appended.append(least(1, lambda new=new: [append(experiment, record) for record in new], time.perf_counter))
        news.append(least(1, lambda: trials.take(history.look())))
    asked = [features] * 16
    return {
        "first look": first,
        "trials of it": taken,
        "look, nothing new": idle,
        "look, all have news": min(news),
        "append": min(appended) / FILES,
        "surrogate": least(3, lambda: upper_bounds(known_networks(trials), asked)),
        "settings": least(3, lambda: suggest(trials, SPACE, 1, 3)),
    }


def trials_of(records: list[dict[str, Any]]) -> Trials:
    """What a worker remembers of them."""
    trials = Trials()
    trials.take(records)
    trials.forget(KEPT_BEST, KEPT_LATEST)
    return trials


def grown(start: Graph, chance: random.Random) -> Graph:
    graph = start
    for _ in range(3):
        morph = propose(graph, chance)
        assert morph is not None
        graph = morphed(graph, morph)
    return graph


def network_costs(name: str) -> dict[str, float]:
    """Of a child in a search that has gone on for long: choosing it, its weights, and the begin of its trial."""
    start = start_graph(name)
    chance = random.Random(3)
    graphs = [grown(start, chance) for _ in range(8)]
    asked = itertools.count()
    trials = trials_of(
        [
            record
            for seq in range(2000)
            for record in record_pair(seq, FILES, chance, list(graphs[seq % len(graphs)].features()))
        ]
    )
    rules = Rules(OPERATIONS, 4.0, SPACE.kernel_size, FILES)
    with tempfile.TemporaryDirectory() as folder:

        def choose() -> None:
            number = next(asked)
            next_network(
                trials,
                lambda seq: graphs[seq % len(graphs)],
                start,
                rules,
                random.Random(number),
                lambda digest: reserve(Path(folder), digest, number),
            )

        choosing = least(3, choose)
    father = graphs[0]
    place = max(place for place, layer in enumerate(father.listed, start=1) if layer.kind == ACTIVATION)
    dearest = Morph("deeper", place)  # its normalization is set by what all layers before it make of images
    height, width, channels = start.input_shape
    weights = Network(father).state_dict()
    images = torch.rand(IMAGES, channels, height, width)
    with torch.no_grad():
        inheriting = least(1, lambda: inherited(father, weights, [dearest], images, 1))
    return {
        "choosing": choosing,
        "inheriting": inheriting,
        "beginning": least(2, lambda: forked(lambda: Network(father)), time.perf_counter),
    }


def forked(work: Callable[[], object]) -> None:
    """As a trial begins: in a process forked from one that has torch loaded."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def main() -> None:
    torch.set_num_threads(1)
    features = list(start_graph("resnet50").features())
    found: dict[str, Any] = {"history": {}}
    for entries in ENTRIES:
        with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
            found["history"][entries] = history_costs(Path(folder), entries, features)
    found["networks"] = {name: network_costs(name) for name in ("lab", "resnet50")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
