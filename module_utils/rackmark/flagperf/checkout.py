"""The parts of a checkout of FlagPerf that one benchmark needs, and what of them is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from ..run.keys import did_you_mean
from .imported import ImportedCase

SCRIPT = "run_pretraining.py"
_DEEPSPEED = "ds_config.json"
_LARGEST_SOURCE = 1 << 20


@dataclass(frozen=True)
class Launched:
    """How FlagPerf starts benchmarks of one framework: `ranks` as in workload.yml. A language model states tokens."""

    ranks: str
    needs_extern: bool = False
    needs_deepspeed: bool = False
    language_models: bool = False


BASES: Mapping[str, Launched] = {
    "pytorch": Launched("device", needs_extern=True),
    "paddle": Launched("device", needs_extern=True),
    "deepspeed": Launched("node", needs_deepspeed=True, language_models=True),
    "deepspeed-torch": Launched("node", needs_deepspeed=True, language_models=True),
    "megatron": Launched("node", language_models=True),
    "megatron-deepspeed": Launched("node", language_models=True),
    "flagscale": Launched("node", language_models=True),
}


@dataclass(frozen=True)
class Benchmark:
    """One model of one vendor in a checkout; `training` is the folder of that name in it."""

    training: Path
    vendor: str
    model: str
    base: str

    @property
    def folder(self) -> Path:
        return self.training / "benchmarks" / self.model / self.base

    @property
    def of_vendor(self) -> Path:
        return self.training / self.vendor / f"{self.model}-{self.base}"

    @property
    def parts(self) -> Sequence[Path]:
        """Folders that its program may read, relative to `training`."""
        found = (self.folder.parent, self.training / "benchmarks/driver", self.of_vendor, self.training / "utils")
        return [path.relative_to(self.training) for path in (*found, self.training / "run_benchmarks")]

    def states(self, word: str) -> bool:
        """Whether the text of its program has this word. The text is read, and not executed."""
        whole = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)")
        return any(whole.search(text) for text in self._sources())

    def _sources(self) -> Iterable[str]:
        for path in sorted(self.folder.rglob("*.py")):
            if path.is_file() and path.stat().st_size <= _LARGEST_SOURCE:
                yield path.read_text(errors="replace")


def missing_parts(benchmark: Benchmark, cases: Sequence[ImportedCase]) -> list[str]:
    """A sentence for each. FlagPerf finds out in its containers, or never says it."""
    kind = BASES.get(benchmark.base)
    if kind is None:
        known = ", ".join(BASES)
        return [
            f"{case.text}: {case.framework} is none of the frameworks that can be driven: {known}." for case in cases
        ]
    if not benchmark.folder.parent.is_dir():
        models = [path.name for path in (benchmark.training / "benchmarks").glob("*/") if path.name != "driver"]
        hint = did_you_mean(benchmark.model, models)
        return [f"{case.text}: the checkout has no benchmark {benchmark.model}: {hint}" for case in cases]
    files = [benchmark.folder / SCRIPT, *(benchmark.of_vendor / f"config/{case.config}.py" for case in cases)]
    if kind.needs_deepspeed:
        config = benchmark.of_vendor / "config"
        files += [benchmark.folder / _DEEPSPEED, config / _DEEPSPEED, config / "net.sh"]
    folders = [
        benchmark.training / "benchmarks/driver",
        *([benchmark.of_vendor / "extern"] if kind.needs_extern else []),
    ]
    lacking = [f"the file {path}" for path in files if not path.is_file()]
    lacking += [f"the folder {path}" for path in folders if not path.is_dir()]
    names = ", ".join(case.text for case in cases)
    return [f"{names}: {what} is not there.{_instead(what, benchmark)}" for what in lacking]


def notes_on(benchmark: Benchmark) -> list[str]:
    """What FlagPerf does in its container, and nobody does here."""
    if not (benchmark.of_vendor / "csrc").is_dir():
        return []
    return [
        f"{benchmark.model}: FlagPerf compiles {benchmark.of_vendor}/csrc in its container. Here the image, or the"
        " Python that benchmark_python names, has to have it."
    ]


def _instead(what: str, benchmark: Benchmark) -> str:
    """Which settings there are, where those of a case are not."""
    if not re.search(r"/config/[^/]+\.py$", what):
        return ""
    known = sorted(path.stem for path in (benchmark.of_vendor / "config").glob("config_*.py"))
    return f" There are {', '.join(known)}." if known else ""
