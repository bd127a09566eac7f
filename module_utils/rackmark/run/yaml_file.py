"""Reads YAML that a person wrote, with sentences that name the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Hashable

import yaml


def read_yaml(path: Path) -> object:
    try:
        content: object = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # a SafeLoader
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text in UTF-8.") from None
    except yaml.YAMLError as error:
        raise ValueError(_where(path, error)) from None
    return content


def lines_of(path: Path) -> dict[str, int]:
    """In which line each key of a file that can be read stands, by paths as in `presets.lab.batch` and `[1].cases`."""
    found: dict[str, int] = {}
    walked: set[int] = set()

    def walk(node: yaml.Node | None, path: str) -> None:
        if id(node) in walked:  # what an alias leads to has been told where it stands
            return
        walked.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for number, entry in enumerate(node.value, start=1):
                found.setdefault(f"{path}[{number}]", entry.start_mark.line + 1)
                walk(entry, f"{path}[{number}]")
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = f"{path}.{key.value}" if path else str(key.value)
                found.setdefault(name, key.start_mark.line + 1)
                walk(value, name)

    walk(yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader), "")
    return found


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML would keep the last in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value} is there twice", key.start_mark
                )
            seen.add(key.value if isinstance(key.value, str) else id(key))
        return super().construct_mapping(node, deep)


def _where(path: Path, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{path}, line {error.problem_mark.line + 1}: {error.problem}."
    return f"{path} is not valid YAML: {' '.join(str(error).split())}."
