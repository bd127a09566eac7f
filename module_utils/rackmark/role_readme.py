"""README.md of every role, made from what the role says about itself.

Run "PYTHONPATH=module_utils python -m rackmark.role_readme" after a change of a role's variables.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping

import yaml

from .inventory_check import limits
from .numbers.words import listed
from .role_specs import Role, load_yaml, read_roles

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "PYTHONPATH=module_utils python -m rackmark.role_readme"
SITE = "site.yml"
GENERATED = f'<!-- Made by "{COMMAND}" from meta/argument_specs.yml, defaults/main.yml and the playbooks. -->'
HEAD = "| variable | type | default | what it is |\n|---|---|---|---|"

# Ansible's own marks for code in descriptions.
_MARKS = re.compile(r"\b[CMVO]\(([^)]*)\)")


# A playbook's plays, those of imported playbooks among them.
Plays = Mapping[str, List[Dict[str, Any]]]


def readmes(root: Path) -> dict[Path, str]:
    plays = {path.name: list(_plays(path)) for path in sorted((root / "playbooks").glob("*.yml"))}
    return {
        root / "roles" / role.name / "README.md": _readme(role, plays, _command_line(root / "roles" / role.name))
        for role in read_roles(root / "roles")
    }


def _readme(role: Role, plays: Plays, command_line: Mapping[str, Any]) -> str:
    parts = [f"# {role.name}", _sentence(_text(role.entry["short_description"]))]
    parts += [_text(paragraph) for paragraph in _paragraphs(role.entry.get("description", []))]
    parts += _use(role.name, plays)
    if role.parts:
        parts += ["In part, with `tasks_from`:", "\n".join(f"- `{name}`: {what}" for name, what in role.parts.items())]
    parts += ["## Variables", "\n".join([HEAD, *_rows(role.options, role.defaults)])]
    if command_line:
        parts += ["## On the command line", "What playbooks take with `-e` under a short name."]
        parts += ["\n".join([HEAD, *_rows(command_line, {})])]
    return "\n\n".join([*parts, GENERATED]) + "\n"


def _rows(options: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Any], within: str = "") -> Iterator[str]:
    for name, spec in options.items():
        kind = spec.get("type", "str")
        kind += f" of {spec['elements']}" if spec.get("elements") else ""
        what = _text(" ".join(_paragraphs(spec.get("description", []))))
        if spec.get("choices"):
            what += " One of " + ", ".join(f"`{choice}`" if choice else "empty" for choice in spec["choices"]) + "."
        allowed = limits.ranges(spec.get("limit", limits.ANY))
        what += f" Allowed: {allowed}." if allowed else ""
        cells = (f"`{within}{name}`", kind, _default(name, spec, defaults), what)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield from _rows(spec.get("options") or {}, {}, f"{within}{name}{'[]' if spec.get('elements') else ''}.")


def _default(name: str, spec: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The value itself; where that is worked out from others, the specification's words for it."""
    if spec.get("required"):
        return "required"
    value = defaults.get(name, spec.get("default"))
    if isinstance(value, str) and "{{" in value:
        return str(spec.get("default", "")) or "worked out"
    if value is None:
        return ""
    return f"`{value}`" if isinstance(value, str) and value else f"`{json.dumps(value, ensure_ascii=False)}`"


def _use(role: str, plays: Plays) -> Iterator[str]:
    """To which hosts the role is applied, by which playbooks, and how to run it alone."""
    used = {name: [play for play in of_playbook if list(_tags(play, role))] for name, of_playbook in plays.items()}
    users = [SITE] if used.get(SITE) else [name for name, of_playbook in used.items() if of_playbook]
    if users:
        patterns = dict.fromkeys(part for name in users for play in used[name] for part in _groups(play["hosts"]))
        hosts = f" to {', '.join(f'`{part}`' for part in patterns)}" if patterns else ""
        yield f"Applied{hosts} by {listed([f'`playbooks/{name}`' for name in users])}."
    if any(role in tags for play in used.get(SITE, []) for tags in _tags(play, role)):
        yield f"Alone: `ansible-playbook site.yml --tags {role}`, on one host with `--limit` and its name."


def _plays(playbook: Path) -> Iterator[dict[str, Any]]:
    for entry in yaml.safe_load(playbook.read_text()):
        if "hosts" in entry:
            yield entry
        else:
            yield from _plays(playbook.parent / entry["ansible.builtin.import_playbook"])


def _groups(pattern: object) -> list[str]:
    """The groups that a pattern of hosts adds up, without those that it is narrowed to or that only a run knows."""
    if "| this_machine" in str(pattern):  # the filter that refuses a limit
        return ["localhost"]
    return [part for part in re.split(r"[:,]", str(pattern)) if not part.startswith(("&", "!", "{"))]


def _tags(play: Mapping[str, Any], role: str) -> Iterator[list[str]]:
    """The tags of every place in a play that applies the role."""
    for entry in play.get("roles", []):
        if entry["role"] == role:
            yield _as_list(entry.get("tags", []))
    for task in play.get("tasks", []):
        for action in ("ansible.builtin.import_role", "ansible.builtin.include_role"):
            if task.get(action, {}).get("name") == role:
                yield _as_list(task.get("tags", []))


def _command_line(role: Path) -> Mapping[str, Any]:
    return dict(load_yaml(role / "vars/main/command_line.yml").get("_cluster_command_line", {}))


def _as_list(tags: object) -> list[str]:
    return list(tags) if isinstance(tags, list) else [str(tags)]


def _paragraphs(description: object) -> list[str]:
    return [str(part) for part in description] if isinstance(description, list) else [str(description)]


def _text(text: str) -> str:
    return _MARKS.sub(r"`\1`", " ".join(text.split()))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def main() -> None:
    for path, text in readmes(ROOT).items():
        path.write_text(text)


if __name__ == "__main__":
    main()
