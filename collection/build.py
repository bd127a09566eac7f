"""Builds the Ansible collection rackmark.core from this clone: the same files, elsewhere and by other names."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterable, Iterator

from documentation import completed
from sanity import write_ignored

ROOT = Path(__file__).resolve().parents[1]
NAME = "rackmark.core"
# Folders of the clone and of the collection. What has no place here is not part of the collection.
PLACES = {
    "action_plugins": "plugins/action",
    "callback_plugins": "plugins/callback",
    "filter_plugins": "plugins/filter",
    "library": "plugins/modules",
    "module_utils": "plugins/module_utils",
    "collection": ".",
    **{same: same for same in ("docs", "inventory", "playbooks", "reports/templates", "roles", "workloads")},
}
FILES = ("LICENSE", "CHANGELOG.md", "requirements-modelarts.txt", "requirements-build.txt")
LEFT_OUT = (
    "collection/build.py",
    "collection/documentation.py",
    "collection/execution-environment.yml",
    "collection/sanity.py",
    "module_utils/rackmark/role_readme.py",
)
MAIN_PAGE = "docs/collection.md"

_FOR_PLUGINS = re.compile(r"\n# Unlike modules, plugins are not given .*\nsys\.path\.insert\(.*\n")
_DEFAULTS = re.compile(r"^( *)module_defaults:\n(?:\1 +.*\n)+", re.MULTILINE)
# Plugins import these to find the clone's module_utils, and some of them for nothing else.
_UNUSED = (("sys", "import sys\n"), ("Path", "from pathlib import Path\n"))
_IMPORT = re.compile(r"^(\s*)from (?:ansible\.module_utils\.)?rackmark\b", re.MULTILINE)


class BuildError(Exception):
    """Why there is no collection, as a sentence."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="collection.sh", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="where the archive goes, here by default")
    folder: Path = parser.parse_args().folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        archive = build(folder)
    except (BuildError, OSError) as error:
        sys.exit(f"collection.sh: {error}")
    print(f"{archive}\nInstall it with: ansible-galaxy collection install {archive}")


def build(folder: Path) -> Path:
    """The archive, which ansible-galaxy itself has made."""
    version = f"0.1.{_git('rev-list', '--count', 'HEAD').strip()}"
    archive = folder / f"{NAME.replace('.', '-')}-{version}.tar.gz"
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place)
        stage(tree, version)
        galaxy = str(Path(sys.executable).with_name("ansible-galaxy"))
        command = [galaxy, "collection", "build", place, "--output-path", str(folder), "--force"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not archive.is_file():
        raise BuildError(f"ansible-galaxy made no collection: {(done.stderr or done.stdout).strip()}")
    return archive


def stage(tree: Path, version: str) -> None:
    """The collection's files in a folder of its own."""
    tracked = _git("ls-files").splitlines()
    written = rewriting(
        playbooks=_names(tracked, "playbooks/", "yml"),
        wrappers=_names(tracked, "", "yml"),
        filters=filter_names(),
        modules=_names(tracked, "library/", "py"),
    )
    for name in tracked:
        place = place_of(name)
        if place is None or not (ROOT / name).is_file():
            continue
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
        if target.suffix in (".py", ".yml", ".j2", ".md", ".sh"):
            target.write_text(written(place, target.read_text()))
    page = (tree / MAIN_PAGE).read_text()
    (tree / "README.md").write_text(re.sub(r"\]\((?!https?:|#)", "](docs/", page))
    with (tree / "galaxy.yml").open("a") as file:
        file.write(f"version: {version}\n")
    write_ignored(tree)
    (tree / "COMMIT").write_text(_git("describe", "--always", "--dirty"))


def place_of(name: str) -> Path | None:
    """Where a file of the clone is in the collection, None for what is not part of it."""
    if name in LEFT_OUT:
        return None
    if name in FILES:
        return Path(name)
    if re.fullmatch(r"run_\w+\.yml", name):
        return Path("playbooks", name)
    for folder, place in PLACES.items():
        if name.startswith(f"{folder}/"):
            return Path(place, Path(name).relative_to(folder))
    return None


def rewriting(
    playbooks: Iterable[str], wrappers: Iterable[str], filters: Iterable[str], modules: Iterable[str]
) -> Callable[[Path, str], str]:
    """What makes the text of a file at a place of the collection from that of the clone.

    A collection's playbooks and filters have its name before theirs, and so have modules outside of tasks. Its Python
    finds the rest by its own place.
    """
    modules, filters = list(modules), list(filters)
    playbook = re.compile(rf"\bplaybooks/({'|'.join(playbooks)})\.yml")
    wrapper = re.compile(rf"(?<![\w/@.-])({'|'.join(wrappers)})\.yml")
    of_modules = re.compile(rf"^( +)({'|'.join(modules)}):$", re.MULTILINE)
    mentioned = re.compile(rf"\b(M\(|P\(|O\((?=\w+#))({'|'.join([*modules, *filters])})\b")
    piped = re.compile(rf"(\|\s*|\bmap\(')({'|'.join(filters)})\b")

    def rewritten(place: Path, text: str) -> str:
        if place.parts[:2] == ("plugins", "modules"):
            text = completed(mentioned.sub(rf"\1{NAME}.\2", text))
        if place.parts[0] == "plugins":
            text = _IMPORT.sub(r"\1from ..module_utils.rackmark", _without_search(text))
        elif place.parts[0] in ("playbooks", "roles") and place.suffix in (".yml", ".j2"):
            text = piped.sub(rf"\1{NAME}.\2", text)
            text = _DEFAULTS.sub(lambda block: of_modules.sub(rf"\1{NAME}.\2:", block[0]), text)
        return wrapper.sub(rf"{NAME}.\1", playbook.sub(rf"{NAME}.\1", text))

    return rewritten


def _without_search(plugin: str) -> str:
    """A plugin's text without the lines by which it finds the clone's module_utils."""
    text = _FOR_PLUGINS.sub("", plugin)
    for name, line in _UNUSED if text != plugin else ():
        if len(re.findall(rf"\b{name}\b", text)) == 1:
            text = text.replace(line, "")
    return text


def filter_names() -> Iterator[str]:
    for path in sorted((ROOT / "filter_plugins").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"filters_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.FilterModule().filters()


def _names(tracked: Iterable[str], folder: str, kind: str) -> list[str]:
    return [Path(name).stem for name in tracked if re.fullmatch(rf"{folder}\w+\.{kind}", name)]


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"this is no clone of Rackmark that git can read: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main()
