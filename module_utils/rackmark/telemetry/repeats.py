"""What the samplers of a run's nodes saw of every repeat, cut to the time that was measured.

    cases/2n8g/r1/telemetry-node1.jsonl
    cases/2n8g/r1/telemetry-node2.jsonl

The window is from the begin of the first measured step to the end of the last one, of all ranks, or the whole job where
no steps are measured. It is by the clock of the first node; how far those of the others are ahead of it is known from
the preflight.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from ..judging.node_clocks import clock_offsets
from ..judging.repeat import job_span, repeat_folder
from ..judging.result import Judged
from ..logs.digest import RankDigest
from ..run.manifest import Manifest, PlannedCase
from ..run.queues import TRAITS
from .metered_energy import no_overlap
from .repeat_energy import HOSTS, PROCESSORS, RepeatEnergy, repeat_energy, set_energies
from .sampler_file import NodeTelemetry, read_telemetry

LARGEST_CLOCK_OFFSET = 0.1  # seconds
WITHOUT_STEPS = ("stated", "search")
_MOST_AT_ENDS = 2  # intervals between samples that may lie between the window's end and the last one

_UNKNOWN_CLOCK = "How far its clock is from that of the first node is not known: its times are taken as they are."
_OTHER_WORK = (
    "The nodes were not taken through Slurm, which keeps other work away: what else ran on them is in their energy."
)


class Remark(NamedTuple):
    """About a node, or about all of them where none is named."""

    node: str | None
    text: str


@dataclass(frozen=True)
class RepeatTelemetry:
    """`window` is by the clock of the first node, `offsets` are seconds by which clocks of nodes are ahead of it.

    `asked` is whether there is any sign that the job was to be sampled.
    """

    case: str
    repeat: int
    window: tuple[float, float] | None
    nodes: Mapping[str, NodeTelemetry]
    offsets: Mapping[str, float]
    energy: RepeatEnergy
    remarks: Sequence[Remark]

    @property
    def asked(self) -> bool:
        return bool(self.nodes)


def read_run_telemetry(run_dir: Path, manifest: Manifest, judged: Sequence[Judged]) -> list[RepeatTelemetry]:
    """One entry for each that was judged, in their order. Only the one that is drawn keeps the rows of its series."""
    cases = {planned.case: planned for planned in manifest.cases}
    read: list[RepeatTelemetry] = []
    drawn: tuple[tuple[int, ...], RepeatTelemetry] | None = None
    for one in judged:
        seen = _read_repeat(run_dir, cases[one.result.case], manifest, one)
        worth = worth_showing(manifest, seen, one.result.state == "ok")
        if drawn is None:
            drawn = worth, seen
        else:
            drawn, less = ((worth, seen), drawn[1]) if worth > drawn[0] else (drawn, seen)
            for node in less.nodes.values():
                node.series.forget_rows()
        read.append(seen)
    return read


def worth_showing(manifest: Manifest, seen: RepeatTelemetry, is_good: bool) -> tuple[int, ...]:
    """The repeat of which this is the largest is drawn, the first of several."""
    sizes = {planned.case: planned.world_size for planned in manifest.cases}
    return (int(bool(seen.nodes)), int(is_good), sizes[seen.case], -seen.repeat)


def _read_repeat(run_dir: Path, planned: PlannedCase, manifest: Manifest, judged: Judged) -> RepeatTelemetry:
    folder = repeat_folder(run_dir, planned.case, judged.result.repeat)
    offsets = clock_offsets(folder)
    per_node = planned.devices_per_node if manifest.ranks == "device" else 1
    window = _window(judged.ranks, per_node, list(offsets.values()))
    if window is None and manifest.measure in WITHOUT_STEPS:
        window = job_span(folder)
    files = {path.name[len("telemetry-") : -len(".jsonl")]: path for path in sorted(folder.glob("telemetry-*.jsonl"))}
    names = list(offsets) or list(files)
    nodes = {
        name: read_telemetry(files[name], name, _shifted(window, offsets.get(name))) for name in names if name in files
    }
    known_offsets = {name: offset for name, offset in offsets.items() if offset is not None}
    if not nodes:
        return RepeatTelemetry(
            planned.case, judged.result.repeat, window, {}, known_offsets, RepeatEnergy(None, None, None), []
        )
    remarks = [
        *(
            Remark(name, "There is no telemetry of it: its sampler left no file.")
            for name in names
            if name not in files
        ),
        *(Remark(name, text) for name, node in nodes.items() for text in _doubts(node)),
        *(Remark(name, text) for name, text in _clock_doubts(known_offsets)),
        *(Remark(name, _UNKNOWN_CLOCK) for name in names[1:] if name not in known_offsets),
    ]
    for node in nodes.values():
        set_energies(node)
    energy = repeat_energy(names, nodes)
    if energy.of in (HOSTS, PROCESSORS) and not _exclusive(manifest.launcher):
        energy = energy._replace(remarks=[*energy.remarks, _OTHER_WORK])
    return RepeatTelemetry(planned.case, judged.result.repeat, window, nodes, known_offsets, energy, remarks)


def _exclusive(launcher: str) -> bool:
    """Whether other work was kept from the nodes."""
    return launcher in TRAITS and TRAITS[launcher].exclusive


def _window(
    ranks: Mapping[int | None, RankDigest], per_node: int, offsets: Sequence[float | None]
) -> tuple[float, float] | None:
    """By the clock of the first node. Of a log that tells for all, its writer is the first rank."""
    begins, ends = [], []
    for number, rank in ranks.items():
        if rank.measured is not None:
            place = (number or 0) // per_node
            ahead = (offsets[place] if place < len(offsets) else None) or 0.0
            begins.append(rank.measured[0] - ahead)
            ends.append(rank.measured[1] - ahead)
    return (min(begins), max(ends)) if begins and min(begins) < max(ends) else None


def _shifted(window: tuple[float, float] | None, ahead: float | None) -> tuple[float, float] | None:
    return window and (window[0] + (ahead or 0.0), window[1] + (ahead or 0.0))


def _doubts(node: NodeTelemetry) -> list[str]:
    """Whatever keeps the readings of a node from being those of the whole window."""
    doubts = [*_why_not_covered(node), *([node.end] if node.end else [])]
    if not node.ended:
        doubts.append("Its sampler left no word of its end: it was killed with its job, or its disk was full.")
    if node.unreadable:
        doubts.append(f"{node.unreadable} lines of its telemetry cannot be read.")
    if node.jumps:
        doubts.append(f"Its clock jumped by {max(node.jumps, key=abs):+.1f} s while the job ran.")
    return doubts


def _why_not_covered(node: NodeTelemetry) -> list[str]:
    window = node.series.window
    if node.first is None or node.last is None:
        return ["Its telemetry holds no sample."]
    if window is None:
        return []
    apart = no_overlap((node.first, node.last), window)
    if apart is not None:
        return [f"Its telemetry does not overlap what was measured. {apart}"]
    whole = window[1] - window[0]
    allowed = _MOST_AT_ENDS * node.seconds
    at_ends = sum(missing for missing in (node.first - window[0], window[1] - node.last) if missing > allowed)
    unseen = at_ends + node.gaps_in_window
    return [f"It was not sampled for {unseen:.1f} s of the measured {whole:.1f} s."] if unseen else []


def _clock_doubts(offsets: Mapping[str, float]) -> list[tuple[str, str]]:
    first = next(iter(offsets), None)
    return [
        (
            name,
            f"Its clock was {abs(offset):.2f} s {'ahead of' if offset > 0 else 'behind'} that of {first}: its times are"
            " shifted by that.",
        )
        for name, offset in offsets.items()
        if abs(offset) > LARGEST_CLOCK_OFFSET
    ]
