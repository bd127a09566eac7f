"""What a report says of telemetry: a table of nodes, sentences on energy and doubts, and who was the odd one out."""

from __future__ import annotations

from collections import defaultdict
from typing import Iterable, Mapping, NamedTuple, Sequence

from ..hostlist import compact
from ..run.manifest import Manifest
from ..run.queues import TRAITS
from ..telemetry.odd_nodes import odd_sentences
from ..telemetry.repeat_energy import IN_WORDS
from ..telemetry.repeats import WITHOUT_STEPS, RepeatTelemetry, worth_showing
from . import plots_of_telemetry
from .pictures import Picture
from .telemetry_table import TelemetryTable, telemetry_table

MOST_ALIKE = 20  # sentences on energy, and as many on nodes: the rest is in result.json of the repeats
_SAME_HOST = (
    "The nodes are simulated on one machine: processors, memory and disks are read as that machine's, the same on all"
    " of them."
)


_NONE_LEFT = "None: the jobs of this run left none, because benchmark_telemetry_seconds was 0, or because none began."
_OF_A_CLOUD = "None: nothing of ours samples the servers of a cloud."


class Section(NamedTuple):
    """Without telemetry there is only `why_not`."""

    why_not: str | None
    table: TelemetryTable
    sentences: Sequence[str]
    pictures: Sequence[Picture]


def section(
    manifest: Manifest, telemetry: Sequence[RepeatTelemetry], good: Sequence[bool], more: Sequence[str] = ()
) -> Section:
    """`good` says which of the repeats are ok: only those count in the table and among the odd ones."""
    if not any(seen.nodes for seen in telemetry):
        in_a_cloud = manifest.launcher in TRAITS and not TRAITS[manifest.launcher].engine
        return Section(_OF_A_CLOUD if in_a_cloud else _NONE_LEFT, *(TelemetryTable((), (), ()), (), ()))
    counted = [seen for seen, is_good in zip(telemetry, good) if is_good and seen.nodes]
    shown, _ = max(zip(telemetry, good), key=lambda one: worth_showing(manifest, *one))
    return Section(
        None, telemetry_table(counted, shown.case), [*sentences(manifest, telemetry, counted), *more], _pictures(shown)
    )


def sentences(
    manifest: Manifest, telemetry: Sequence[RepeatTelemetry], counted: Sequence[RepeatTelemetry]
) -> list[str]:
    """What is to be known before the numbers are believed, and who stands out. `counted` are the ok repeats."""
    repeats = {planned.case: planned.repeats for planned in manifest.cases}
    same_host = "nodes" in manifest.simulated
    return [
        *([_SAME_HOST] if same_host else []),
        *_energy(counted, manifest.measure in WITHOUT_STEPS),
        *_merged(((seen, text) for seen in counted for text in odd_sentences(seen, same_host)), repeats),
        *_capped(_merged(((seen, text) for seen in counted for text in _of_energy(seen)), repeats), "energy"),
        *_capped(_merged(((seen, text) for seen in telemetry for text in _remarks(seen)), repeats), "nodes"),
    ]


def _capped(found: Sequence[str], about: str) -> list[str]:
    more = len(found) - MOST_ALIKE
    rest = [f"{more} more sentences on {about} are in result.json of the repeats."] if more > 0 else []
    return [*found[:MOST_ALIKE], *rest]


def _pictures(seen: RepeatTelemetry) -> list[Picture]:
    where = (
        f"{seen.case} repeat {seen.repeat}, a line per node; beyond {plots_of_telemetry.NAMED} nodes the dark line is"
    )
    where = f"{where} their median. A gap is a time without samples."
    drawn = [
        Picture(
            "telemetry.png", "Processors, memory, network and disks over time", where, plots_of_telemetry.hosts(seen)
        )
    ]
    if plots_of_telemetry.has_devices(seen):
        shows = "Utilisation, power, temperature and clock of the devices over time"
        drawn.append(Picture("devices.png", shows, where, plots_of_telemetry.devices(seen)))
    return drawn


def _energy(counted: Sequence[RepeatTelemetry], without_steps: bool) -> list[str]:
    kinds = sorted({IN_WORDS[seen.energy.of] for seen in counted if seen.energy.of})
    when = "of the whole job" if without_steps else "from the first measured step's begin to the last one's end"
    return [f"Energy is that {' or '.join(kinds)}, {when}."] if kinds else []


def _remarks(seen: RepeatTelemetry) -> list[str]:
    """Nodes of which the same is to be said share a sentence."""
    alike: dict[str, list[str]] = defaultdict(list)
    for remark in seen.remarks:
        alike[remark.text].append(remark.node or "")
    return [f"{compact(nodes)}: {text}" for text, nodes in alike.items()]


def _of_energy(seen: RepeatTelemetry) -> list[str]:
    return [*([f"No energy. {seen.energy.reason}"] if seen.energy.reason else []), *seen.energy.remarks]


def _merged(texts: Iterable[tuple[RepeatTelemetry, str]], repeats: Mapping[str, int]) -> list[str]:
    """Repeats of which the same is to be said share a sentence, which ends with their names unless they are all."""
    where: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for seen, text in texts:
        where[text][seen.case].append(seen.repeat)
    return [f"{text}{_places(found, repeats)}" for text, found in where.items()]


def _places(found: Mapping[str, Sequence[int]], repeats: Mapping[str, int]) -> str:
    if {case: len(numbers) for case, numbers in found.items()} == dict(repeats):
        return ""
    names = [
        case if len(numbers) == repeats[case] else f"{case} r{', r'.join(map(str, numbers))}"
        for case, numbers in found.items()
    ]
    return f" ({'; '.join(names)})"
