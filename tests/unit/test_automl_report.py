"""What a report says of searches for networks: their scores, their trials, the best network."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from rackmark.aiperf.result import read_result
from rackmark.automl.trials import Trial
from rackmark.report import pages
from rackmark.report.automl_network import MOST_COLUMNS, columns_of, network
from rackmark.report.automl_plots import descent, over_time
from rackmark.report.automl_report import MOST_SENTENCES, Searched, parts
from rackmark.report.report import embedded
from unit.automl_experiment import BEGAN, Search, write_json
from unit.test_aiperf_flops import GRAPH

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/automl"))
from morphs import OPERATIONS, morphed, propose
from start_graphs import start_graph

TEMPLATES = Path(__file__).parents[2] / "reports/templates"
PNG = b"\x89PNG"


def searched(run_dir, case="1n1g", repeat=1, state="ok", **options):
    folder = run_dir / f"cases/{case}/r{repeat}/experiment"
    workers = int(case.partition("n")[0])
    search = Search(folder, workers, **{"duration": 100, **options})
    for worker in range(workers):
        search.trial(worker, [0.3, 0.6, 0.7 + worker / 100], epoch=30)
        search.trial(worker, [0.65], state="crashed", father=worker)
    return Searched(case, repeat, state, None, read_result(folder))


def cells(table, row=0):
    return dict(zip(table.headings, table.rows[row], strict=True))


def text_of(found):
    """The sections as both kinds of pages have them."""
    drawn = [picture for part in found for picture in part.pictures]
    content = {"searches": found, "embedded": embedded(drawn)}
    html = pages.html(TEMPLATES, "automl.html.j2", content).decode()
    return html, pages.plain(TEMPLATES, "automl.md.j2", content).decode()


def test_a_run_without_searches_has_no_section(tmp_path):
    assert parts(tmp_path, []) == []
    assert text_of([]) == ("\n", "\n")


def test_numbers_of_every_repeat(tmp_path):
    one, four = searched(tmp_path), searched(tmp_path, "4n1g", state="rule_failed")
    scores, trials = parts(tmp_path, [one, four])
    row = cells(scores.tables[0], 1)
    final = four.result.score.final
    assert (row["repeat"], row["state"]) == ("4n1g r1", "rule_failed")
    assert float(row["score, GFLOPS"]) == pytest.approx(final.gflops, abs=1e-3)
    assert (row["accuracy, %"], row["error, %"]) == ("73.00", "27.00")
    assert row["training, % of node time"] == f"{four.result.values['training_share']:.2f}"
    by_state, networks = trials.tables
    none = dict.fromkeys(("diverged", "oom", "stalled", "stopped", "lost"), "0")
    assert cells(by_state, 1) == none | {"repeat": "4n1g r1", "ok": "4", "crashed": "4", "epochs": "16"}
    best = cells(networks, 1)
    assert (best["best trial"], best["accuracy, %"], best["layers"]) == ("00003", "73.00", "9")


def test_what_is_not_known_is_a_dash_and_has_its_reason(tmp_path):
    one = searched(tmp_path)
    for path in (tmp_path / "cases/1n1g/r1/experiment/history").iterdir():
        path.unlink()
    found = parts(tmp_path, [one._replace(result=read_result(tmp_path / "cases/1n1g/r1/experiment"))])
    assert cells(found[0].tables[0])["waiting, %"] == "–"  # noqa: RUF001
    assert set(found[1].tables[0].rows[0][1:-1]) == {"–"}  # noqa: RUF001
    assert "1n1g r1: what is missing is not known. The search left no history." in found[0].sentences
    assert found[1].pictures == []
    assert "no picture of trials and network" in found[1].sentences[0]


def test_pictures_are_of_the_largest_cases_and_of_repeats_that_are_ok(tmp_path):
    cases = ["1n1g", "2n1g", "3n1g", "4n1g", "5n1g"]
    bad = searched(tmp_path, "5n1g", repeat=1, state="node_fail")
    all_repeats = [searched(tmp_path, case, repeat=2) for case in cases]
    scores, trials = parts(tmp_path, [*all_repeats[:4], bad, all_repeats[4]])
    assert [picture.file for picture in scores.pictures] == ["automl-score.png"]
    assert "5n1g r2" in scores.pictures[0].caption and "5n1g r1" not in scores.pictures[0].caption
    assert [picture.file for picture in trials.pictures] == [
        f"automl-{case}-{what}.png" for case in cases[1:] for what in ("trials", "network")
    ]
    assert all(picture.content.startswith(PNG) for picture in (*scores.pictures, *trials.pictures))


def test_a_page_holds_its_pictures_and_shows_what_workers_wrote_as_text(tmp_path):
    one = searched(tmp_path, start_weights="<b>resnet</b>.h5", dataset={"name": "x", "counted": [2000, 1000]})
    html, plain = text_of(parts(tmp_path, [one]))
    assert html.count('src="data:image/png;base64,') == 3
    assert "<b>" not in html and "&lt;b&gt;resnet&lt;/b&gt;.h5" in html
    assert "![Trials of 1n1g r1 and their descent](automl-1n1g-trials.png)" in plain
    assert "takes 1,280,000 and 50,000 whatever the data are" in plain


def test_of_many_sentences_some_are_shown(tmp_path):
    one = searched(tmp_path)
    history = tmp_path / "cases/1n1g/r1/experiment/history/worker-0.jsonl"
    history.write_text(history.read_text() + "torn\n" * 30)
    again = one._replace(result=read_result(history.parents[1]))
    sentences = parts(tmp_path, [again] * 8)[0].sentences
    assert len(sentences) == MOST_SENTENCES + 1
    assert sentences[-1].endswith("more are in the reports of the repeats.")


def test_a_best_network_that_cannot_be_read_is_not_drawn(tmp_path):
    one = searched(tmp_path)
    path = tmp_path / "cases/1n1g/r1/experiment/hyperparameter_epoch/00000/model.json"
    write_json(path, {**GRAPH, "layer_list": []})
    part = parts(tmp_path, [one])[1]
    assert [picture.file for picture in part.pictures] == ["automl-1n1g-trials.png"]
    assert "no picture of the network of trial 00000" in part.sentences[0]


def test_a_network_is_drawn_by_what_its_layers_read(tmp_path):
    """Convolution and pool, a convolution with a sum and a concatenation of both, a pool, the dense layer."""
    columns = columns_of(GRAPH)
    kinds = ["Conv2d", "Pooling2d", "Conv2d", "Add", "Concatenate", "GlobalPooling2d", "Dense"]
    assert [column.kind for column in columns] == [f"Stub{kind}" for kind in kinds]
    assert [column.sources for column in columns] == [[], [0], [1], [2, 1], [3, 1], [4], [5]]
    assert [column.channels for column in columns] == [4, 4, 4, 4, 8, 8, 10]
    assert not any(column.is_new for column in columns)


def test_layers_that_the_search_made_are_told_apart():
    rng, graph = random.Random(5), start_graph("lab")
    layers = graph.layers
    while graph.layers < layers + 12:
        graph = morphed(graph, propose(graph, rng, OPERATIONS))
    columns = columns_of(json.loads(json.dumps(graph.to_json())))
    assert 0 < sum(column.is_new for column in columns) < len(columns)
    assert all(source < place for place, column in enumerate(columns) for source in column.sources)
    assert network(graph.to_json(), "x").startswith(PNG)


def test_a_network_with_more_layers_than_can_be_seen_is_not_drawn():
    count = MOST_COLUMNS + 1
    nodes = [[number, [8, 8, 4]] for number in range(count + 1)]
    layers = [[number, ["StubConv2d", number, number + 1, 4, 4, 3, 1, 1]] for number in range(count)]
    assert network({"node_list": nodes, "layer_list": layers}, "x") is None


def test_thousands_of_trials_are_one_picture_of_bounded_size(tmp_path):
    rng = random.Random(1)
    trials = [
        Trial(
            seq,
            seq % 64,
            state="ok",
            father=rng.randrange(seq - 64) if seq > 64 else None,
            accuracy=None if seq % 50 == 3 else min(0.9, 0.1 + seq / 9000 + rng.random() / 10),
            began=BEGAN + seq,
            ended=BEGAN + seq + 400,
        )
        for seq in range(6000)
    ]
    one = searched(tmp_path).result
    picture = descent(trials, BEGAN, one.profile, trials[5990])
    assert picture.startswith(PNG)
    assert len(picture) < 1_000_000
    assert over_time({"1n1g": one.score.points * 9000}, one.profile).startswith(PNG)


def test_a_descent_that_goes_in_circles_ends(tmp_path):
    trials = [Trial(number, 0, "ok", father=1 - number, accuracy=0.5, began=BEGAN, ended=BEGAN) for number in (0, 1)]
    assert descent(trials, BEGAN, searched(tmp_path).result.profile, trials[0]).startswith(PNG)
