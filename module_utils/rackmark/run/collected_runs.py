"""Finds runs by the name of their folder."""

from __future__ import annotations

from pathlib import Path

LISTED = 5


def find_run(run_dir: Path) -> Path:
    """The folder itself, where `run_dir` is a link such as "latest"."""
    if not (run_dir / "manifest.json").is_file():
        raise ValueError(f"There is no run {run_dir.name} in {run_dir.parent}. {newest(run_dir.parent)}")
    return run_dir.resolve()


def find_runs(runs_dir: Path, names: str) -> list[Path]:
    """The folders of the runs in a list such as "a,b", each once."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if Path(name).name != name:
            raise ValueError(f"{name!r} is not the name of a run: give the name of a folder in {runs_dir}.")
    found = [find_run(runs_dir / name) for name in wanted]
    for number, run in enumerate(found):
        if run in found[:number]:
            raise ValueError(f"run_ids={names} names the run {run.name} twice: it takes different runs.")
    if not found:
        raise ValueError(f"run_ids names no run. {newest(runs_dir)}")
    return found


def newest(*folders: Path) -> str:
    manifests = [path for folder in folders for path in folder.glob("*/manifest.json") if not path.parent.is_symlink()]
    if not manifests:
        return "There are no runs there yet."
    latest = sorted(manifests, key=lambda path: path.stat().st_mtime, reverse=True)[:LISTED]
    return f"The newest are {', '.join(path.parent.name for path in latest)}."
