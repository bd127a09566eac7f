"""Which findings of `ansible-test sanity` are as we want them, each with its reason."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Iterator

ANSIBLE = ("2.19", "2.20", "2.21")
PYTHON = ("3.11", "3.12", "3.13", "3.14")
OF_CONTROLLER = {"ansible", "jinja2", "yaml", "packaging", "cryptography"}

_GPL = "licensed as all of Rackmark, with MIT"
_LIBRARY = "works on the control machine alone, with a library of meta/execution-environment.yml"
_ACTION = "the action in front of the module takes this, and hands on what came of it"
_PIPE = "feeds one program what another one writes, which run_command cannot"
_KNOWN = "tells the checker of types what is known there"
CHOSEN = {
    "plugins/module_utils/rackmark/dialects/lightning.py no-assert": _KNOWN,
    "plugins/modules/benchmark_start.py no-assert": _KNOWN,
    "plugins/modules/docker_image_shared.py no-assert": _KNOWN,
    "plugins/modules/docker_image_shared.py validate-modules:use-run-command-not-popen": _PIPE,
    "plugins/modules/slurm_config.py validate-modules:use-run-command-not-popen": _PIPE,
    "plugins/modules/benchmark_plan.py validate-modules:doc-type-does-not-match-spec": _ACTION,
    "plugins/modules/benchmark_plan.py validate-modules:nonexistent-parameter-documented": _ACTION,
    "plugins/modules/vendor_packages.py validate-modules:nonexistent-parameter-documented": _ACTION,
    **{
        f"plugins/modules/benchmark_suite.py validate-modules:{what}": _ACTION
        for what in (
            "doc-default-does-not-match-spec",
            "doc-elements-mismatch",
            "doc-required-mismatch",
            "nonexistent-parameter-documented",
            "parameter-type-not-in-doc",
            "undocumented-parameter",
        )
    },
}


def write_ignored(tree: Path) -> None:
    """The files that ansible-test reads, in a collection's tree."""
    lines = "".join(f"{line}\n" for line in sorted(ignored(tree)))
    folder = tree / "tests/sanity"
    folder.mkdir(parents=True)
    for version in ANSIBLE:
        (folder / f"ignore-{version}.txt").write_text(lines)


def ignored(tree: Path) -> Iterator[str]:
    for entry, reason in CHOSEN.items():
        yield f"{entry} # {reason}"
    modules = tree / "plugins/modules"
    for path in modules.glob("*.py"):
        yield f"{path.relative_to(tree)} validate-modules:missing-gplv3-license # {_GPL}"
    for path in needing_libraries(tree / "plugins"):
        for version in PYTHON:
            yield f"{path.relative_to(tree)} import-{version}!skip # {_LIBRARY}"
        if path.parent == modules:
            yield f"{path.relative_to(tree)} validate-modules:import-error # {_LIBRARY}"


def needing_libraries(plugins: Path) -> set[Path]:
    """Files that import something from elsewhere, directly or through others."""
    imports = {path: set(_imported(path)) for path in plugins.rglob("*.py")}
    found: set[Path] = set()
    for path in imports:
        own = {"ansible"} if path.parts[len(plugins.parts)] in ("modules", "module_utils") else OF_CONTROLLER
        reached = _reached(path, imports)
        outside = {name for each in reached for name in imports[each] if isinstance(name, str)}
        if outside - own - sys.stdlib_module_names:
            found.add(path)
    return found


def _reached(path: Path, imports: dict[Path, set[str | Path]]) -> set[Path]:
    reached: set[Path] = set()
    waiting = {path}
    while waiting:
        each = waiting.pop()
        reached.add(each)
        waiting |= {name for name in imports[each] if isinstance(name, Path)} - reached
    return reached


def _imported(path: Path) -> Iterator[str | Path]:
    """What is imported as soon as this file is: files of ours, and the names of others' packages."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            yield str(statement.module).partition(".")[0]
        elif isinstance(statement, ast.ImportFrom):
            place = path.parents[statement.level - 1].joinpath(*str(statement.module or "").split("."))
            named = [place, *(place / alias.name for alias in statement.names)]
            packages = [folder / "__init__.py" for name in named for folder in (name, *name.parents[:3])]
            yield from filter(Path.is_file, [*(name.with_suffix(".py") for name in named), *packages])
