"""Report_Succeed.html or Report_Failed.html of an experiment: AIPerf's contents in one file that needs nothing else."""

from __future__ import annotations

import base64
from datetime import datetime, timezone
from pathlib import Path
from typing import Mapping, Sequence

from ..aiperf.result import ExperimentResult
from ..aiperf.rules import shown
from ..aiperf.score import thinned
from ..formats.aiperf_results import final_scores, unit_of
from ..logs.printable import printable
from ..numbers.words import MISSING, counted
from . import pages
from .automl_plots import of_column

_MOST_ROWS = 120


def sentences_of_failure(result: ExperimentResult, state: str, reason: str | None) -> list[str]:
    """AIPerf's sentences of the rules that were not kept, then what is known in ours; none if the repeat is ok."""
    if state == "ok":
        return []
    broken = result.broken_rules()
    of_aiperf = [sentence for rule in broken if (sentence := result.sentences_for(rule))]
    ours = list(broken.values()) if result.state == "ok" else []
    said = [printable(reason)] if reason and reason not in " ".join(ours) else []
    return [*of_aiperf, *ours, *said] or [f"The repeat is {state}."]


def aiperf_page(result: ExperimentResult, sentences: Sequence[str], templates: Path) -> bytes:
    points, profile = result.score.points, result.profile
    rows = [shown(profile, point) for point in thinned(points, _MOST_ROWS)]
    unit = unit_of(result)
    pictures = [
        (column.title, base64.b64encode(of_column(points, profile, column)).decode())
        for column in (profile.columns[1:] if points else ())
    ]
    content = {
        "title": f"AIPerf: {'test failed' if sentences else 'test succeeded'}",
        "state": "failed" if sentences else "ok",
        "sentences": sentences,
        "scores": {f"{name}, {unit}": text for name, text in final_scores(result).items()},
        "facts": _facts(result),
        "pictures": pictures,
        "table": ([column.title for column in profile.columns], rows),
        "all_points": len(points),
        "remarks": [*result.problems, *result.remarks],
    }
    return pages.html(templates, "aiperf.html.j2", content)


def _facts(result: ExperimentResult) -> Mapping[str, str]:
    record = result.experiment.record
    if record is None:
        return {"Rules": result.profile.name}
    settings, weights = record.settings, record.start_weights
    counts = f"{record.images.training:,} images to train with and {record.images.evaluation:,} to evaluate with"
    last = result.history.last
    return {
        "Experiment": record.id,
        "Rules": f"{result.profile.name}: accuracy at least {result.profile.accuracy_percent:g} %,"
        f" {_time_asked(result.profile.hours)}, precision at least {result.profile.precision}",
        "Nodes": f"{counted(record.slave, 'node')} with {counted(record.devices, 'device')} each",
        "Precision": record.precision or MISSING,
        "Dataset": printable(settings["dataset"].get("name") or MISSING),
        "An epoch counts as": counts,
        "Start": f"{printable(settings.get('start_graph') or MISSING)},"
        f" {'random weights' if not weights else 'weights of ' + printable(weights)}",
        "Weights": "inherited from the father" if settings.get("inherit") else "not inherited",
        "Searched": f"{result.history.searched / 3600:.2f} h of {record.duration / 3600:.2f} h asked for",
        "Last record": _moment(last) if last is not None else MISSING,
    }


def _time_asked(hours: float) -> str:
    return f"running time at least {hours:g} h" if hours >= 1 else f"running time at least {hours * 3600:g} s"


def _moment(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return MISSING
