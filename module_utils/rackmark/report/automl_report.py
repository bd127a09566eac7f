"""What a report says of searches for networks: their scores, their trials, how these descend, and the best network."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from ..aiperf.flops import flops_per_image
from ..aiperf.folder import Folder
from ..aiperf.result import ExperimentResult
from ..aiperf.score import IMAGENET
from ..automl.records import STATES
from ..automl.trials import Trial
from ..judging.repeat import repeat_folder
from ..judging.result import Judged
from ..logs.printable import printable
from ..logs.reading import ExtraTable
from ..node.repeat_folder import EXPERIMENT
from ..numbers.words import MISSING, or_missing, quantity
from . import automl_plots
from .automl_network import MOST_COLUMNS, network
from .pictures import Picture

MOST_SENTENCES = 20
_MOST_DRAWN = 4  # cases of which trials and network are drawn, the largest
_SCORES: Mapping[str, str] = {
    "score": "score, GFLOPS",
    "regulated": "regulated, GFLOPS",
    "accuracy": "accuracy, %",
    "hours": "hours",
    "training_share": "training, % of node time",
    "waiting_share": "waiting, %",
    "images_per_second": "images/s",
}


class Searched(NamedTuple):
    """`state` is what the repeat was judged to be worth, and `reason` why it is not ok."""

    case: str
    repeat: int
    state: str
    reason: str | None
    result: ExperimentResult

    @property
    def name(self) -> str:
        return f"{self.case} r{self.repeat}"


class Part(NamedTuple):
    """A section of the report."""

    title: str
    tables: Sequence[ExtraTable]
    pictures: Sequence[Picture]
    sentences: Sequence[str]


def searches_of(judged: Sequence[Judged]) -> list[Searched]:
    """The repeats of a run that searches, in their order; none of any other run."""
    return [
        Searched(one.result.case, one.result.repeat, one.result.state, one.result.reason, one.experiment)
        for one in judged
        if one.experiment is not None
    ]


def parts(run_dir: Path, searched: Sequence[Searched]) -> list[Part]:
    """`searched` are all repeats in their order; none is a run that does not search."""
    if not searched:
        return []
    shown = _shown(searched)
    pictures, why_not = _pictures(run_dir, shown)
    return [
        Part("Search", [_scores(searched)], _over_time(shown), _sentences(searched)),
        Part("Trials and networks", [_trials(searched), _networks(searched)], pictures, why_not),
    ]


def _scores(searched: Sequence[Searched]) -> ExtraTable:
    rows = [
        [
            one.name,
            *_numbers(one, ["score", "regulated", "accuracy"]),
            _error(one),
            *_numbers(one, list(_SCORES)[3:]),
            one.state,
        ]
        for one in searched
    ]
    titles = list(_SCORES.values())
    return ExtraTable("Scores", ["repeat", *titles[:3], "error, %", *titles[3:], "state"], rows)


def _numbers(one: Searched, names: Sequence[str]) -> list[str]:
    return [or_missing(one.result.values[name], quantity) for name in names]


def _error(one: Searched) -> str:
    final = one.result.score.final
    return MISSING if final is None else f"{final.error:.2f}"


def _trials(searched: Sequence[Searched]) -> ExtraTable:
    counts = [Counter(trial.state for trial in one.result.history.trials) for one in searched]
    rows = [
        [one.name, *(str(count[state]) if count else MISSING for state in STATES), _whole(one.result.values["epochs"])]
        for one, count in zip(searched, counts)
    ]
    return ExtraTable("Trials by state", ["repeat", *STATES, "epochs"], rows)


def _networks(searched: Sequence[Searched]) -> ExtraTable:
    rows = [[one.name, *_of_best(one.result)] for one in searched]
    headings = ("repeat", "best trial", "accuracy, %", "layers", "parameters", "MFLOP/image, forward", "and backward")
    return ExtraTable("Best network", headings, rows)


def _of_best(result: ExperimentResult) -> Sequence[str]:
    best = result.best
    if best is None:
        return [MISSING] * 6
    flops = best.flops
    return [
        f"{best.seq:05d}",
        f"{100 * (best.accuracy or 0):.2f}",
        _whole(best.layers),
        _whole(best.params),
        MISSING if flops is None else quantity(flops.evaluation / 1e6),
        MISSING if flops is None else quantity(flops.training / 1e6),
    ]


def _whole(value: float | None) -> str:
    return or_missing(value, lambda number: f"{number:,.0f}")


def _shown(searched: Sequence[Searched]) -> list[Searched]:
    """One repeat of each case: the first that is ok, or else the first that has a score."""
    found: dict[str, Searched] = {}
    for one in sorted(searched, key=lambda one: one.state != "ok"):
        if one.result.score.points:
            found.setdefault(one.case, one)
    return [found[case] for case in dict.fromkeys(one.case for one in searched) if case in found]


def _over_time(shown: Sequence[Searched]) -> list[Picture]:
    """Of profiles that count in other units, those of the largest case."""
    if not shown:
        return []
    profile = shown[-1].result.profile
    alike = [one for one in shown if one.result.profile.columns == profile.columns][-automl_plots.MOST_LINES :]
    points = {one.case: one.result.score.points for one in alike}
    repeats = ", ".join(one.name for one in alike)
    caption = f"{repeats}. A point knows the epochs that had ended by then; the last one is the final score."
    shows = "Error, score and regulated score over time"
    return [Picture("automl-score.png", shows, caption, automl_plots.over_time(points, profile))]


def _pictures(run_dir: Path, shown: Sequence[Searched]) -> tuple[list[Picture], list[str]]:
    drawn: list[Picture] = []
    why_not: list[str] = []
    for one in shown[-_MOST_DRAWN:]:
        result, best = one.result, one.result.best
        began = result.experiment.started
        if best is None or began is None:
            why_not.append(
                f"{one.name}: no picture of trials and network, for no trial in its history has an accuracy."
            )
            continue
        content = automl_plots.descent(result.history.trials, began, result.profile, best)
        caption = (
            f"{one.name}: each trial where it ended, with a line to its father; dark: from the start graph to the best."
            " Marks at the bottom are trials without an accuracy."
        )
        drawn.append(
            Picture(f"automl-{one.case}-trials.png", f"Trials of {one.name} and their descent", caption, content)
        )
        picture = _network(run_dir, one, best)
        drawn += [picture] if picture else []
        if picture is None:
            why_not.append(
                f"{one.name}: no picture of the network of trial {best.seq:05d}, for its model.json is missing, cannot"
                f" be read, or has more than {MOST_COLUMNS} layers to be drawn."
            )
    return drawn, why_not


def _network(run_dir: Path, one: Searched, best: Trial) -> Picture | None:
    files = Folder((repeat_folder(run_dir, one.case, one.repeat) / EXPERIMENT).resolve())
    graph = files.record(f"hyperparameter_epoch/{best.seq:05d}/model.json")
    kernel = best.hyperparameter.get("kernel_size")
    try:
        flops_per_image(graph, None if kernel is None else int(kernel))
    except ValueError:
        return None
    content = network(graph, f"Best network of {one.name}") if graph is not None else None
    if content is None:
        return None
    caption = (
        f"Trial {best.seq:05d}, {_whole(best.layers)} layers: bars are as high as a layer has channels, arcs are skips."
    )
    return Picture(f"automl-{one.case}-network.png", f"Best network of {one.name}", caption, content)


def _sentences(searched: Sequence[Searched]) -> list[str]:
    said = [*_of_all(searched)]
    for one in searched:
        result = one.result
        said += [f"{one.name}: {printable(text)}" for text in (*result.problems, *result.remarks)]
        reasons = dict.fromkeys(result.missing.values())
        said += [f"{one.name}: what is missing is not known. {printable(reason)}" for reason in reasons]
    more = len(said) - MOST_SENTENCES
    return said if more <= 0 else [*said[:MOST_SENTENCES], f"{more} more are in the reports of the repeats."]


def _of_all(searched: Sequence[Searched]) -> list[str]:
    records = [one.result.experiment.record for one in searched if one.result.experiment.record]
    said = [
        "Training and waiting are shares of the time of all nodes, while they searched. A score depends on the networks"
        " that were drawn: compare it together with these shares.",
        f"Every repeat has AIPerf's files and its report in cases/<case>/r<repeat>/{EXPERIMENT}. AIPerf's own script"
        " reads them: HOME=<that folder>/aiperf-home TZ=UTC python3 report.py --id <id>, where the id is in"
        " experiment.json. It needs a search of more than 6 minutes, and epochs of more than a second, as of those that"
        " end in one second it counts the first. Its table ends with the last epoch of the trial that has the highest"
        " number, ours with the last of all trials; rows that both have are then the same.",
    ]
    if any(record.images != IMAGENET for record in records):
        images = records[0].images
        said.append(
            f"An epoch counts as {images.training:,} images to train with and {images.evaluation:,} to evaluate with."
            f" AIPerf's own script takes {IMAGENET.training:,} and {IMAGENET.evaluation:,} whatever the data are: its"
            " score of this search is too high by that."
        )
    weights = {record.start_weights for record in records if record.start_weights}
    said += [
        f"The search began with the weights of {printable(name)}: what these were trained on is in the accuracy."
        for name in sorted(weights)
    ]
    return said
