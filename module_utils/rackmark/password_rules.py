"""Which passwords services can take. The check of the inventory and the modules that set passwords ask here."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    pattern: str
    words: str
    """Ends a sentence that begins with "use"."""

    def accepts(self, password: str) -> bool:
        return re.fullmatch(self.pattern, password) is not None

    def check(self, option: str, password: str) -> None:
        """Raises ValueError with a sentence that does not show the password."""
        if not self.accepts(password):
            raise ValueError(f"{option} cannot be used: use {self.words}.")


# bcrypt looks at no more than 72 characters; Grafana takes $ for the name of a variable.
MONITORING = Rule(r"[!-#%-~]{12,72}", 'a password of 12 to 72 printable ASCII characters without spaces and "$"')
# What slurmdbd.conf can hold.
SLURMDBD = Rule(
    r"[!$%&(-[\]-~]{8,}",
    'a password of 8 or more printable ASCII characters without spaces, quotes, backslashes and "#"',
)
# What grafana.ini can hold.
GRAFANA = Rule(r"[!-$&-~]{8,}", 'a password of 8 or more printable ASCII characters without spaces and "%"')
