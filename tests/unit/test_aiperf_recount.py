"""A score is what the networks, the settings and the history of a search give: counted once more, by AIPerf's formulas
as they are written down, without any of the code that counts it for the report."""

from __future__ import annotations

import json
import math
import random
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from rackmark.aiperf.result import read_result
from rackmark.formats.aiperf_tree import write_tree
from unit.automl_experiment import BEGAN, Search

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/automl"))
from morphs import OPERATIONS, morphed, propose
from start_graphs import start_graph

TEMPLATES = Path(__file__).parents[2] / "reports/templates"


def operations(model, kernel):
    """Forward, and both ways, for one image."""
    shape = dict(model["node_list"])
    forward, backward, convolutions = 0, 0, 0
    for place, (_, (kind, source, _, *numbers)) in enumerate(model["layer_list"], start=1):
        first = shape[source if isinstance(source, int) else source[0]]
        size = math.prod(first)
        if kind == "StubConv2d":
            channels, filters, edge, stride, padding = numbers
            edge = kernel if place > 175 else edge
            out = (first[0] + 2 * padding - edge) // stride + 1
            weights = edge**2 * channels * filters
            forward += 2 * out**2 * weights
            backward += weights * ((2 if convolutions == 0 else 4) * out**2 + 2)
            convolutions += 1
        elif kind == "StubDense":
            inputs, outputs = numbers
            forward += 2 * inputs * outputs + 13 * outputs - 1
            backward += 4 * inputs * outputs + 2 * (inputs + 1) * outputs
        elif kind == "StubBatchNormalization2d":
            forward, backward = forward + 7 * size, backward + 36
        elif kind == "StubReLU" or (kind == "StubAdd" and shape[source[0]] == shape[source[1]]):
            forward += size
        elif kind == "StubPooling2d":
            forward += size * numbers[0] ** 2 / numbers[1] ** 2
        elif kind == "StubGlobalPooling2d":
            forward += size - first[2] + 4 * first[2]
    return forward, forward + backward


def recounted(folder):
    """Score, regulated score and error at the end, with AIPerf's digits."""
    train, evaluate = json.loads((folder / "experiment.json").read_text())["dataset"]["counted"]
    total, dates, best = 0.0, [], 0.0
    for line in (line for file in (folder / "history").iterdir() for line in file.read_text().splitlines()):
        ended = json.loads(line)
        for number, training in enumerate(ended.get("trainings", ())):
            if not training["epochs"]:
                continue
            trial = folder / "hyperparameter_epoch" / f"{ended['seq']:05d}"
            settings = json.loads((trial / f"{number}.json").read_text())
            kernel = settings["hyperparameter"]["kernel_size"]
            forward, both = operations(json.loads((trial / "model.json").read_text()), kernel)
            total += training["epochs"] * (forward * evaluate + both * train)
            best = max(best, training["accuracy"])
            dates += [settings["start_date"], settings["finish_date"]]
    times = [datetime.strptime(date, "%m/%d/%Y, %H:%M:%S").replace(tzinfo=timezone.utc) for date in dates]
    seconds = (max(times) - min(times)).total_seconds()
    gflops = total / seconds / 1e9
    return f"{100 - 100 * best:.2f}", f"{gflops:.1f}", f"{gflops * -math.log(1 - best):.1f}"


def descent(start, length, rng):
    graphs = [start]
    while len(graphs) < length:
        father = rng.choice(graphs)
        graphs.append(morphed(father, propose(father, rng, OPERATIONS)).with_kernel(rng.choice((3, 5))))
    return graphs


@pytest.mark.parametrize(
    ("graph", "profile", "counted", "seconds", "workers"),
    [
        ("lab", "lab", (2000, 1000), 830, 4),
        (("resnet50", (224, 224, 3), 1000), "aiperf", (1_280_000, 50_000), 13 * 3600, 3),
    ],
    ids=["lab", "imagenet"],
)
def test_a_whole_search_counted_once_more(tmp_path, graph, profile, counted, seconds, workers):
    rng = random.Random(7)
    start = start_graph(graph) if isinstance(graph, str) else start_graph(graph[0], graph[1], graph[2])
    graphs = descent(start, 8, rng)
    assert graph == "lab" or any(len(one.to_json()["layer_list"]) > 175 for one in graphs)
    search = Search(tmp_path / "r1/experiment", workers, duration=seconds, counted=counted, profile=profile)
    longest = seconds / 100
    while min(search.clock) < BEGAN + seconds - 20 * longest:
        worker = search.clock.index(min(search.clock))
        one = graphs[0] if not search.rounds[worker] else rng.choice(graphs)
        trainings = [
            [round(rng.uniform(0.1, 0.76), 4) for _ in range(rng.randint(1, 6))] for _ in range(rng.randint(1, 2))
        ]
        state = rng.choice(("ok", "ok", "ok", "stopped", "crashed"))
        search.trial(
            worker,
            *trainings,
            epoch=rng.uniform(0.2, 1) * longest,
            state=state,
            graph=one.to_json(),
            kernel=one.kernel_size,
        )
    result = read_result(search.folder)
    assert (result.state, result.remarks) == ("ok", [])
    write_tree(search.folder.parent, result, "ok", None, TEMPLATES)
    lines = (search.folder / "results/results.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line[:1] in " 0123456789" and len(line.split()) == 4]
    assert len(rows) > 20
    expected = recounted(search.folder)
    assert tuple(rows[-1][1:]) == expected
    assert f"Final Score : {float(expected[1])} GFLOPS" in lines
    assert f"Final Regulated Score : {float(expected[2])} GFLOPS" in lines
