"""Which findings of `ansible-test sanity` are as we want them, each with its reason."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Iterator

# Versions of Ansible, and of Python that each of them tests a collection with that asks for 3.11.
VERSIONS = {
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.11", "3.12", "3.13", "3.14"),
    "2.21": ("3.11", "3.12", "3.13", "3.14"),
}
OF_CONTROLLER = {"ansible", "jinja2", "yaml", "packaging", "cryptography"}

_GPL = "licensed as all of Rackmark, with MIT"
_LIBRARY = "works on the control machine alone, with a library of meta/execution-environment.yml"
_ACTION = "the action in front of the module takes this, and hands on what came of it"
_PIPE = "feeds one program what another one writes, which run_command cannot"
_KNOWN = "tells the checker of types what is known there"
_UNNAMED = "the name of what nobody needs"
_EXACT = "a bool is an int for isinstance, and here it must not be"
_PROTOCOL = "the body of what a protocol only declares"
CHOSEN = {
    "inventory/lab.py shebang": "Ansible runs it as a program",
    "roles/slurm_health/files/end_leftovers.py shebang": "Slurm runs it as a program on nodes",
    "plugins/module_utils/rackmark/dashboards/panels.py pylint:dangerous-default-value": "nothing changes it",
    "plugins/module_utils/rackmark/inventory_check/kinds.py pylint:unnecessary-lambda": "as in the lines around it",
    "plugins/module_utils/rackmark/report/flagperf_table.py pylint:used-before-assignment": "it is assigned beside it",
    "workloads/automl/forked.py pylint:unreachable": "for the checker of types",
    "workloads/automl/training.py pylint:consider-using-from-import": "the usual name of that module",
    "workloads/automl/worker.py pylint:unused-import": "what the worker forks has it from here",
    **{
        f"workloads/{name}.py pylint:unnecessary-ellipsis": _PROTOCOL
        for name in ("automl/data", "automl/data_images", "mnist/digits", "mnist/training")
    },
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
    folder = tree / "tests/sanity"
    folder.mkdir(parents=True)
    of_all, needing = sorted(ignored(tree)), sorted(needing_libraries(tree / "plugins"))
    for ansible, pythons in VERSIONS.items():
        imports = (f"{path.relative_to(tree)} import-{each}!skip # {_LIBRARY}" for path in needing for each in pythons)
        (folder / f"ignore-{ansible}.txt").write_text("".join(f"{line}\n" for line in (*of_all, *imports)))


def ignored(tree: Path) -> Iterator[str]:
    for entry, reason in CHOSEN.items():
        yield f"{entry} # {reason}"
    for path in tree.rglob("*.py"):
        code = list(ast.walk(ast.parse(path.read_text())))
        if any(map(_is_unnamed, code)):
            yield f"{path.relative_to(tree)} pylint:disallowed-name # {_UNNAMED}"
        if any(map(_compares_a_type, code)):
            yield f"{path.relative_to(tree)} pylint:unidiomatic-typecheck # {_EXACT}"
    modules = tree / "plugins/modules"
    for path in (*modules.glob("*.py"), *(tree / "plugins/callback").glob("*.py")):
        yield f"{path.relative_to(tree)} validate-modules:missing-gplv3-license # {_GPL}"
    for path in needing_libraries(tree / "plugins", beside_ansible=True):
        if path.parent == modules:
            yield f"{path.relative_to(tree)} validate-modules:import-error # {_LIBRARY}"


def needing_libraries(plugins: Path, beside_ansible: bool = False) -> set[Path]:
    """Files that import something from elsewhere, directly or through others; on nodes or where Ansible itself is."""
    imports = {path: set(_imported(path)) for path in plugins.rglob("*.py")}
    found: set[Path] = set()
    for path in imports:
        on_nodes = not beside_ansible and path.parts[len(plugins.parts)] in ("modules", "module_utils")
        own = {"ansible"} if on_nodes else OF_CONTROLLER
        reached = _reached(path, imports)
        outside = {name for each in reached for name in imports[each] if isinstance(name, str)}
        if outside - own - sys.stdlib_module_names:
            found.add(path)
    return found


def _is_unnamed(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return "_" in (argument.arg for argument in node.args.args)
    return isinstance(node, ast.Name) and node.id == "_" and isinstance(node.ctx, ast.Store)


def _compares_a_type(node: ast.AST) -> bool:
    called = node.left if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)) else None
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "type"


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
