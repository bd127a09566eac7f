"""Whether all repeats of a run ran the same code with the same software: else their numbers are of different things."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from ..run.manifest import Manifest
from .repeat import repeat_folder
from .result import Judged

# As preflight.json calls them.
_TITLES: Mapping[str, str] = {
    "code_digest": "the code with the digest",
    "python": "Python",
    "package_version": "version",
    "packages_digest": "the packages with the digest",
    "image_digest": "the image",
}
_SHOWN = 19  # characters of a digest: with sha256: twelve digits of it
_BACK = {
    "code_digest": "Put the files of code/ back as code.sha256 lists them, without further Python files,",
    "image_digest": "Put the image back, or name it by its digest",
}
_SOFTWARE = "Put the software back"


class _Other(NamedTuple):
    name: str
    own: str
    usual: str


def judged_alike(run_dir: Path, manifest: Manifest, judged: Sequence[Judged]) -> list[Judged]:
    """Repeats that are ok but differ from most of the others become `rule_failed`."""
    facts = [_facts(run_dir, one) if one.result.state == "ok" else {} for one in judged]
    usual = {name: _most_common([each[name] for each in facts if name in each]) for name in _TITLES}
    if manifest.code_digest is not None and usual["code_digest"] is not None:
        usual["code_digest"] = manifest.code_digest
    return [_judged_by(one, own, usual, manifest) for one, own in zip(judged, facts)]


def _judged_by(one: Judged, own: Mapping[str, str], usual: Mapping[str, str | None], manifest: Manifest) -> Judged:
    others = [_Other(name, value, str(usual[name])) for name, value in own.items() if value != usual[name]]
    if not others:
        return one
    first = others[0]
    of_manifest = first.name == "code_digest" and manifest.code_digest is not None
    than = "the run was begun with" if of_manifest else "most of the repeats ran with"
    title = manifest.framework + " of version" if first.name == "package_version" else _TITLES[first.name]
    back = _BACK.get(first.name, _SOFTWARE)
    reason = (
        f"It ran with {title} {first.own[:_SHOWN]}, and {than} {first.usual[:_SHOWN]}: all repeats of a run have to be"
        f" of the same. {back} and resume the run with -e run_id={manifest.run_id}, or begin a new one."
    )
    return replace(one, result=one.result.failed("rule_failed", reason))


def _most_common(values: Sequence[str]) -> str | None:
    """The first one of those that are equally common."""
    return Counter(values).most_common(1)[0][0] if values else None


def _facts(run_dir: Path, one: Judged) -> dict[str, str]:
    """Of the first node: a job whose nodes differ does not start."""
    path = repeat_folder(run_dir, one.result.case, one.result.repeat) / "preflight.json"
    try:
        nodes: Any = json.loads(path.read_text())["nodes"]
        first = next(iter(nodes.values()))
        return {name: first[name] for name in _TITLES if isinstance(first.get(name), str)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        return {}
