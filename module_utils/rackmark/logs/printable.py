"""Text of logs and names of files for people: what a terminal would obey, or what turns the order of letters round,
is shown instead.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text).replace("\t", " "))


def printable_facts(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: printable(value) if isinstance(value, str) else value for name, value in facts.items()}
